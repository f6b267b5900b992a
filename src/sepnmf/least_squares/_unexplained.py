"""What given columns W leave unexplained of all columns."""

from dataclasses import dataclass, field

import numpy as np

from sepnmf._kernels import exchange
from sepnmf._typing import Floats, Ints
from sepnmf.least_squares._weights import Atoms, weights_of_columns
from sepnmf.matrix import NONE_KNOWN, InMemory, Matrix, Part, Ranked, Reducer


@dataclass(frozen=True, eq=False)
class Unexplained:
    """What given columns W leave of all columns.

    Attributes
    ----------
    residual : float
        Σ_j min_{h ≥ 0} ‖m_j − Wh‖², with Σh = 1 if that was asked for.
    total : float
        ‖M‖²_F.
    squared_weights : float
        ‖H‖²_F of the weights.
    worst : Ranked
        The columns with the largest misfit.
    """

    residual: float
    total: float
    squared_weights: float
    worst: Ranked

    @property
    def explained(self) -> float:
        """The relative approximation 1 − ‖M − WH‖_F / ‖M‖_F."""
        return 1.0 - float(np.sqrt(self.residual / self.total))


@dataclass(frozen=True, eq=False)
class Misfit(Reducer[Unexplained]):
    """Fits the columns of W to every column, and remembers the columns with the largest misfit.

    Of those with the indices `exclude`, the misfit counts, but they are not remembered.
    """

    atoms: Atoms
    most: int
    sum_to_one: bool = False
    exclude: Ints = field(default_factory=lambda: NONE_KNOWN.exclude)

    def more(self, found: Unexplained | None, part: Part) -> Unexplained:
        """Return what is left of the parts so far, and of one more."""
        E, H = squared_misfits(part.columns, self.atoms, self.sum_to_one)
        known = found is not None and len(found.worst.values) == self.most
        worst = np.flatnonzero(found.worst.values[-1] < E) if found and known else np.arange(len(E))
        worst = worst[~np.isin(part.start + worst, self.exclude)]
        worst = worst[np.argsort(-E[worst], kind="stable")][: self.most]
        held = part.held(worst)
        ranked = Ranked(E[worst], held.indices, held.columns)
        new = Unexplained(float(E.sum()), float(part.squares.sum()), float(np.vdot(H, H)), ranked)
        return new if found is None else self.join(found, new)

    def join(self, a: Unexplained, b: Unexplained) -> Unexplained:
        """Return what is left of both."""
        return Unexplained(
            a.residual + b.residual,
            a.total + b.total,
            a.squared_weights + b.squared_weights,
            a.worst.joined(b.worst, self.most),
        )


def unexplained(
    matrix: Matrix, W: Floats, most: int = 1, sum_to_one: bool = False, exclude: Ints = NONE_KNOWN.exclude
) -> Unexplained:
    """Return what the columns of W leave of all columns, and the `most` columns that are explained worst.

    One pass. Columns with the indices `exclude` are not among the worst. The entries must be in the
    floating-point range (`Matrix.checked_scan`).
    """
    left: Unexplained = matrix.scan(Misfit(Atoms.of(W), most, sum_to_one, exclude))[0]
    return left


def checked_unexplained(matrix: Matrix, W: Floats, sum_to_one: bool = False) -> tuple[Unexplained, float]:
    """Return the same of entries that are checked, and divided by the number that is returned, if need be."""
    scaled, results = matrix.checked_scan(Misfit(Atoms.of(W), 1, sum_to_one))
    factor = scaled.scale / matrix.scale
    left = unexplained(scaled, W / factor, 1, sum_to_one) if results is None else results[0]
    return left, factor


def explained_share(matrix: Matrix, anchors: Ints) -> float:
    """Return the relative approximation of all columns by some of them, given by the caller's indices."""
    matrix = matrix.with_few_rows()
    W = matrix.at(anchors)
    if not np.isfinite(W).all():
        matrix.checked_scan()  # which refuses what is not finite, and says where
    left, _ = checked_unexplained(matrix, W)
    if left.total == 0:
        raise ValueError("M is zero, where the relative approximation error is not defined.")
    return left.explained


def residual_norm(matrix: Matrix, W: Floats) -> float:
    """Return min_{H ≥ 0} ‖M − WH‖_F."""
    left, factor = checked_unexplained(matrix, W)
    return min(float(np.sqrt(left.residual)) * factor, float(np.finfo(np.float64).max))


def squared_misfits(columns: InMemory, atoms: Atoms, sum_to_one: bool = False) -> tuple[Floats, Floats]:
    """Return min_{h ≥ 0} ‖m_j − Wh‖² of every column, with Σh = 1 if asked for, and the weights.

    The misfit is computed from the columns themselves: a difference of squares loses half the digits.
    """
    H = weights_of_columns(atoms, columns, sum_to_one=sum_to_one)
    rest = columns.take(slice(None)) - atoms.W @ H
    return np.einsum("ij,ij->j", rest, rest), H


def misfits_from_products(
    G: Floats, B: Floats, squares: Floats, skip: int = -1, H: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the same from inner products alone, with less accuracy, for trying very many sets of columns.

    Parameters
    ----------
    G : ndarray of shape (r, r)
        WᵀW.
    B : ndarray of shape (n, r)
        MᵀW.
    squares : ndarray of shape (n,)
        Squared norms of the columns of M.
    skip : int, default −1
        A column of W that is not to be used.
    H : ndarray of shape (n, r), optional
        Weights to start from.

    Returns
    -------
    E : ndarray of shape (n,)
        Squared misfits.
    H : ndarray of shape (n, r)
        Weights.
    """
    n, r = B.shape
    H, E = np.zeros((n, r)) if H is None else H.copy(), np.empty(n)
    exchange.solve(G, B, squares, skip, H, E, 0, n, np.empty(4))
    return E, H
