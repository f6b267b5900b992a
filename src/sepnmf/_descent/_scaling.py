"""How columns of very different lengths are made comparable: divided by their sums, by the roots, or not."""

from typing import Literal, get_args

import numpy as np

from sepnmf._typing import Floats
from sepnmf._validation import check_choice
from sepnmf.matrix import InMemory

Normalize = Literal["auto", "none", "l1", "sqrt"]

CROWDED = 0.9  # of the squared length in a tenth of the columns: the others would hardly count


def check_normalize(normalize: str) -> str:
    """Return `normalize`, which must be one of the names in `Normalize`."""
    return check_choice(normalize, "normalize", get_args(Normalize))


def scaled(data: InMemory, normalize: str) -> InMemory:
    """Return the columns divided by their sums ("l1"), by the roots of these ("sqrt"), or as they are."""
    if normalize == "auto":
        normalize = "sqrt" if needs_root_of_sums(data.squares) else "none"
    return data.normalised(normalize)


def needs_root_of_sums(squares: Floats) -> bool:
    """Whether a tenth of the columns have nearly all of the squared length."""
    falling = np.sort(squares)[::-1]
    tenth = max(len(falling) // 10, 1)
    return len(falling) >= 10 and bool(falling[:tenth].sum() > CROWDED * falling.sum())
