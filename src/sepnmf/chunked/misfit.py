"""What anchors leave unexplained of columns in chunks."""

from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from sepnmf.chunked.passes import Chunks, Ranked, parts
from sepnmf.kernels import exchange as kernels
from sepnmf.typing import Floats


@dataclass(frozen=True, eq=False)
class Unexplained:
    """What anchors leave of all columns.

    Attributes
    ----------
    residual : float
        Σ_j min_{h ≥ 0} ‖m_j − Wh‖².
    total : float
        ‖M‖²_F.
    worst : Ranked
        The columns with the largest misfit.
    """

    residual: float
    total: float
    worst: Ranked

    @property
    def rae(self) -> float:
        """Relative approximation: 1 − ‖M − WH‖_F / ‖M‖_F, as `sepnmf.metrics.rae` has it."""
        return 1.0 - float(np.sqrt(self.residual / self.total))


def unexplained(M: Any, W: Floats, worst: int = 1) -> Unexplained:
    """One pass: the residual of all columns of a Dask array (or `Chunks`) on the columns of W."""
    chunks = M if isinstance(M, Chunks) else Chunks(M)
    left: Unexplained = chunks.fold(misfit_of_chunk, partial(join_misfits, most=worst), W, worst)
    return left


def misfit_of_chunk(first: int, chunk: Floats, W: Floats, most: int) -> Unexplained:
    """What the columns of W leave of a chunk."""
    G = W.T @ W
    found = []
    for start, part in parts(first, chunk):
        squares = np.einsum("ij,ij->j", part, part)
        H, E = np.zeros((len(squares), W.shape[1])), np.empty(len(squares))
        kernels.solve(G, np.ascontiguousarray(part.T @ W), squares, -1, H, E, 0, len(E), np.empty(4))
        worst = np.argpartition(-E, most - 1)[:most] if len(E) > most else np.arange(len(E))
        ranked = Ranked.of(start + worst, E[worst], part[:, worst], most)
        found.append(Unexplained(float(E.sum()), float(squares.sum()), ranked))
    return reduce(partial(join_misfits, most=most), found)


def join_misfits(a: Unexplained, b: Unexplained, most: int) -> Unexplained:
    """What is left of both."""
    return Unexplained(a.residual + b.residual, a.total + b.total, a.worst.join(b.worst, most))
