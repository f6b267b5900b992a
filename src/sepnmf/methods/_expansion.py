"""The linear programme of EEHT by row and column expansion, certified on all columns."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from sepnmf._typing import Floats, Ints
from sepnmf.methods._linear_programme import MAX_ADDED, Budget, largest_violations, minimise

TOLERANCE = 1e-10  # of HiGHS, for constraints and for reduced costs
SLACK = 1e-9  # violations that are taken for rounding
STEPS = 20  # of the projected gradient, between two tests of the residuals
ROUNDS = 10  # of so many steps
WHOLE = 100  # columns up to which the whole programme is solved at once, which is faster there
BLOCK = 200  # columns whose residuals one linear programme computes


class Expansion:
    """min max_j ‖a_j − Ax_j‖₁ with Σ x_ii = r and 0 ≤ x_ij ≤ x_ii ≤ 1, on some rows and columns of X.

    Rows that are left out are zero, so the optimum over few rows is an upper bound; columns that are left out
    are not asked for, so the optimum over few columns is a lower bound. If neither a row has a negative
    reduced cost nor a column a residual above the optimum, it is that of the whole programme.

    Before the first programme is solved, the diagonal is one at r given columns.
    """

    def __init__(self, A: Floats, r: int, start: Ints, budget: Budget) -> None:
        self.A, self.r, self.budget = A, r, budget
        n = A.shape[1]
        self.rows: list[int] = list(range(n)) if n <= WHOLE else [int(i) for i in start]
        self.columns: list[int] = list(self.rows)
        self.diagonal: Floats = np.zeros(n)
        self.diagonal[start] = 1
        self.value, self.shortage = 0.0, 0.0
        self.multipliers: Floats = np.zeros((len(A), 0))

    def solve(self) -> float:
        """Solve the restricted programme for the diagonal, and for the multipliers; return its optimum."""
        d, (k, c) = len(self.A), (len(self.rows), len(self.columns))
        # The unknowns: the value, the diagonal, the columns of X, positive and negative parts of residuals.
        sizes = 1, k, c * k, c * d, c * d
        own = np.array([(self.rows.index(j), b) for b, j in enumerate(self.columns) if j in self.rows])
        i, b = own.reshape(-1, 2).T
        of_diagonal = sparse.csc_array((np.ones(i.size), (np.arange(i.size), i)), shape=(i.size, k))
        of_column = sparse.csc_array((np.ones(i.size), (np.arange(i.size), b * k + i)), shape=(i.size, c * k))
        each, sums = sparse.eye_array(c * d), sparse.kron(sparse.eye_array(c), np.ones((1, d)))
        every = sparse.kron(np.ones((c, 1)), sparse.eye_array(k))
        fit = [None, None, sparse.kron(sparse.eye_array(c), self.A[:, self.rows]), each, -each]
        found = minimise(
            np.concatenate([[1.0], np.zeros(sum(sizes) - 1)]),
            budget=self.budget,
            tol=TOLERANCE,
            A_eq=stacked(sizes, fit, [None, np.ones((1, k))], [None, -of_diagonal, of_column]),
            b_eq=np.concatenate([self.A[:, self.columns].T.ravel(), [self.r], np.zeros(i.size)]),
            A_ub=stacked(
                sizes,
                [None, -every, sparse.eye_array(c * k)],
                [-np.ones((c, 1)), None, None, sums, sums],
            ),
            b_ub=np.zeros(c * k + c),
            bounds=np.column_stack([np.zeros(sum(sizes)), np.repeat([np.inf, 1, *[np.inf] * 3], sizes)]),
        )
        self.diagonal[:] = 0
        self.diagonal[self.rows] = np.clip(found.x[1 : 1 + k], 0.0, 1.0)
        self.multipliers = found.eqlin.marginals[: c * d].reshape(c, d).T
        self.shortage = float(found.eqlin.marginals[c * d])  # what one more on the diagonal would change
        self.value = float(found.fun)
        return self.value

    def improving_rows(self) -> list[int]:
        """Rows i with the most negative reduced costs −(Σ_j max(a_iᵀy_j, 0) + shortage); x_ii is not cut."""
        gains = np.maximum(self.A.T @ self.multipliers, 0.0).sum(axis=1) + self.shortage
        own = np.einsum("ij,ij->j", self.A[:, self.columns], self.multipliers)
        gains[self.columns] += np.minimum(own, 0.0)
        gains[self.rows] = -np.inf
        return largest_violations(gains, SLACK)

    def unfit_columns(self) -> list[int]:
        """Columns whose residuals with this diagonal exceed the value; none only if no column's does."""
        others = np.setdiff1d(np.arange(self.diagonal.size), self.columns)
        residuals = self.bounded_residuals(others)
        doubtful = np.argsort(-residuals, kind="stable")[: int((residuals > self.value).sum())]
        for part in blocks(others[doubtful]):
            excess = self.least_residuals(part) - self.value
            unfit = largest_violations(excess, SLACK)
            if unfit:
                return [int(j) for j in part[unfit]]
        return []

    def limits(self, columns: Ints) -> tuple[Ints, Floats, Floats]:
        """Return the rows in use, and the bounds of x_ij in them; x_jj is the diagonal entry itself."""
        used = np.flatnonzero(self.diagonal > 0)
        upper = np.repeat(self.diagonal[used, None], columns.size, axis=1)
        return used, np.where(used[:, None] == columns, upper, 0.0), upper

    def bounded_residuals(self, columns: Ints) -> Floats:
        """Return upper bounds on the residuals: those of least squares, until they are below the value.

        Accelerated projected gradients, for all columns at once; a column below the value is left as it is.
        """
        out, active = np.full(columns.size, np.inf), np.arange(columns.size)
        used, lower, upper = self.limits(columns)
        basis = self.A[:, used]
        step = 1.0 / max(float(np.linalg.norm(basis, 2)) ** 2, np.finfo(float).tiny)
        gram, target = step * (basis.T @ basis), step * (basis.T @ self.A[:, columns])
        X = lower.copy()
        ahead, inertia = X, 1.0
        for _ in range(ROUNDS):
            for _ in range(STEPS):
                moved = np.clip(ahead - gram @ ahead + target, lower, upper)
                following = (1 + np.sqrt(1 + 4 * inertia**2)) / 2
                ahead = moved + (inertia - 1) / following * (moved - X)
                X, inertia = moved, following
            now = np.abs(self.A[:, columns[active]] - basis @ X).sum(axis=0)
            out[active] = np.minimum(out[active], now)
            open_ = out[active] > self.value
            if not open_.any():
                break
            active, X, ahead = active[open_], X[:, open_], ahead[:, open_]
            lower, upper, target = lower[:, open_], upper[:, open_], target[:, open_]
        return out

    def least_residuals(self, columns: Ints) -> Floats:
        """Return the least residuals ‖a_j − Ax_j‖₁ with this diagonal; one linear programme for all."""
        d, c = len(self.A), columns.size
        used, lower, upper = self.limits(columns)
        each = sparse.eye_array(c * d)
        fit = sparse.hstack([sparse.kron(sparse.eye_array(c), self.A[:, used]), each, -each], format="csc")
        free = np.column_stack([np.zeros(2 * c * d), np.full(2 * c * d, np.inf)])
        found = minimise(
            np.concatenate([np.zeros(c * used.size), np.ones(2 * c * d)]),
            budget=self.budget,
            tol=TOLERANCE,
            A_eq=fit,
            b_eq=self.A[:, columns].T.ravel(),
            bounds=np.vstack([np.column_stack([lower.T.ravel(), upper.T.ravel()]), free]),
        )
        X = np.clip(found.x[: c * used.size].reshape(c, used.size).T, lower, upper)
        return np.asarray(np.abs(self.A[:, columns] - self.A[:, used] @ X).sum(axis=0))

    def expand(self) -> bool:
        """Add rows and columns to the programme that was solved; return whether there are any to add."""
        rows, columns = self.improving_rows(), self.unfit_columns()
        self.rows, self.columns = self.rows + rows, self.columns + columns
        return bool(rows or columns)


def blocks(columns: Ints) -> Iterator[Ints]:
    """Cut columns into parts: a small one first, where those that are most likely to be unfit are."""
    yield from (part for part in np.split(columns, range(MAX_ADDED, columns.size, BLOCK)) if part.size)


def stacked(sizes: tuple[int, ...], *rows: list[Any]) -> Any:
    """Return a matrix from rows of blocks; blocks that are None or missing are zero."""
    made = []
    for row in rows:
        height = next(block.shape[0] for block in row if block is not None)
        padded = [*row, *[None] * (len(sizes) - len(row))]
        made.append(
            [sparse.csc_array((height, s)) if b is None else b for b, s in zip(padded, sizes, strict=True)]
        )
    return sparse.csc_array(sparse.block_array(made))
