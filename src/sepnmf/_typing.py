"""Names for the array types that appear in signatures."""

from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Sparse: TypeAlias = Any  # any SciPy sparse matrix or array; SciPy has no common type for them
Ints: TypeAlias = NDArray[np.intp]
Indices: TypeAlias = Collection[int] | Ints
WhichColumns: TypeAlias = Collection[int | str] | Ints  # indices or names
Bools: TypeAlias = NDArray[np.bool_]
Seed: TypeAlias = int | np.random.Generator | np.random.SeedSequence | None

__all__ = ["ArrayLike", "Bools", "Floats", "Indices", "Ints", "Seed", "Sequence", "Sparse", "WhichColumns"]
