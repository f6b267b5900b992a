"""What a view of the columns tells its window."""

from collections.abc import Callable
from typing import NamedTuple

from sepnmf._typing import Bools


class Pointing(NamedTuple):
    """Functions that a view calls.

    Attributes
    ----------
    on_point, on_choose : callable
        Get the column under the pointer, and one that was clicked.
    on_draw : callable
        Gets which of the shown columns are in an area that was drawn.
    soon : callable
        Gets a function that changes a figure, and calls it when figures can be changed.
    """

    on_point: Callable[[int], None]
    on_choose: Callable[[int], None]
    on_draw: Callable[[Bools], None]
    soon: Callable[[Callable[[], None]], None]
