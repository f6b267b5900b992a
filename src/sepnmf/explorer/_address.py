"""How a person writes a column: its name, its number, or the line and sample of a pixel."""

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
        column = data.column_of(text)
        if column is None:
            raise ValueError(f"There is no pixel {text!r}: write line:sample, counted from 0.")
        return column
    if text.isdecimal() and int(text) < n:
        return int(text)
    raise ValueError(f"There is no column {text!r}: write a name, or a number below {n}, counted from 0.")
