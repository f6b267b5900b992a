"""The method without parameters: several starts, descent, and a choice from the data alone."""

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sepnmf.columns import (
    Columns,
    column_blocks,
    dense_columns,
    in_range,
    is_sparse,
    l1_lengths,
    squared_lengths,
)
from sepnmf.kernels import exchange as kernels
from sepnmf.least_squares import nnls
from sepnmf.methods import nfindr, preconditioned_spa, snpa, spa, vca, xray
from sepnmf.methods.iteration import Callback, State
from sepnmf.parallel import SingleBLAS, Workers
from sepnmf.selection import Selection, Status, best_first
from sepnmf.tuning.clusters import bisecting_clusters, cluster_means
from sepnmf.tuning.exchange import exchange_anchors
from sepnmf.tuning.ratio_path import tuned_admm
from sepnmf.tuning.spectrum import noise_variance, squared_spectrum, white_rank
from sepnmf.tuning.vertices import VertexModel
from sepnmf.typing import ArrayLike, Floats, Ints, Seed, Sparse
from sepnmf.validation import Negative, check_choice, check_columns, check_generator, check_rank

Normalize = Literal["auto", "none", "l1", "sqrt"]
# The criterion's name, its value before and after, exchanges made, anchors, and whether no more would help.
Improved = tuple[str, float, float, int, Ints, bool]
Improve = Callable[[Ints], Improved]

SMALL = 1000  # columns; up to here every one is a candidate and is to be explained
PATH = 300  # columns; up to here the ratio model's path is worth its time
SAMPLE = 2000  # columns that are to be explained, of more
POOL = 20_000  # columns that are candidates, of more: with SAMPLE, 320 MB of inner products
SMALL_PRODUCT = 2_000_000  # entries; up to here BLAS is kept to one thread
BIG = 20_000_000  # entries; beyond, only the starts that hold no copy of the data
ROWS = 200  # coordinates kept of columns more than twice as long
CLUSTERS, PER_ANCHOR = 100, 25  # representatives at first, or so many for every anchor
SPREAD = (0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3, 1.45, 1.6)  # numbers of clusters in a consensus, times that
SKEWERS = 1000  # random lines along which extreme columns become candidates
DARK = 1e-3  # of the median column; a column shorter than this has the direction of its noise
DENSE_SHARE, DENSE_SIZE = (
    0.02,
    125_000_000,
)  # sparse data with more entries, of less than 1 GB, are faster dense
CROWDED = 0.9  # of the squared length in a tenth of the columns: the others would have no say
IN_CONE = 1e-6


