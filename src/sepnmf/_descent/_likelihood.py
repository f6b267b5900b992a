r"""The likelihood of anchors under noise, and descent on it.

Anchors are columns too: they are as noisy as the others. With vertices W that are not observed,

    M = WH + N,   H ≥ 0,   H[:, A] = I,   N Gaussian with variance σ²,

the anchors A are noisy copies of the vertices and the other columns noisy mixtures of them. Integrating W out
(flat prior) leaves, up to constants,

    J(A) = min over W and H of  ‖M − WH‖²_F + κmσ² log det(HHᵀ),   κ = 1.

The residual of nonnegative least squares is the first term with W tied to M[:, A], which rewards anchors for
their noise: an extreme column explains itself. The second term is the price of vertices far outside the data.
The weights are fitted as well, not integrated out, which calls for a larger price; κ = 4 does best in
simulations. σ² comes from the singular values behind the r-th, and is zero for data of rank r.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from sepnmf._kernels import vertices as kernels
from sepnmf._parallel import Workers
from sepnmf._typing import Bools, Floats, Ints
from sepnmf.least_squares import misfits_from_products
from sepnmf.matrix import NONE_KNOWN

PRICE = 4.0  # κ
STEPS, SETTLED = 300, 1e-7  # most steps of a fit, and the relative decrease of J at which it ends
TRIAL_STEPS, TRIAL_SETTLED = 15, 1e-6  # the same for a first look at an exchange
NEAR = 2  # columns tried in place of each anchor: the nearest to its vertex, and as many explained worst
FINALISTS = 5  # exchanges that are fitted to the end
LEAST_GAIN = 1e-7
VAGUE = 16.0  # the price of an imprecise anchor, which did best in simulations
EXACT = 1e-14  # of the squared norm of the data: a J that no exchange can lower by anything but rounding
MOST_WORK = 1e10  # multiplications of a descent, some ten seconds; with many anchors it would take longer
OVERHEAD = 2e5  # multiplications that take as long as what a step costs besides them
# With noise of variance σ², a near column is tried in place of an anchor if it costs at most so many σ² more.
HOPELESS = 300.0
# A column that is explained badly is tried in place of an anchor of which the other vertices leave at most so
# many times as much, or which is itself so many times farther from its vertex than noise puts it.
DISPENSABLE = 10.0
ASTRAY = 2.0


class Vertices(NamedTuple):
    """Anchors A with the fit that belongs to them."""

    anchors: Ints
    W: Floats  # m × r
    H: Floats  # n × r, a row for each column of the data
    J: float


class Factored:
    """A positive definite matrix by its Cholesky factor, for all that a step needs of it.

    LAPACK is called as it is: on few columns NumPy's checks take longer than the rest of a step.
    """

    def __init__(self, Q: Floats) -> None:
        self.L, wrong = dpotrf(Q, lower=1)
        if wrong or not np.isfinite(self.L[-1, -1]):
            raise np.linalg.LinAlgError

    def inverse(self) -> Floats:
        """Q⁻¹."""
        half = dpotri(self.L, lower=1)[0]  # its lower triangle
        full: Floats = half + half.T
        np.einsum("ii->i", full)[:] *= 0.5
        return full

    def solve(self, B: Floats) -> Floats:
        """Q⁻¹B."""
        found: Floats = dpotrs(self.L, B, lower=1)[0]
        return found

    def log_determinant(self) -> float:
        """The logarithm of the determinant."""
        return 2.0 * float(np.log(np.einsum("ii->i", self.L)).sum())


class Descent(NamedTuple):
    """The end of a descent, J at its start, and whether it ended because no exchange that was tried helps."""

    best: Vertices
    first: float
    n_moves: int
    settled: bool


class VertexModel:
    """J for data M and the variance of their noise; descent on J.

    Parameters
    ----------
    M : ndarray of shape (m, n)
        Columns, or their coordinates along leading directions.
    noise : float
        σ².
    unit : float, default 1
        What the columns are multiplied by, so that J has a range that tolerances can be relative to.
    height : int, optional
        Number of rows of the columns, if M has coordinates.
    counts : ndarray of shape (n,), optional
        How many columns each column represents.
    precision : ndarray of shape (n,), optional
        The variance of the noise in a column is σ² divided by this.
    candidates : ndarray of bool of shape (n,), optional
        Columns that may be anchors.
    fixed : ndarray of int, optional
        Columns that are anchors from the start, and stay so.
    settled : float, optional
        Relative decrease of J at which a fit ends.
    n_jobs : int, optional
        Threads, by default all cores.
    """

    def __init__(
        self,
        M: Floats,
        noise: float,
        *,
        unit: float = 1.0,
        height: int | None = None,
        counts: Floats | None = None,
        precision: Floats | None = None,
        candidates: Bools | None = None,
        fixed: Ints = NONE_KNOWN.include,
        settled: float = SETTLED,
        n_jobs: int | None = None,
    ) -> None:
        self.unit, self.settled = unit, settled
        self.Mt = np.ascontiguousarray(unit * M.T)
        self.squares = np.einsum("ij,ij->i", self.Mt, self.Mt)
        self.precision = np.ones(len(self.Mt)) if precision is None else precision
        self.weights = self.precision if counts is None else self.precision * counts
        self.total = float(self.weights @ self.squares)
        self.barred = None if candidates is None or candidates.all() else ~candidates
        self.fixed = fixed
        self.noise = unit**2 * noise
        self.height = len(M) if height is None else height
        self.price = PRICE * self.height * self.noise
        self.workers = Workers(len(self.Mt), n_jobs)
        self.work, self.most_work = 0.0, MOST_WORK

    def start(self, anchors: Ints, settled: float | None = None) -> Vertices:
        """The fit that starts with the vertices at the anchors."""
        H = np.zeros((len(self.Mt), len(anchors)))
        H[anchors, np.arange(len(anchors))] = 1.0
        W = np.ascontiguousarray(self.Mt[anchors].T)
        return self.fit(Vertices(np.array(anchors), W, H, np.inf), settled=settled)

    def fit(self, at: Vertices, steps: int = STEPS, settled: float | None = None) -> Vertices:
        """The fit after steps that alternate between W and H; with infinite J if they cannot be computed.

        Columns may differ by more than there are digits: then the weights have no inverse.
        """
        try:
            return self.alternated(at, steps, self.settled if settled is None else settled)
        except np.linalg.LinAlgError:
            return at._replace(J=np.inf)

    def alternated(self, at: Vertices, steps: int, settled: float) -> Vertices:
        """The fit after steps that alternate between W and H.

        log det is replaced by its tangent, so that J falls with every step.
        """
        anchors, W, H, last = at.anchors, at.W.copy(), at.H.copy(), np.inf
        owner = np.full(len(H), -1)
        owner[anchors] = np.arange(len(anchors))
        E, w = np.empty(len(H)), self.weights[:, None]
        vague = float(self.vagueness(len(anchors))[anchors].sum())
        Q = Factored((w * H).T @ H)
        for _ in range(steps):
            self.work += len(H) * len(anchors) * (len(W) + 4 * len(anchors)) + OVERHEAD
            G = W.T @ W + self.price * Q.inverse()
            self.workers.run(kernels.weigh, G, self.Mt @ W, self.squares, owner, H, E)
            weighted = w * H
            Q, MH = Factored(weighted.T @ H), self.Mt.T @ weighted
            W = Q.solve(MH.T).T
            J = self.total - float(np.vdot(W, MH)) + self.price * Q.log_determinant() + vague
            if last - J <= settled * abs(J) or abs(J) <= EXACT * self.total:
                break
            last = J
        return Vertices(anchors, W, H, J)

    def costs(self, at: Vertices) -> tuple[Floats, Floats]:
        """What it takes, to first order, to make column j the anchor of vertex k; each column's misfit.

        It takes infinitely much if the column is no candidate, or if this would move an anchor that is fixed.
        """
        G = at.W.T @ at.W + self.price * np.linalg.inv((self.weights[:, None] * at.H).T @ at.H)
        B, misfit = self.Mt @ at.W, np.empty(len(at.H))
        self.workers.run(kernels.weigh, G, B, self.squares, np.full(len(B), -1), at.H.copy(), misfit)
        misfit *= self.precision
        costs = self.precision[:, None] * (self.squares[:, None] - 2 * B + np.diag(G)) - misfit[:, None]
        costs += self.vagueness(len(at.anchors))[:, None]
        if self.barred is not None:
            costs[self.barred], misfit[self.barred] = np.inf, -np.inf
        for k in np.flatnonzero(np.isin(at.anchors, self.fixed)):
            own = costs[at.anchors[k], k]
            costs[at.anchors[k]] = costs[:, k] = np.inf
            costs[at.anchors[k], k] = own
        return costs, misfit

    def descend(self, anchors: Ints, most_work: float = np.inf) -> Descent:
        """Descend from these anchors: reassign all of them, or else exchange one, as long as J falls.

        It ends after `most_work` multiplications, and in any case after MOST_WORK.
        """
        self.work, self.most_work, n_moves = 0.0, min(MOST_WORK, most_work), 0
        with self.workers:
            best = self.start(anchors)
            first = best.J
            while self.work < self.most_work and np.isfinite(first):
                explained = abs(best.J) <= EXACT * self.total  # what is left is rounding
                better = None if explained else self.reassigned(best) or self.exchanged(best)
                if better is None:
                    return Descent(best, first, n_moves, settled=self.work < self.most_work)
                best, n_moves = better, n_moves + 1
        return Descent(best, first, n_moves, settled=False)

    def reassigned(self, at: Vertices) -> Vertices | None:
        """The fit with the columns as anchors that cost least in total, if it lowers J."""
        from scipy.optimize import linear_sum_assignment

        columns, order = linear_sum_assignment(self.costs(at)[0])
        anchors = np.empty_like(at.anchors)
        anchors[order] = columns
        if set(anchors) == set(at.anchors):
            return None
        new = self.fit(at._replace(anchors=anchors))
        return new if at.J - LEAST_GAIN * abs(at.J) > new.J else None

    def exchanged(self, at: Vertices) -> Vertices | None:
        """The fit after the best exchange of one anchor, if it lowers J.

        Exchanges are first compared by short fits; the best few are fitted to the end.
        """
        trials = []
        for k, column in self.worth_trying(at):
            if self.work > self.most_work:
                break
            anchors, W = at.anchors.copy(), at.W.copy()
            anchors[k], W[:, k] = column, self.Mt[column]
            trials.append(self.fit(Vertices(anchors, W, at.H, np.inf), TRIAL_STEPS, TRIAL_SETTLED))
        for trial in sorted(trials, key=lambda t: t.J)[:FINALISTS]:
            new = self.fit(trial)
            if at.J - LEAST_GAIN * abs(at.J) > new.J:
                return new
        return None

    def worth_trying(self, at: Vertices) -> list[tuple[int, int]]:
        """Exchanges, as the place of an anchor and a column: of columns that are near, or explained worst.

        Exchanges that noise makes hopeless are left out.
        """
        costs, misfit = self.costs(at)
        own = costs[at.anchors, np.arange(len(at.anchors))]
        most = HOPELESS * self.noise if self.noise > 0 else np.inf
        alone = self.misfits_of_anchors(at)
        astray = (own > ASTRAY * self.height * self.noise) | (self.noise == 0)
        costs[at.anchors] = np.inf
        misfit[at.anchors] = -np.inf
        worst = np.argsort(-misfit, kind="stable")[:NEAR]
        found = []
        for k in range(len(at.anchors)):
            near = np.argsort(costs[:, k], kind="stable")[:NEAR]
            likely = [j for j in near if costs[j, k] <= own[k] + most]
            likely += [j for j in worst if astray[k] or alone[k] <= DISPENSABLE * misfit[j]]
            found += [(k, int(j)) for j in dict.fromkeys(likely) if np.isfinite(costs[j, k])]
        return found

    def misfits_of_anchors(self, at: Vertices) -> Floats:
        """What the vertices but its own leave of each anchor."""
        G, columns = at.W.T @ at.W, self.Mt[at.anchors]
        B, squares = columns @ at.W, self.squares[at.anchors]
        nothing = np.zeros((1, len(G)))
        alone = [
            misfits_from_products(G, B[[k]], squares[[k]], k, nothing)[0][0] for k in range(len(at.anchors))
        ]
        return np.asarray(alone * self.precision[at.anchors])

    def vagueness(self, r: int) -> Floats:
        """What an imprecise column costs as an anchor: it is little evidence for a vertex near it."""
        return -VAGUE * self.noise * (r - 1) * np.log(self.precision)
