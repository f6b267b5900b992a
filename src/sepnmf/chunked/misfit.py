"""What anchors leave unexplained of columns in chunks."""

from dataclasses import dataclass

import numpy as np

from sepnmf.chunked.passes import Chunks, Inspection, Part, Ranked, Reducer
from sepnmf.columns import dense_columns
from sepnmf.kernels import exchange as kernels
from sepnmf.typing import Floats, Ints


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


@dataclass(frozen=True, eq=False)
class Misfit(Reducer[Unexplained]):
    """Fits the columns of W to every column, and remembers those with the largest misfit."""

    W: Floats
    most: int

    def more(self, found: Unexplained | None, part: Part) -> Unexplained:
        """What is left of the parts so far, and of one more."""
        squares = part.squares
        n, G = len(squares), self.W.T @ self.W
        H, E = np.zeros((n, len(G))), np.empty(n)
        kernels.solve(G, np.ascontiguousarray(part.times(self.W).T), squares, -1, H, E, 0, n, np.empty(4))
        # From the columns themselves: differences of squares lose half the digits.
        rest = dense_columns(part.columns, slice(None)) - self.W @ H.T
        E = np.einsum("ij,ij->j", rest, rest)
        known = found is not None and len(found.worst.values) == self.most
        worst = np.flatnonzero(found.worst.values[-1] < E) if found and known else np.arange(n)
        worst = worst[np.argsort(-E[worst], kind="stable")][: self.most]
        held = part.held(worst)
        new = Unexplained(float(E.sum()), float(squares.sum()), Ranked(E[worst], held.numbers, held.columns))
        return new if found is None else self.join(found, new)

    def join(self, a: Unexplained, b: Unexplained) -> Unexplained:
        """What is left of both."""
        worst = a.worst.joined(b.worst, self.most)
        return Unexplained(a.residual + b.residual, a.total + b.total, worst)


def unexplained(chunks: Chunks, W: Floats, most: int = 1) -> Unexplained:
    """One pass: the residual of all columns on the columns of W, and the columns that have most of it."""
    left: Unexplained = chunks.scan(Misfit(W, most))[0]
    return left


def explained_share(chunks: Chunks, anchors: Ints) -> float:
    """The relative approximation of all columns by some of them; entries are checked."""
    W = chunks.take(anchors)
    entries, left = chunks.scan(Inspection(), Misfit(W, 1))
    chunks, scale = entries.checked(chunks, "allow")
    return (left if scale == 1.0 else unexplained(chunks, W / scale)).rae
