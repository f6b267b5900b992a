"""How many anchors the data hold, with the evidence, or that they cannot tell."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepnmf._descent import noise_variance, squared_spectrum, white_rank
from sepnmf._display import as_html, line_chart, plot_numbers
from sepnmf._typing import ArrayLike, Floats, Ints, Seed
from sepnmf._validation import accepts_rng, check_count
from sepnmf.least_squares import unexplained
from sepnmf.matrix import InMemory, MatrixLike, Negative, as_matrix
from sepnmf.methods import spa
from sepnmf.tuning._auto import auto, finished
from sepnmf.tuning._residual_curve import residual_curve

FEWEST = 8  # singular values; fewer do not tell noise from the rest
MANY = 100  # singular values; more stand out of noise that is not white, such as that of counts
AUTO = 25  # anchors up to which auto is asked whether so many explain the data
STRONG = 3  # times what late anchors gain
AROUND, MOST_SHOWN = 3, 15  # rows of a printed table: numbers on both sides of the estimate, and in all
EXACT = 1e-6  # fraction of the norm of the data that is called nothing


@dataclass(frozen=True, eq=False)
class RankEstimate:
    """What the data say about the number of anchors.

    Attributes
    ----------
    low, high : int
        It lies between these; when they differ, the data cannot tell.
    evidence : str
        One sentence: what was looked at and what it showed.
    curve : dict of str to ndarray
        Something to plot against "r", or against the "index" of the singular value.
    """

    low: int
    high: int
    evidence: str
    curve: dict[str, Any]

    @property
    def certain(self) -> bool:
        """Whether the data leave one number."""
        return self.low == self.high

    def __repr__(self) -> str:
        return f"RankEstimate(low={self.low}, high={self.high}, evidence={self.evidence!r})"

    def __str__(self) -> str:
        """The explanation and, below it, what the numbers of anchors near the estimate leave unexplained."""
        first, left = max(self.low - AROUND, 1), self.unexplained()[: self.high + AROUND]
        rows = [f"{r:3}  {share:>11.1%}" for r, share in enumerate(left[first - 1 :], first)][:MOST_SHOWN]
        return "\n".join([self.explanation, *(["  r  unexplained", *rows] if rows else [])])

    def plot(self, ax: Any = None) -> Any:
        """Draw what 1, 2, … anchors leave unexplained, with a band over the numbers that are estimated.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If the data were too few for a curve.
        """
        r, left = self.shown_curve()
        if not r.size:
            raise ValueError("There is no curve to plot: the data are too few.")
        return plot_numbers(ax, r, left, (self.low, self.high))

    def _repr_html_(self) -> str:
        """Return the estimate, why, and a chart of what is unexplained, for a notebook."""
        number = str(self.low) if self.certain else f"{self.low} to {self.high}"
        r, left = self.shown_curve()
        said = "What is unexplained against the number of anchors; the estimate in blue."
        charts = [line_chart(r, left, (self.low, self.high), said)] if r.size else []
        return as_html(f"Number of anchors: {number}", charts, [self.explanation, self.evidence])

    def shown_curve(self) -> tuple[Floats, Floats]:
        """Return numbers of anchors, up to beyond the estimate, and what they leave unexplained."""
        left = self.unexplained()[: max(self.high + AROUND, MOST_SHOWN)]
        return np.arange(1.0, len(left) + 1), left

    @property
    def explanation(self) -> str:
        """One sentence for a reader who does not know the method: why this number of anchors.

        Percentages refer to the norm of the data. They are those of the best directions, or of averages of
        similar columns, and so near to those of the anchors, not equal to them.
        """
        low, high, left = self.low, self.high, self.unexplained()
        number = f"{low} anchor{'s' if low > 1 else ''}" if self.certain else f"{low} to {high} anchors"
        if not left.size:
            return f"{number}: the data are too few to tell."
        if high >= len(left) or left[high - 1] <= EXACT:
            return f"{number}: {'they' if high > 1 else 'it'} can explain all of the data."
        before, after = in_percent(left[high - 1], left[high])
        gain = f"one more would reduce what is unexplained only from about {before} to {after}"
        if "edge" in self.curve:
            if self.curve["squared_singular_value"][0] <= self.curve["edge"][0]:
                return f"{number}: the data look like noise alone."
            return f"{number}: {gain}, no more than in noise alone."
        if self.certain:
            return f"{number}: {gain}."
        most, _ = in_percent(left[low - 1], left[high - 1])
        return (
            f"{number}: {low} leave about {most} of the data unexplained, {high} leave {before}, and one "
            f"more gains little ({after})."
        )

    def unexplained(self) -> Floats:
        """What the best 1, 2, … directions or columns leave of the norm of the data, as a fraction."""
        if "relative_residual" in self.curve:
            rest: Floats = self.curve["relative_residual"]
        else:
            squares: Floats = np.asarray(self.curve.get("squared_singular_value", ()))
            rest = np.cumsum(np.append(squares, 0.0)[::-1])[-2::-1] / (squares.sum() or 1.0)
        return rest**0.5


def in_percent(before: float, after: float) -> tuple[str, str]:
    """Return two fractions in percent, with as many digits as they need to differ, from one to three."""
    for digits in (1, 2, 3):
        texts = f"{before:.{digits}%}", f"{after:.{digits}%}"
        if texts[0] != texts[1]:
            break
    return texts


@accepts_rng
def estimate_rank(
    M: MatrixLike,
    *,
    most: int = 15,
    negative: Negative = "error",
    random_state: Seed = 0,
    n_jobs: int | None = None,
    mask: ArrayLike | None = None,
    row_mask: ArrayLike | None = None,
) -> RankEstimate:
    """Estimate how many anchors explain M, or between which numbers that lies.

    If the singular values behind the k-th look like white noise (a test after Kritchman and Nadler), there
    are k directions, and r is the least number from k on of anchors that leave no more than noise of that
    strength does in the columns and, with their weights, in the anchors: mσ² Σ_j (1 + ‖h_j‖²). If nothing
    looks like noise, as in most measured scenes, the residual of the best r columns against r is all there
    is: from its sharpest bend to the last anchor that gains three times what the late ones do.

    Parameters
    ----------
    M : matrix_like of shape (m, n)
        Data; the columns are taken as they are. Of data in chunks, a random sample of twenty thousand
        columns is looked at.
    most : int, default 15
        Largest number looked at where there is no white noise.
    negative : {"error", "clip", "allow"}, default "error"
        What to do with negative entries of M: refuse them, set them to zero, or keep them.
    random_state : None, int, numpy.random.Generator or numpy.random.SeedSequence, default 0
    n_jobs : int, optional
        Threads, by default all cores.
    mask : array_like of bool of shape (n,), optional
        Whether each column is used.
    row_mask : array_like of bool of shape (m,), optional
        Whether each row is used.

    Returns
    -------
    RankEstimate

    References
    ----------
    S. Kritchman and B. Nadler, "Non-parametric detection of the number of signals", IEEE Trans. Signal
    Process. 57 (2009).

    Examples
    --------
    >>> import sepnmf
    >>> M, _ = sepnmf.datasets.make_dirichlet(noise=0.02, r=7, random_state=0)
    >>> estimate = sepnmf.estimate_rank(M, negative="allow")
    >>> estimate.low, estimate.high
    (7, 7)
    """
    check_count(most, "most", least=2)
    data = as_matrix(M, negative, mask=mask, row_mask=row_mask).bare().sampled(random_state).in_range()
    m, n = data.height, data.shape[1]
    options: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs}
    squares = squared_spectrum(data)
    k, edges = white_rank(squares, m, n) if squares is not None else (min(m, n), np.empty(0))
    if squares is not None and k < len(squares) and (len(squares) >= FEWEST or squares[k] == 0):
        spectrum = {"index": np.arange(1, len(squares) + 1), "squared_singular_value": squares, "edge": edges}
        if k == 0:
            return RankEstimate(1, 1, "No singular value stands out of white noise.", spectrum)
        noise = m * noise_variance(squares, m, n, k)
        believable = (2 * k <= len(squares) and k <= MANY) or noise == 0
        for r in range(k, min(k + max(3, k // 4), n) + 1) if believable else ():
            for anchors in answers(data, r, options):
                left = unexplained(data, data.take(anchors))
                # The anchors' noise is the same for all columns: r columns of it, of so uncertain a strength.
                slack = 1 + 4 * np.sqrt(2 / (m * r))
                weight = n + slack * left.squared_weights
                if left.residual <= noise * weight + 1e-10 * float(squares.sum()):
                    evidence = f"{k} singular values stand out of noise, and {r} columns explain them."
                    return RankEstimate(r, r, evidence, spectrum)
    if min(m, n) < FEWEST:
        return RankEstimate(1, min(m, n), "The data are too few to tell.", {})
    residuals = residual_curve(data, most, random_state, n_jobs)
    curve = {"r": np.arange(1, len(residuals) + 1), "relative_residual": residuals}
    gains = np.log(residuals[:-1] / residuals[1:])  # of anchors 2, 3, …
    if len(gains) < 2:
        return RankEstimate(1, len(residuals), "One or two columns explain everything.", curve)
    late = float(np.median(gains[len(gains) // 2 :]))
    strong = np.flatnonzero(gains > STRONG * late)
    high = int(strong[-1]) + 2 if strong.size else 1
    low = min(int(np.argmax(gains[:-1] - gains[1:])) + 2, high)
    evidence = "Nothing is white noise; the residual bends at the least and gains little after the largest."
    return RankEstimate(low, high, evidence, curve)


def answers(data: InMemory, r: int, options: dict[str, Any]) -> Iterator[Ints]:
    """Give r anchors by a fast method and, if these do not do and are not very many, by `auto`."""
    with suppress(ValueError):  # SPA needs as many directions as anchors
        yield spa(data, r, negative="allow").anchors
    if r <= AUTO:
        yield finished(auto(data, r, negative="allow", normalize="none", noise="white", **options)).anchors
