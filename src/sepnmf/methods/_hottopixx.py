"""Separable NMF by linear programming (Hottopixx)."""

import time
import warnings

import numpy as np
from scipy import sparse

from sepnmf._typing import Floats, Seed
from sepnmf._validation import check_choice, check_generator, check_number
from sepnmf.matrix import MatrixLike, Negative, dense_data
from sepnmf.methods._linear_programme import Budget, WorkUsedUp, largest_violations, minimise
from sepnmf.methods._method import method
from sepnmf.methods._picking import PICKS, Pick, pick_anchors
from sepnmf.methods._spa import successive_projections
from sepnmf.selection import Selection, Status

SPREAD = 0.01  # width of the interval from which the costs p are drawn, so that no two are equal
RATE, POWERS = 3e-6, (1.5, 0)  # of the time of the programmes, see `Budget`
SLACK = 1e-6  # smallest bound on a residual, and tolerance for violations; that of HiGHS is 1e-7


@method(
    summary="linear programme over self-dictionary coefficients",
    use="a bound on the noise is known",
    cost="HiGHS, n up to hundreds",
    sparse=False,
    square=True,
    quick_up_to=200,
)
def hottopixx(
    M: MatrixLike,
    r: int,
    *,
    noise: float = 0.0,
    pick: Pick = "diag",
    max_work: float = 12.0,
    negative: Negative = "error",
    random_state: Seed = None,
) -> Selection:
    r"""Separable NMF by linear programming, with row and column generation (Hottopixx).

    Minimises  pᵀdiag(X)  over  Ω = {X ≥ 0 : x_ii ≤ 1, w_i x_ij ≤ w_j x_ii},  w_j = ‖m_j‖₁,  subject to

        ‖m_j − Mx_j‖₁ ≤ noise·‖m_j‖₁  for every column j.

    p is random in 1 ± 0.005, which breaks ties between equal columns. The linear programme has n² unknowns,
    few of which are nonzero. Starting with SPA's columns as the set I of rows and the set J of columns of X,
    each round

    1. solves the programme restricted to the rows in I and to the constraints of the columns in J (HiGHS);
    2. adds to I rows with negative reduced costs, computed from the multipliers of the residuals;
    3. adds to J columns that cannot be represented within the bound with the diagonal found; each is tested
       by a linear programme of its own.

    If no row or column is added, X is optimal for the whole programme.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data, nonnegative, no zero column.
    r : int
        Number of anchors, 1 ≤ r ≤ n. The linear programme does not depend on it.
    noise : float, default 0
        Largest relative l1 residual of a column. If every column is perturbed by at most ε of its l1 norm,
        the true anchors satisfy the constraints with noise = 2ε, up to order ε². A smaller bound selects more
        columns, a larger one fewer. Values below 1e-6 are replaced by 1e-6.
    pick : {"diag", "rows", "spa"}, default "diag"
        Anchors by largest diagonal entry of X, by largest row norm, or by SPA on the rows of X.
    max_work : float, default 12
        Largest work of all linear programmes, in nominal seconds: computed from their numbers of iterations,
        not measured, so that the answer does not depend on the machine.
    negative : {"error", "clip", "allow"}, default "error"
        How to treat negative entries of M: raise an error, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default None
        Random generator or seed for p; an integer makes calls reproducible.

    Returns
    -------
    Selection
        `history` has, per round, the objective, the numbers of rows and of columns, the seconds so far.

    Raises
    ------
    ValueError
        If an argument is not as described, or fewer than r rows of X are needed at this noise.
    RuntimeError
        If HiGHS fails.

    Warns
    -----
    ConvergenceWarning
        If `max_work` seconds did not suffice: X is that of the last round, or, if there is none or it has
        fewer than r rows, that of SPA's columns alone.

    Notes
    -----
    Cost: a round solves one programme with ``|I||J| + 2m|J|`` unknowns and ``m|J|`` equations, and at most n
    with ``|I| + 2m`` unknowns. On data close to separable I and J stay near r and 2r; at worst they reach n.
    Memory: one n × n array, and ``m|I||J|`` numbers for the programme.

    When to use: n up to several hundred, if the noise level is known and an exact optimum is needed.

    References
    ----------
    N. Gillis and R. Luce, "Robust near-separable nonnegative matrix factorization using linear
    optimization", J. Mach. Learn. Res. 15 (2014) 1249–1280.

    T. Mizutani, "Endmember extraction from hyperspectral images using self-dictionary approach with
    linear programming" (2024), solves such programmes by row and column expansion.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_dirichlet(noise=0.05, random_state=0)
    >>> sel = sepnmf.hottopixx(M, 10, noise=0.1, negative="allow", random_state=0)
    >>> set(sel.anchors) == set(anchors)
    True
    """
    began = time.perf_counter()
    data = dense_data(M, negative)
    n: int = data.shape[1]
    noise = check_number(noise, "noise", strict=False)
    check_choice(pick, "pick", PICKS)
    p = 1.0 + SPREAD * (check_generator(random_state).random(n) - 0.5)

    # After columns are scaled to l1 norm one, all weights w are one.
    weights = np.abs(data).sum(axis=0, dtype=np.float64)
    budget = Budget(check_number(max_work, "max_work"), RATE, POWERS)
    programme = Programme(data / weights, p, max(noise, SLACK), budget)
    first, _ = successive_projections(programme.M, min(r, int(np.linalg.matrix_rank(programme.M))))
    programme.add(columns=first.tolist(), rows=[])
    history: list[tuple[float, ...]] = []
    status: Status = "max_outer"
    try:
        while status == "max_outer":
            objective = programme.solve()
            sizes = len(programme.rows), len(programme.columns)
            history.append((objective, *sizes, time.perf_counter() - began))
            rows, columns = programme.improving_rows(), programme.violated_columns()
            if not rows and not columns:
                status = "converged"
            programme.add(columns, rows)
    except WorkUsedUp:
        from sklearn.exceptions import ConvergenceWarning

        text = f"hottopixx stopped after {len(history)} rounds before X was optimal: raise max_work."
        warnings.warn(text, ConvergenceWarning, stacklevel=4)

    needed = int((np.diag(programme.X) > 0).sum())
    if needed < r and status == "max_outer":
        first, _ = successive_projections(programme.M, r)
        programme.X = np.diag(np.isin(np.arange(n), first).astype(np.float64))
    elif needed < r:
        raise ValueError(
            f"the optimum needs {needed} rows of X at noise={noise:g}, got r={r}: "
            "ask for fewer anchors or less noise."
        )
    X = programme.X * weights / weights[:, None]
    anchors, scores = pick_anchors(X, r, pick)
    names = ("objective", "rows", "columns", "seconds")
    return Selection(
        anchors=anchors,
        scores=scores,
        status=status,
        converged=status == "converged",
        X=X,
        n_outer=len(history),
        history=dict(zip(names, np.array(history).reshape(-1, len(names)).T, strict=True)),
    )


