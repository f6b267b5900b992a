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

from sepnmf._kernels import vertices as kernels
from sepnmf._typing import Floats, Ints

PRICE = 4.0  # κ
STEPS, SETTLED = 300, 1e-7  # most steps of a fit, and the relative decrease of J at which it ends
TRIAL_STEPS, TRIAL_SETTLED = 15, 1e-6  # the same for a first look at an exchange
NEAR = 2  # columns tried in place of each anchor: the nearest to its vertex, and as many explained worst
FINALISTS = 5  # exchanges that are fitted to the end
LEAST_GAIN = 1e-7
MOST_WORK = 3e9  # multiplications of a descent, some seconds; with many anchors it would take longer


class Vertices(NamedTuple):
    """Anchors A with the fit that belongs to them."""

    anchors: Ints
    W: Floats  # m × r
    H: Floats  # n × r, a row for each column of the data
    J: float


class Descent(NamedTuple):
    """The end of a descent, J at its start, and whether it ended because no exchange that was tried helps."""

    best: Vertices
    first: float
    n_moves: int
    settled: bool


class VertexModel:
    """J for data M and the variance of their noise; descent on J."""

    def __init__(self, M: Floats, noise: float) -> None:
        self.Mt = np.ascontiguousarray(M.T)
        self.squares = np.einsum("ij,ij->i", self.Mt, self.Mt)
        self.price = PRICE * M.shape[0] * noise
        self.work = 0.0

    def start(self, anchors: Ints) -> Vertices:
        """The fit that starts with the vertices at the anchors."""
        H = np.zeros((len(self.Mt), len(anchors)))
        H[anchors, np.arange(len(anchors))] = 1.0
        W = np.ascontiguousarray(self.Mt[anchors].T)
        return self.fit(Vertices(np.array(anchors), W, H, np.inf))

    def fit(self, at: Vertices, steps: int = STEPS, settled: float = SETTLED) -> Vertices:
        """The fit after steps that alternate between W and H.

        log det is replaced by its tangent, so that J falls with every step.
        """
        anchors, W, H, last = at.anchors, at.W.copy(), at.H.copy(), np.inf
        owner = np.full(len(H), -1)
        owner[anchors] = np.arange(len(anchors))
        E, total = np.empty(len(H)), float(self.squares.sum())
        Q = H.T @ H
        for _ in range(steps):
            self.work += len(H) * len(anchors) * (len(W) + 4 * len(anchors))
            kernels.weigh(W.T @ W + self.price * np.linalg.inv(Q), self.Mt @ W, self.squares, owner, H, E)
            Q, MH = H.T @ H, self.Mt.T @ H
            W = np.linalg.solve(Q, MH.T).T.copy()
            J = total - float(np.vdot(W, MH)) + self.price * float(np.linalg.slogdet(Q)[1])
            if last - J <= settled * abs(J):
                break
            last = J
        return Vertices(anchors, W, H, J)

    def costs(self, at: Vertices) -> tuple[Floats, Floats]:
        """What it takes, to first order, to make column j the anchor of vertex k; each column's misfit."""
        G = at.W.T @ at.W + self.price * np.linalg.inv(at.H.T @ at.H)
        B, misfit = self.Mt @ at.W, np.empty(len(at.H))
        kernels.weigh(G, B, self.squares, np.full(len(B), -1), at.H.copy(), misfit)
        return self.squares[:, None] - 2 * B + np.diag(G) - misfit[:, None], misfit

    def descend(self, anchors: Ints) -> Descent:
        """Descend from these anchors: reassign all of them, or else exchange one, as long as J falls."""
        self.work, n_moves = 0.0, 0
        best = self.start(anchors)
        first = best.J
        while self.work < MOST_WORK:
            better = self.reassigned(best) or self.exchanged(best)
            if better is None:
                return Descent(best, first, n_moves, settled=self.work < MOST_WORK)
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
        costs, misfit = self.costs(at)
        costs[at.anchors] = np.inf
        misfit[at.anchors] = -np.inf
        worst = np.argsort(-misfit, kind="stable")[:NEAR]
        trials = []
        for k in range(len(at.anchors)):
            near = np.argsort(costs[:, k], kind="stable")[:NEAR]
            for column in dict.fromkeys([*near, *worst]):
                if not np.isfinite(costs[column, k]) or self.work > MOST_WORK:
                    continue  # the column is an anchor already, or the work is at its limit
                anchors, W = at.anchors.copy(), at.W.copy()
                anchors[k], W[:, k] = column, self.Mt[column]
                trials.append(self.fit(Vertices(anchors, W, at.H, np.inf), TRIAL_STEPS, TRIAL_SETTLED))
        for trial in sorted(trials, key=lambda t: t.J)[:FINALISTS]:
            new = self.fit(trial)
            if at.J - LEAST_GAIN * abs(at.J) > new.J:
                return new
        return None
