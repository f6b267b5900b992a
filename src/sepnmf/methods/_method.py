"""Method: what is true of a method, in one record, and the way every call of it takes."""

import functools
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, TypeVar

from sepnmf._typing import ArrayLike
from sepnmf._validation import check_rank, shown, without_rng
from sepnmf.matrix import MatrixLike, as_matrix, check_counts, known_columns
from sepnmf.methods._screening import choose_among_candidates
from sepnmf.selection import Selection

LIMITS = ("max_outer", "max_iter")  # what methods call the largest number of iterations

F = TypeVar("F", bound=Callable[..., Selection])


@dataclass(frozen=True, eq=False)
class Method:
    """A method, and what has to be known to choose it, run it and show it.

    Attributes
    ----------
    function : callable
        ``function(M, r, **options)`` chooses r columns of a matrix in memory. Its name is the method's name,
        and the parameters behind M and r are its options. It is given the options `include` and `exclude`, if
        it has them, as positions of columns.
    summary : str
        What it does, in a few words.
    use : str
        When to use it.
    cost : str
        What it costs in m, n and r.
    sparse : bool
        Whether it takes sparse data. Every method takes dense data and data in chunks.
    square : bool
        Whether its coefficients are n × n, so that a few hundred columns represent the others in chunks.
    quick_up_to : int or None
        Number of columns beyond which it takes minutes, so that a comparison runs it only when it is named.
    stoppable : bool
        Whether a true answer of the callback ends the run with what it has.
    chunks : {"exactly", "screened"}
        Whether data in chunks are chosen from exactly as in memory, or among candidates that are screened.
    in_chunks : callable or None
        ``in_chunks(matrix, r, **options)`` chooses from data in chunks. None: candidates are screened,
        `function` chooses among them, and the choice is improved on all columns.
    """

    function: Callable[..., Selection]
    summary: str
    use: str
    cost: str
    sparse: bool = True
    square: bool = False
    quick_up_to: int | None = None
    stoppable: bool = False
    chunks: Literal["exactly", "screened"] = "screened"
    in_chunks: Callable[..., Selection] | None = None

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.function.__name__

    @cached_property
    def options(self) -> Mapping[str, inspect.Parameter]:
        """The parameters behind M and r."""
        return dict(list(inspect.signature(self.function).parameters.items())[2:])

    @property
    def required(self) -> tuple[str, ...]:
        """The options that have no default."""
        return tuple(name for name, option in self.options.items() if option.default is option.empty)

    @property
    def takes_known(self) -> bool:
        """Whether columns can be included and excluded."""
        return "include" in self.options

    def default(self, option: str, otherwise: Any = None) -> Any:
        """Return the default of an option; `otherwise` if the method has no such option."""
        return self.options[option].default if option in self.options else otherwise

    def iteration_limit(self, options: Mapping[str, Any]) -> int | None:
        """Return the largest number of iterations with these options, None if the method does not iterate."""
        name = next((name for name in LIMITS if name in self.options), None)
        return None if name is None else options.get(name, self.default(name))

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse options that the method does not know, and the lack of those that it needs."""
        for name in options:
            if name not in self.options:
                known, close = ", ".join(self.options), get_close_matches(name, self.options)
                rest = (
                    f": did you mean {' or '.join(close)}? It takes {known}."
                    if close
                    else f", which takes {known}."
                )
                raise ValueError(f"{name!r} is not an option of method {self.name!r}{rest}")
        missing = [name for name in self.required if name not in options]
        if missing:
            raise ValueError(
                f"method {self.name!r} needs the option(s) {', '.join(missing)}, which have no default."
            )

    def facts(self) -> dict[str, Any]:
        """Return what a table of methods shows."""
        fields = ("summary", "use", "cost", "sparse", "square", "chunks", "stoppable")
        return {
            "method": self.name,
            **{name: getattr(self, name) for name in fields},
            "required": list(self.required),
            "options": [name for name in self.options if name not in self.required],
        }

    def __call__(
        self,
        M: MatrixLike,
        r: int,
        *args: Any,
        mask: ArrayLike | None = None,
        row_mask: ArrayLike | None = None,
        **options: Any,
    ) -> Selection:
        """Choose r columns of M, whatever holds it, among those that a mask keeps."""
        began = time.perf_counter()
        options = dict(without_rng(self.function, (M, r, *args), options))
        callback = options.get("callback")
        if callback is not None and not callable(callback):
            raise ValueError(f"callback must be callable, got {shown(callback)}.")
        negative = options.get("negative", self.default("negative", "error"))
        given = as_matrix(M, negative, mask=mask, row_mask=row_mask)
        r = check_rank(r, given.shape[1])
        matrix = given.bare().with_few_rows()
        if given.columns is not None:
            options = given.columns.used_options(options)
        if self.takes_known:
            known = known_columns(given, matrix, options.get("include", ()), options.get("exclude", ()))
            check_counts(known, r, matrix.shape[1])
            options |= vars(known)
        if not matrix.lazy:
            sel = self.function(matrix, r, *args, **options)
        elif self.in_chunks is not None:
            sel = self.in_chunks(matrix, r, *args, **options)
        else:
            sel = choose_among_candidates(self, matrix, r, args, options)
        sel = replace(sel, method=self.name, seconds=time.perf_counter() - began)
        return sel if given.columns is None else sel.among(given.columns)


def method(**facts: Any) -> Callable[[F], F]:
    """Make a function a method: its calls go through a `Method` with these facts, its attribute `method`."""

    def decorate(function: F) -> F:
        record = Method(function, **facts)

        @functools.wraps(function)
        def public(M: MatrixLike, r: int, *args: Any, **options: Any) -> Selection:
            return record(M, r, *args, **options)

        public.method = record  # type: ignore[attr-defined]
        return public  # type: ignore[return-value]

    return decorate