def auto(
    M: ArrayLike | Sparse,
    r: int,
    *,
    normalize: Normalize = "auto",
    negative: Negative = "error",
    random_state: Seed = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Selection:
    r"""Anchors without a parameter: what to do is decided from the data.

    Whether the singular values behind the r-th look like white noise (`estimate_rank` has the test) says
    what a good answer is:

    - **noise**: anchors carry it as the other columns do, and fitting them exactly rewards the noisiest. The
      likelihood of the anchors (`sepnmf.tuning.vertices`) takes this into account; with many columns, the
      residual in the r leading singular coordinates, where most of the noise is gone.
    - **misfit** (measured spectra, images, words: no noise is white there): the residual of nonnegative
      least squares of all columns on the anchors.

    Greedy methods, and the ratio model along its path where they disagree (n ≤ 300), give starts; each
    descends by exchanging one anchor at a time until no exchange helps; the best answer wins. More than a
    thousand columns with misfit are first averaged into a hundred clusters or more, nine times on random
    four fifths of them, because single columns at the rim are rarely the pure ones; of the nine answers the
    most central is taken if it explains the data better than every start. Otherwise there are twice as many
    clusters, and then, from the best start, single columns are exchanged.

    Parameters
    ----------
    M : array_like or sparse of shape (m, n)
        Data. Columns shorter than a thousandth of the median one are no candidates, if r others are left.
    r : int
        Number of anchors, 1 ≤ r ≤ n.
    normalize : {"auto", "none", "l1", "sqrt"}, default "auto"
        Columns as they are, divided by their sums, or by the roots of their sums (counts, whose variance
        grows with the mean). "auto" takes "sqrt" when a tenth of the columns have nine tenths of ‖M‖²_F (the
        co-occurrences of words do), else "none": equal weights for all would be weights for dark columns.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int or numpy.random.Generator, default 0
        For the samples taken of many columns, and for the starts that draw directions.
    n_jobs : int, optional
        Threads, by default all cores.
    callback : callable, optional
        Called after each answer with a `State` that has no X; `numbers` are the "after" and "residual" of
        `history`. A true answer does not end the search.

    Returns
    -------
    Selection
        `scores` are what the residual would gain without an anchor, relative to the data; zero for the
        other columns. `history` has a row per answer: its "start", the "criterion" it descended on, that
        "before" and "after", the "exchanges", its "residual" where it was computed, and whether it is
        "settled": no exchange that was looked at helps. Residuals and scores are of the
        columns as scaled. `status` is "not identifiable" if an anchor lies in the
        cone of the other columns (only told of data without noise), "max_outer" if the answer is not
        settled.

    Raises
    ------
    ValueError
        If an argument is not as described, or no start can find r columns because M has lower rank.

    Notes
    -----
    Cost: n ≤ 1000: exchanges are bounded before they are tried, n² inner products; larger n: passes over M
    and work on 2000 columns at most. Memory: linear in n beyond n = 20000.

    When to use: first. Another method is for comparing, or when it is known to suit.

    References
    ----------
    The exchanges, the likelihood and the consensus are ours; what they start from is cited where it is.

    Examples
    --------
    >>> import sepnmf
    >>> M, anchors = sepnmf.datasets.make_midpoint(noise=0.3, random_state=0)
    >>> set(sepnmf.select(M, 10, negative="allow").anchors) == set(anchors)
    True
    """
    began = time.perf_counter()
    rng = check_generator(random_state)
    data = check_columns(M, negative)
    # Its threads slow BLAS down on matrices this small, by far where other work wants the cores.
    with SingleBLAS() if data.shape[0] * data.shape[1] <= SMALL_PRODUCT else nullcontext():
        return search(data, r, normalize, rng, n_jobs, callback, began)


def search(
    data: Columns,
    r: int,
    normalize: str,
    rng: np.random.Generator,
    n_jobs: int | None,
    callback: Callback | None,
    began: float,
) -> Selection:
    """`auto`, on data that have been checked."""
    problem = Search.prepare(data, r, normalize, rng, n_jobs)
    problem.callback = callback
    anchors = problem.solve()
    status: Status = "done" if problem.settled else "max_outer"
    if problem.lies_in_cone(anchors):
        status = "not identifiable"
    scores = problem.importance(anchors)
    keys = ("start", "criterion", "before", "after", "exchanges", "residual", "settled")
    return Selection(
        anchors=best_first(scores, problem.r),
        scores=scores,
        method="auto",
        status=status,
        converged=problem.settled,
        n_outer=len(problem.tried),
        history={key: np.array([row[key] for row in problem.tried]) for key in keys},
        seconds=time.perf_counter() - began,
    )


def refine_anchors(
    M: ArrayLike | Sparse,
    anchors: Ints,
    *,
    normalize: Normalize = "auto",
    negative: Negative = "error",
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> tuple[Ints, Floats, dict[str, Any]]:
    """Descend from these anchors as `auto` does from its starts: new anchors, scores, what was done."""
    rng = check_generator(random_state)
    problem = Search.prepare(check_columns(M, negative), len(anchors), normalize, rng, n_jobs)
    given = np.asarray(anchors)
    new = problem.descend({"given": given})
    row = {key: value for key, value in problem.tried[-1].items() if key != "start"}
    if problem.noise is None and problem.n > SMALL and row["residual"] >= problem.residual(given):
        # What helps a sample of the columns need not help them all.
        new, row = given, row | {"after": row["before"], "exchanges": 0, "residual": problem.residual(given)}
    scores = problem.importance(new)
    return best_first(scores, problem.r), scores, row


@dataclass(eq=False)
class Search:
    """Columns to choose among, what is known about them, and what has been tried.

    X has the columns of `data`, which are those of M scaled, or their leading coordinates; `choice` is the
    same with dark columns zero.
    """

    data: Columns
    X: Floats
    choice: Floats
    r: int
    noise: float | None  # variance of white noise; None if it is misfit
    rng: np.random.Generator
    n_jobs: int | None
    tried: list[dict[str, Any]] = field(default_factory=list)
    settled: bool = True
    callback: Callback | None = None

    @classmethod
    def prepare(
        cls, data: Columns, r: int, normalize: str, rng: np.random.Generator, n_jobs: int | None
    ) -> "Search":
        """Check r, scale the columns, look at the spectrum, keep the leading coordinates of long columns."""
        m, n = data.shape
        r = check_rank(r, n)
        data, _, squares = in_range(data)
        if not squares.any():
            raise ValueError("M is zero: there is no column to choose.")
        data = scaled(data, check_choice(normalize, "normalize", ("auto", "none", "l1", "sqrt")))
        spectrum = squared_spectrum(data)
        white = spectrum is not None and white_rank(spectrum, m, n)[0] <= r
        noise = noise_variance(spectrum, m, n, r) if white and spectrum is not None else None
        rows = max(ROWS, 2 * r)
        X = leading_coordinates(data, rows, rng) if is_sparse(data) or min(m, n) > 2 * rows else data
        X = np.ascontiguousarray(X, dtype=np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->j", X, X))
        dark = lengths <= DARK * np.median(lengths[lengths > 0])
        choice = X
        if dark.any() and n - dark.sum() >= r:
            choice = X.copy()
            choice[:, dark] = 0.0
        return cls(data, X, choice, r, noise, rng, n_jobs)

    @property
    def n(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def solve(self) -> Ints:
        """Anchors of the best answer."""
        if self.noise is not None and self.n <= SMALL:
            return self.descend(self.starts(("snpa", "spa", "xray")), unsettled=self.path)
        starts = self.starts(("spa", "xray") if self.X.size > BIG else tuple(GREEDY))
        if self.noise is None and self.n > SMALL:
            return self.consensus(starts)
        if self.noise is None and self.n <= PATH:
            starts |= self.path()
        return self.descend(starts)

    # Starts ------------------------------------------------------------------------------------------

    def starts(self, names: tuple[str, ...], X: Floats | None = None) -> dict[str, Ints]:
        """Answers of greedy methods on `choice`, or on other columns, where they find r distinct ones."""
        X = self.choice if X is None else X
        seed = int(self.rng.integers(2**31))
        found, errors = {}, []
        for name in names:
            try:
                found[name] = GREEDY[name](X, self.r, seed)
            except ValueError as error:
                errors.append(error)
        if not found:
            raise errors[0]
        return found

    def path(self) -> dict[str, Ints]:
        """The ratio model's answer, where the data are small enough for it."""
        bright = np.flatnonzero(self.choice.any(axis=0))
        if len(bright) > PATH or self.r > len(bright):
            return {}
        sel = tuned_admm(self.choice[:, bright], self.r, negative="allow", max_outer=50, n_jobs=self.n_jobs)
        return {"tuned-admm": bright[sel.anchors]}

    # Descent -----------------------------------------------------------------------------------------

    def descend(
        self, starts: dict[str, Ints], unsettled: Callable[[], dict[str, Ints]] | None = None
    ) -> Ints:
        """The best answer from all starts, and, where their answers differ, from the `unsettled` ones too."""
        improve = self.descent()
        answers = self.improved(improve, starts)
        if unsettled is not None and len({frozenset(anchors.tolist()) for anchors, _ in answers}) > 1:
            answers += self.improved(improve, unsettled())
        anchors, row = min(answers, key=lambda answer: answer[1]["after"])
        row["residual"] = self.residual(anchors)
        self.settled = row["settled"]
        return anchors

    def improved(self, improve: Improve, starts: dict[str, Ints]) -> list[tuple[Ints, dict[str, Any]]]:
        """Anchors of each answer and its row in `tried`; equal starts descend once."""
        answers: list[tuple[Ints, dict[str, Any]]] = []
        known: dict[frozenset[int], Improved] = {}
        for name, start in starts.items():
            key = frozenset(start.tolist())
            if key not in known:
                known[key] = improve(start)
            criterion, before, after, count, anchors, settled = known[key]
            residual = self.residual(anchors) if self.n <= SMALL else np.nan
            self.note(name, criterion, before, after, count, residual, settled)
            answers.append((anchors, self.tried[-1]))
        return answers

    def note(
        self,
        start: str,
        criterion: str,
        before: float,
        after: float,
        count: int,
        residual: float,
        settled: bool = True,
    ) -> None:
        """Add a row to the history."""
        row = {"start": start, "criterion": criterion, "before": before, "after": after}
        self.tried.append(row | {"exchanges": count, "residual": residual, "settled": settled})
        if self.callback is not None:
            self.callback(State("auto", len(self.tried), None, {"after": after, "residual": residual}))

    def descent(self) -> Improve:
        """What improves anchors, on which criterion: see `Improve`."""
        if self.noise is not None and self.n <= SMALL:
            return self.likelihood_descent()
        X: Columns = self.X
        choice: Columns = self.choice
        criterion = "residual"
        if is_sparse(self.data):
            X = choice = self.data
        if self.noise is not None:
            U = leading_directions(self.X, self.r)
            X, choice = U.T @ self.X, U.T @ self.choice
            criterion = "residual in the leading coordinates"
        sample, weights = self.weighted_sample()
        D = X[:, sample]
        bright = np.flatnonzero(self.choice.any(axis=0))
        pool = bright if len(bright) <= POOL else self.extreme_columns()

        def improve(start: Ints) -> Improved:
            candidates = np.union1d(pool, start)
            place = np.searchsorted(candidates, start)
            got = exchange_anchors(D, choice[:, candidates], place, weights, n_jobs=self.n_jobs)
            return criterion, got.start, got.residual, got.n_exchanges, candidates[got.anchors], True

        return improve

    def weighted_sample(self) -> tuple[Ints, Floats]:
        """Columns that stand for all of them, with weights: the longest, and of the others some by lot."""
        if self.n <= max(SMALL, SAMPLE):
            return np.arange(self.n), np.ones(self.n)
        order = np.argsort(-np.einsum("ij,ij->j", self.X, self.X), kind="stable")
        longest, others = order[: SAMPLE // 2], order[SAMPLE // 2 :]
        drawn = np.sort(self.rng.choice(others, SAMPLE // 2, replace=False))
        weights = np.repeat([1.0, len(others) / len(drawn)], [len(longest), len(drawn)])
        return np.concatenate([longest, drawn]), weights

    def likelihood_descent(self) -> Improve:
        """Descent on J."""
        scale = float(np.linalg.norm(self.X))
        model = VertexModel(self.X / scale, float(self.noise or 0.0) / scale**2)

        def improve(start: Ints) -> Improved:
            got = model.descend(start)
            return "likelihood", got.first, got.best.J, got.n_moves, got.best.anchors, got.settled

        return improve

    def extreme_columns(self) -> Ints:
        """Columns that are extreme along random lines in the span of the r leading directions."""
        U = leading_directions(self.X, self.r)
        lines = self.rng.standard_normal((SKEWERS, self.r))
        best, which = np.full((2, SKEWERS), -np.inf), np.zeros((2, SKEWERS), np.intp)
        for block in column_blocks(SKEWERS, self.n):
            along = lines @ (U.T @ self.choice[:, block])
            for side, values in enumerate((along, -along)):
                top = values.argmax(axis=1)
                value = values[np.arange(SKEWERS), top]
                better = value > best[side]
                best[side, better], which[side, better] = value[better], top[better] + block.start
        return np.unique(which)

    # Many columns with misfit ------------------------------------------------------------------------

    def consensus(self, starts: dict[str, Ints]) -> Ints:
        """The most central of the answers on clusters, if it explains more than every start.

        If not, of twice as many clusters; and if those do not either, the best start with single columns
        exchanged.
        """
        residuals = {name: self.residual(anchors) for name, anchors in starts.items()}
        for name, value in residuals.items():
            self.note(name, "residual", value, value, 0, value)
        name = min(residuals, key=lambda key: residuals[key])
        few = max(CLUSTERS, PER_ANCHOR * self.r)
        for k in (few, 2 * few):
            if 4 * k > self.n:
                break  # clusters of fewer columns average nothing
            answers = [self.on_clusters(int(f * k)) for f in SPREAD]
            anchors = self.most_central([answer for answer in answers if answer is not None])
            if anchors is not None:
                value = self.residual(anchors)
                self.note(f"{k} clusters", "residual", residuals[name], value, 0, value)
                if value <= residuals[name]:
                    return anchors
        anchors = self.descend({name: starts[name]})
        return anchors if self.tried[-1]["residual"] <= residuals[name] else starts[name]

    def on_clusters(self, k: int) -> Ints | None:
        """Best of k cluster means of a random four fifths of the columns, and the column nearest to each."""
        part = np.sort(self.rng.choice(self.n, 4 * self.n // 5, replace=False))
        X = self.choice[:, part]
        labels = bisecting_clusters(X, max(k, 2 * self.r))
        means, sizes = cluster_means(X, labels)
        try:
            starts = self.starts(tuple(GREEDY), means)
        except ValueError:
            return None
        products = means.T @ means
        answers = [
            exchange_anchors(means, means, start, sizes, products=products, n_jobs=self.n_jobs)
            for start in {frozenset(start.tolist()): start for start in starts.values()}.values()
        ]
        best = min(answers, key=lambda answer: answer.residual)
        chosen = []
        for cluster in best.anchors:
            members = np.flatnonzero(labels == cluster)
            lengths = np.linalg.norm(X[:, members], axis=0)
            cosines = means[:, cluster] @ X[:, members] / np.where(lengths > 0, lengths, np.inf)
            chosen.append(part[members[np.argmax(cosines)]])
        return np.array(chosen)

    def most_central(self, answers: list[Ints]) -> Ints | None:
        """The answer nearest in angle to the others: one that hangs on how columns were grouped is not."""
        from scipy.optimize import linear_sum_assignment

        if not answers:
            return None
        unit = [self.X[:, a] / np.linalg.norm(self.X[:, a], axis=0) for a in answers]
        far = np.zeros(len(unit))
        for i, one in enumerate(unit):
            for other in unit:
                angles = np.arccos(np.clip(one.T @ other, -1.0, 1.0))
                far[i] += angles[linear_sum_assignment(angles)].sum()
        return answers[int(np.argmin(far))]

    # What an answer is worth -------------------------------------------------------------------------

    def residual(self, anchors: Ints) -> float:
        """Σ_j min_{h ≥ 0} ‖m_j − Wh‖² over all columns, with the anchors as the columns of W."""
        return sum(float(E.sum()) for _, _, E in self.weights(anchors))

    def weights(self, anchors: Ints) -> Iterator[tuple[tuple[Floats, ...], Floats, Floats]]:
        """Weights and misfits of the columns, block by block, with the problem they solve."""
        W = dense_columns(self.data, anchors)
        G = W.T @ W
        for block in column_blocks(64, self.n):
            part = self.data[:, block]
            problem = (G, np.ascontiguousarray(part.T @ W, dtype=np.float64), squared_lengths(part))
            H, E = np.zeros((len(problem[1]), len(anchors))), np.empty(len(problem[1]))
            with Workers(len(E), self.n_jobs) as workers:
                workers.run(kernels.solve, *problem, -1, H, E)
            yield problem, H, E

    def importance(self, anchors: Ints) -> Floats:
        """What the residual would gain without each anchor, relative to ‖X‖²_F; 0 for the other columns."""
        gain = np.zeros(len(anchors))
        total = 0.0
        for problem, H, E in self.weights(anchors):
            total += float(problem[2].sum())
            for k in range(len(anchors)):
                used = np.flatnonzero(H[:, k] > 0)
                without, rest = H[used], np.empty(len(used))
                G, B, squares = problem
                kernels.solve(G, B[used], squares[used], k, without, rest, 0, len(used), np.empty(4))
                gain[k] += float((rest - E[used]).sum())
        scores = np.zeros(self.n)
        scores[anchors] = np.maximum(gain / total, np.finfo(np.float64).tiny)
        return scores

    def lies_in_cone(self, anchors: Ints) -> bool:
        """Whether an anchor is a nonnegative combination of columns other than itself and its copies."""
        if self.noise != 0.0 or self.n > SMALL or self.r >= min(self.X.shape):
            return False  # with as many anchors as rows, noise would not be seen
        lengths = np.linalg.norm(self.choice, axis=0)
        unit = self.choice / np.where(lengths > 0, lengths, 1.0)
        for anchor in anchors:
            others = np.flatnonzero((unit[:, anchor] @ unit < 1 - IN_CONE) & (lengths > 0))
            if others.size == 0:
                continue
            h = nnls(unit[:, others], unit[:, [anchor]])
            if np.linalg.norm(unit[:, others] @ h - unit[:, [anchor]]) <= IN_CONE:
                return True
        return False


def scaled(data: Columns, normalize: str) -> Columns:
    """The columns divided by their sums, by the roots of these, or not."""
    sums = l1_lengths(data)
    if normalize == "auto":
        normalize = "sqrt" if needs_root_of_sums(squared_lengths(data)) else "none"
    if normalize == "none":
        return data
    scale = np.where(sums > 0, sums, 1.0) ** (1.0 if normalize == "l1" else 0.5)
    if is_sparse(data):
        from scipy import sparse

        return sparse.csc_array(data @ sparse.diags_array(1 / scale))
    return data / scale


def needs_root_of_sums(squares: Floats) -> bool:
    """Whether a tenth of the columns have nearly all of the squared length."""
    falling = np.sort(squares)[::-1]
    tenth = max(len(falling) // 10, 1)
    return len(falling) >= 10 and bool(falling[:tenth].sum() > CROWDED * falling.sum())


def leading_coordinates(data: Columns, rows: int, rng: np.random.Generator) -> Floats:
    """The columns' coordinates in the leading left singular vectors, dense.

    What is orthogonal to all of these is lost, nearly the same whatever the anchors are.
    """
    from sklearn.utils.extmath import randomized_svd

    m, n = data.shape
    crowded = is_sparse(data) and data.nnz > DENSE_SHARE * m * n and m * n <= DENSE_SIZE
    if min(m, n) <= rows or crowded:
        data = dense_columns(data, slice(None))
    if min(m, n) <= rows:
        return np.asarray(data)
    _, s, Vt = randomized_svd(data, rows, n_iter=4, random_state=int(rng.integers(2**31)))
    coordinates: Floats = s[:, None] * Vt
    return coordinates


def leading_directions(X: Floats, r: int) -> Floats:
    """The r leading left singular vectors."""
    gram = np.zeros((len(X), len(X)))
    for block in column_blocks(*X.shape):
        gram += X[:, block] @ X[:, block].T
    return np.ascontiguousarray(np.linalg.eigh(gram)[1][:, ::-1][:, :r])


def residual_curve(data: Columns, most: int, random_state: Seed, n_jobs: int | None) -> Floats:
    """Relative squared residual of the best r of the columns, or of 200 cluster means, for r = 1 … `most`."""
    rng = check_generator(random_state)
    search = Search.prepare(data, 1, "none", rng, n_jobs)
    C: Floats = search.choice
    w: Floats = np.ones(search.n)
    if search.n > 4 * CLUSTERS:
        C, w = cluster_means(C, bisecting_clusters(C, 2 * CLUSTERS))
    total = float(w @ np.einsum("ij,ij->j", C, C))
    products = C.T @ C
    values: list[float] = []
    last: Ints = np.empty(0, np.intp)
    for r in range(1, min(most, *C.shape) + 1):
        search.r = r
        try:
            starts = list(search.starts(("spa", "xray", "snpa"), C).values())
        except ValueError:
            break  # fewer columns explain everything
        if r > 1:
            misfit = w * column_misfit(C, last)
            misfit[last] = -1.0
            starts.append(np.append(last, int(np.argmax(misfit))))
        answers = [exchange_anchors(C, C, s, w, products=products, n_jobs=n_jobs) for s in starts]
        best = min(answers, key=lambda answer: answer.residual)
        last = best.anchors
        values.append(max(best.residual / total, np.finfo(np.float64).eps))
    return np.array(values)


def column_misfit(C: Floats, anchors: Ints) -> Floats:
    """Squared misfits of the columns."""
    W = C[:, anchors]
    H, E = np.zeros((C.shape[1], len(anchors))), np.empty(C.shape[1])
    squares = np.einsum("ij,ij->j", C, C)
    kernels.solve(W.T @ W, np.ascontiguousarray(C.T @ W), squares, -1, H, E, 0, len(E), np.empty(4))
    return E


def spa_on_unit_sums(X: Floats, r: int, _seed: int) -> Ints:
    """SPA on columns divided by their sums of absolute values."""
    return spa(X, r, normalize="l1", negative="allow").anchors


GREEDY: dict[str, Callable[[Floats, int, int], Ints]] = {
    "spa": lambda X, r, _: spa(X, r, negative="allow").anchors,
    "snpa": lambda X, r, _: snpa(X, r, negative="allow").anchors,
    "xray": lambda X, r, _: xray(X, r, negative="allow").anchors,
    "vca": lambda X, r, seed: vca(X, r, random_state=seed, negative="allow").anchors,
    "nfindr": lambda X, r, seed: nfindr(X, r, random_state=seed, negative="allow").anchors,
    "preconditioned-spa": lambda X, r, _: preconditioned_spa(X, r, negative="allow").anchors,
    "spa on unit sums": spa_on_unit_sums,
}
