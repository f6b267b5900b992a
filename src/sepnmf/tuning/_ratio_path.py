"""ADMM-P without parameters: ρ from the spectrum of M, λ by bisection on the trace of X."""

import math
import warnings

import numpy as np

from sepnmf._descent import VertexModel, noise_variance
from sepnmf._typing import Floats, Ints, Seed
from sepnmf._validation import check_count
from sepnmf.matrix import MatrixLike, Negative, dense_data
from sepnmf.methods import admm, method
from sepnmf.methods._picking import pick_anchors
from sepnmf.selection import Selection

LEAST, LARGEST = 1e-8, 1e2  # λ for ‖M‖_F = 1
NEAR_ENOUGH = 0.02  # of r


@method(
    summary="ADMM-P with λ and ρ found from the data",
    use="to see the ratio model without tuning",
    cost="up to ten times ADMM-P",
    sparse=False,
    square=True,
    quick_up_to=2000,
)
def tuned_admm(
    M: MatrixLike,
    r: int,
    p: float = 2,
    norm: str = "rows",
    *,
    max_solves: int = 10,
    max_outer: int = 100,
    negative: Negative = "error",
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Selection:
    """ADMM-P with λ and ρ found from the data alone.

    M is scaled to ‖M‖_F = 1 and ρ₁ = ρ₂ = ρ₃ = σ_r(M)², the least eigenvalue of MᵀM that matters. In a
    factorisation with r anchors the trace of X is r; it falls with λ, which is bisected on a logarithmic
    scale until it is r to 2 %, each solve starting from the last X. The anchors of each X
    on the way are picked by its diagonal and by SPA on its rows, which does not take two copies of one; the
    set with the largest likelihood (`sepnmf._descent`) is the answer.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative, no zero column.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    p : float, default 2
        Power of the numerator.
    norm : {"rows", "l1", "nuclear"}, default "rows"
        The row norm asks for few rows, which is what separability means.
    max_solves : int, default 10
        Values of λ tried at most.
    max_outer : int, default 100
        Outer iterations of each solve.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Passed to `admm`.
    n_jobs : int, optional
        Threads, by default all cores.

    Returns
    -------
    Selection
        X belongs to the answer's λ. `history` has, per solve, "lam", "trace", "likelihood" (J, smaller is
        better) and "n_outer"; status "converged" means that the trace was reached.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Notes
    -----
    Cost: up to `max_solves` times that of `admm`. Memory: that of `admm`. When to use: n up to a thousand,
    low and moderate noise; `auto` uses it where other starts disagree.

    References
    ----------
    The model is that of `admm`; the bisection on the trace is ours.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0.05, random_state=0)
    >>> set(sepnmf.tuned_admm(M, 10, negative="clip").anchors) == set(anchors)
    True
    """
    data = dense_data(M, negative).astype(np.float64)
    m, n = data.shape
    check_count(max_solves, "max_solves")
    data = data / np.linalg.norm(data)
    squares = np.linalg.svd(data, compute_uv=False) ** 2
    rho = float(squares[: min(r, int((squares > 1e-15).sum()))][-1])
    model = VertexModel(data, noise_variance(squares, m, n, r))
    low, high = LEAST, LARGEST
    best: tuple[float, Ints, Floats, Floats] | None = None
    n_inner = 0
    rows: list[dict[str, float]] = []
    X: Floats | None = None
    for _ in range(max_solves):
        lam = math.sqrt(low * high)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a solve has not converged matters only for the last
            sel = admm(
                data,
                r,
                p=p,
                norm=norm,
                lam=lam,
                rho=(rho, rho, rho),
                max_outer=max_outer,
                init=X,
                negative="allow",
                random_state=random_state,
                n_jobs=n_jobs,
            )
        X = np.asarray(sel.X)
        trace = float(np.trace(X))
        n_inner += sel.n_inner
        answers = []
        for pick in ("diag", "spa"):
            anchors, scores = pick_anchors(X, r, pick)
            answers.append((model.start(anchors).J, anchors, scores, X))
        answer = min(answers, key=lambda a: a[0])
        if best is None or answer[0] < best[0]:
            best = answer
        rows.append({"lam": lam, "trace": trace, "likelihood": answer[0], "n_outer": sel.n_outer})
        if abs(trace - r) <= NEAR_ENOUGH * r:
            break
        low, high = (lam, high) if trace > r else (low, lam)
    reached = abs(rows[-1]["trace"] - r) <= NEAR_ENOUGH * r
    assert best is not None
    _, anchors, scores, X = best
    return Selection(
        anchors=anchors,
        scores=scores,
        status="converged" if reached else "max_outer",
        converged=reached,
        X=X,
        n_outer=len(rows),
        n_inner=n_inner,
        history={key: np.array([row[key] for row in rows]) for key in rows[0]},
    )
