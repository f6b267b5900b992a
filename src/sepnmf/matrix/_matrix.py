"""The protocol: what every matrix answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from sepnmf._typing import Floats, Ints, Seed
from sepnmf.matrix._columns import Columns

if TYPE_CHECKING:
    from sepnmf.matrix._dense import InMemory

Negative = Literal["error", "clip", "allow"]
Normalization = Literal["none", "l1", "sqrt"]


class Matrix(ABC):
    """A matrix of real numbers whose columns are to be chosen among.

    There are three implementations: `Dense`, `Sparse` (both in memory) and `Chunked` (read a few columns at a
    time). A matrix is never changed: what is done to its entries gives another matrix. Whatever is done to
    columns as they are read (negative entries set to zero, division by their sums, by a power of two, by a
    noise model, rows left out) is a function from a few columns to a few columns, so that all three carry it.

    Attributes
    ----------
    lazy : bool
        Whether the entries are read in chunks, and checked while they are read.
    scale : float
        What the entries were divided by, so that their squares stay in the floating-point range.
    columns : Columns or None
        The columns as the caller knows them: which of them are used, and their names. None if these are all.
        `shape`, `take` and everything else here count the used columns only.
    """

    lazy: ClassVar[bool] = False
    scale: float = 1.0
    columns: Columns | None = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The floating-point type whose precision the entries have."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """How the entries are stored, for a reader."""

    @property
    def eps(self) -> float:
        """Relative precision of the entries."""
        return float(np.finfo(self.dtype).eps)

    @property
    def given_columns(self) -> int:
        """Number of columns that the caller passed, used or not."""
        return self.shape[1] if self.columns is None else self.columns.count

    def positions(self, indices: Ints) -> Ints:
        """Return where columns with the caller's indices are among those that are used."""
        return indices if self.columns is None else self.columns.positions(np.asarray(indices))

    def at(self, indices: Ints) -> Floats:
        """Return columns with the caller's indices, as a dense array in float64."""
        return self.take(self.positions(indices))

    def spread(self, values: Floats) -> Floats:
        """Return values of the used columns as values of all that the caller passed, NaN for the others."""
        return values if self.columns is None else self.columns.spread(values, np.nan)

    @abstractmethod
    def with_columns(self, columns: Columns | None) -> Self:
        """Return the matrix with other knowledge about the caller's columns."""

    def named(self, name_of: Callable[[int], str]) -> Self:
        """Return the matrix with names for the caller's columns."""
        known = Columns(self.shape[1]) if self.columns is None else self.columns
        return self.with_columns(replace(known, name_of=name_of))

    def bare(self) -> Self:
        """Return the used columns without what the caller knows about them."""
        return self if self.columns is None else self.with_columns(None)

    @abstractmethod
    def take(self, columns: Ints) -> Floats:
        """Return these columns as a dense array in float64."""

    @abstractmethod
    def part(self, columns: Ints) -> "Matrix":
        """Return the matrix of these columns."""

    @abstractmethod
    def normalised(self, kind: str) -> "Matrix":
        """Return the matrix with columns divided by their l1 norms ("l1"), by the roots of these ("sqrt").

        Zero columns stay as they are, and so does everything if `kind` is "none".
        """

    @abstractmethod
    def sampled(self, random_state: Seed) -> "InMemory":
        """Return a random sample of the columns that fits into memory: all of them if they are there."""

    @abstractmethod
    def in_memory(self) -> "InMemory":
        """Return the matrix in memory; one that is read in chunks only if it is small."""

    @abstractmethod
    def extent(self) -> tuple[float, float, int]:
        """Return the smallest and the largest entry, and the number of zeros."""

    @abstractmethod
    def mean_row(self) -> Floats:
        """Return the mean of every column, in one array."""

    @abstractmethod
    def map_columns(self, function: Callable[["InMemory", int], Floats], rows: int, dtype: Any) -> Any:
        """Apply a function from columns, and the index of the first, to as many columns of `rows` entries.

        Returns an array with a column for each that the caller passed, NaN for those that are not used; of a
        matrix in chunks, a Dask array that is computed when it is asked for.
        """

    @abstractmethod
    def scan(self, *reducers: Any) -> tuple[Any, ...]:
        """Read all columns once, and return what each reducer makes of them."""

    @abstractmethod
    def checked_scan(self, *reducers: Any) -> "tuple[Matrix, tuple[Any, ...] | None]":
        """Read all columns once, and check their entries if that has not been done.

        Returns the matrix, divided by a power of two if squares would leave the floating-point range, and
        what the reducers make of it: None if the entries were divided, so that they have to be read again.
        """

    @property
    def is_tall(self) -> bool:
        """Whether the columns are few, and too long to be held, so that only their products are."""
        return False

    def refusing_negative(self, refuse: Callable[[Any], Any]) -> "Matrix":
        """Return the matrix; in chunks, one that calls `refuse` with the values of columns that are read."""
        return self

    def products_with(self, Q: Floats) -> Floats:
        """Return QᵀM of a matrix that is tall; one pass over its rows."""
        raise NotImplementedError

    def with_few_rows(self) -> "Matrix":
        """Return a matrix whose columns have the same lengths and angles, if they are too long to be held."""
        return self

    def dense(self) -> Floats:
        """Return all entries as one dense array, or say why that cannot be done."""
        return self.in_memory().dense()