class Programme:
    """min pᵀdiag(X) with x_ij ≤ x_ii ≤ 1 and ‖m_j − Mx_j‖₁ ≤ bound, restricted to some rows and columns of X.

    The rows include those of all columns, and begin with them, so that each column can represent itself.
    """

    def __init__(self, M: Floats, p: Floats, bound: float, budget: Budget) -> None:
        self.M, self.p, self.bound, self.budget = M, p, bound, budget
        self.columns: list[int] = []
        self.others: list[int] = []  # rows that are not columns
        self.X: Floats = np.zeros((p.size, p.size))

    @property
    def rows(self) -> list[int]:
        """Rows of X that may be nonzero."""
        return self.columns + self.others

    def add(self, columns: list[int], rows: list[int]) -> None:
        """Add columns and rows; a column is also added as a row."""
        self.columns = self.columns + columns
        self.others = [i for i in self.others + rows if i not in self.columns]

    def solve(self) -> float:
        """Solve the restricted programme for X and the multipliers Y of the residuals; return its optimum."""
        m, (k, c) = len(self.M), (len(self.rows), len(self.columns))
        # The unknowns: the diagonal, the columns of X, and the positive and negative parts of the residuals.
        residuals, columns = sparse.eye_array(c * m), sparse.eye_array(c)
        fit = [None, sparse.kron(columns, self.M[:, self.rows]), residuals, -residuals]
        own = sparse.csc_array((np.ones(c), (np.arange(c), np.arange(c) * (k + 1))), shape=(c, c * k))
        diagonal = [-sparse.eye_array(c, k), own, None, None]
        below = [-sparse.kron(np.ones((c, 1)), sparse.eye_array(k)), sparse.eye_array(c * k), None, None]
        sums = sparse.kron(columns, np.ones((1, m)))
        found = minimise(
            np.concatenate([self.p[self.rows], np.zeros(c * (k + 2 * m))]),
            budget=self.budget,
            A_eq=sparse.block_array([fit, diagonal], format="csc"),
            b_eq=np.concatenate([self.M[:, self.columns].T.ravel(), np.zeros(c)]),
            A_ub=sparse.block_array([below, [None, None, sums, sums]], format="csc"),
            b_ub=np.concatenate([np.zeros(c * k), np.full(c, self.bound)]),
            bounds=[(0, 1)] * k + [(0, None)] * (c * (k + 2 * m)),
        )
        self.X[:] = 0
        self.X[self.rows, self.rows] = found.x[:k]
        self.X[np.ix_(self.rows, self.columns)] = found.x[k : k + c * k].reshape(c, k).T
        self.Y: Floats = found.eqlin.marginals[: c * m].reshape(c, m).T
        return float(found.fun)

    def improving_rows(self) -> list[int]:
        """Rows with the most negative reduced costs p_i − Σ_j max(m_iᵀy_j, 0)."""
        gain = np.maximum(self.M.T @ self.Y, 0.0).sum(axis=1) - self.p
        gain[self.rows] = -np.inf
        return largest_violations(gain, SLACK)

    def violated_columns(self) -> list[int]:
        """Fit the other columns of X with this diagonal; return those that violate their bounds most."""
        m, diag = len(self.M), np.diag(self.X).copy()
        used = np.flatnonzero(diag > 0)
        residual = sparse.eye_array(m)
        A_eq = sparse.hstack([sparse.csc_array(self.M[:, used]), residual, -residual], format="csc")
        cost = np.concatenate([np.zeros(used.size), np.ones(2 * m)])
        excess = np.full(diag.size, -np.inf)
        for j in np.setdiff1d(np.arange(diag.size), self.columns):
            entries = [(diag[i] if i == j else 0.0, diag[i]) for i in used]
            bounds = entries + [(0, None)] * (2 * m)
            found = minimise(cost, budget=self.budget, A_eq=A_eq, b_eq=self.M[:, j], bounds=bounds)
            self.X[used, j] = found.x[: used.size]
            excess[j] = found.fun - self.bound
        return largest_violations(excess, SLACK)
