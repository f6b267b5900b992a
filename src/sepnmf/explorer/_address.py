"""How a person writes a column: its name, its number, or the line and sample of a pixel."""

import numpy as np

from sepnmf.io import Data


def address(data: Data, column: int) -> str:
    """Return a column as it can be typed."""
    if data.image_shape is not None:
        return "{}:{}".format(*data.pixel(column))
    return data.column_names[column] if data.column_names else str(column)


def column_at(data: Data, text: str) -> int:
    """Return the index of a column that was typed.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    text, n = text.strip(), int(data.M.shape[1])
    if data.column_names and text in data.column_names:
        return data.column_names.index(text)
    if data.image_shape is not None:
        line, _, sample = text.partition(":")
        if line.isdecimal() and sample.isdecimal():
            place, sides = (int(line), int(sample)), data.image_shape
            if place[0] < sides[0] and place[1] < sides[1]:
                return int(np.ravel_multi_index(place, sides, order=data.image_order))
        raise ValueError(f"There is no pixel {text!r}: write line:sample, counted from 0.")
    if text.isdecimal() and int(text) < n:
        return int(text)
    raise ValueError(f"There is no column {text!r}: write a name, or a number below {n}, counted from 0.")
