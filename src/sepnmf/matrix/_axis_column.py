"""A first column of numbers that is an axis, such as wavelengths, and no sample."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sepnmf._typing import Bools, Floats

LENGTHS = frozenset({"nm", "µm", "um", "nanometer", "nanometers", "micrometer", "micrometers", "micron"})
WAVELENGTHS = frozenset(
    {"wavelength", "wavelengths", "wellenlänge", "wellenlängen", "wellenlaenge", "lambda", "λ"}
)
OTHERS = frozenset(
    {"wavenumber", "wavenumbers", "wellenzahl", "wellenzahlen", "cm-1", "cm^-1", "cm⁻¹", "1/cm"}
    | {"raman shift", "shift", "frequency", "energy", "time", "retention time", "m/z", "mz", "2theta", "ppm"}
)
# A name, and a unit in brackets, behind a slash, or behind "in".
WITH_UNIT = re.compile(r"(.+?)\s*(?:\((.*)\)|\[(.*)\]|/(.*)|,(.*)|\s+in\s+(.*))")
WAVELENGTH = re.compile(r"(?<![\d.,])(\d+(?:[.,]\d+)?)\s*([a-zµ]+)\W*$")
LAST_WORD = re.compile(r"(.+?)\s+(\S+)")

LEAST_ROWS, STEP_TOLERANCE = 5, 1e-3


def axis_of(heading: str) -> tuple[bool, str | None]:
    """Return whether a heading names an axis, and the unit of its wavelengths; None if they are none."""
    text = " ".join(heading.replace("_", " ").split())
    name = folded(text)
    if name in LENGTHS:
        return True, text
    if name in WAVELENGTHS:
        return True, ""
    if name in OTHERS:
        return True, None
    match = WITH_UNIT.fullmatch(text)
    if match is None:
        match = LAST_WORD.fullmatch(text)
        if match is None or folded(match[2]) not in LENGTHS | OTHERS | {"s", "min", "hz", "ev"}:
            return False, None
    name, unit = folded(match[1]), next(part for part in match.groups()[1:] if part is not None)
    return name in WAVELENGTHS | OTHERS, unit.strip() if name in WAVELENGTHS else None


def wavelengths_in(names: Sequence[str]) -> tuple[tuple[float, ...], str]:
    """Return the wavelengths that names of bands end with, such as "450.2 nm", and their unit.

    There is one name at least. Empty if a name has none, if units differ, or if two wavelengths are equal.
    """
    if WAVELENGTH.search(folded(names[0])) is None:
        return (), ""
    found = [WAVELENGTH.search(folded(name)) for name in names]
    units = {match[2] for match in found if match is not None}
    if None in found or len(units) != 1 or not units <= LENGTHS:
        return (), ""
    values = tuple(float(match[1].replace(",", ".")) for match in found if match is not None)
    distinct = len(set(values)) == len(values) > 1 and max(values) < np.inf
    return (values, units.pop()) if distinct else ((), "")


def folded(text: str) -> str:
    """Return a text in lower case, with one spelling of each letter (there are two of µ and of ä)."""
    return unicodedata.normalize("NFC", text).casefold().replace("\u03bc", "\u00b5")


def names_rows(heading: str, M: Any) -> bool:
    """Return whether the first column of a table is an axis, by its heading or its equal steps."""
    return M.shape[1] > 1 and (axis_of(heading)[0] or (not issparse(M) and is_axis(M)))


def is_axis(M: Floats) -> bool:
    """Return whether the first column, and no other, rises or falls in equal steps."""
    if M.shape[1] < 2 or M.shape[0] < LEAST_ROWS or not has_equal_steps(M[:, :1])[0]:
        return False
    return not has_equal_steps(M[:, 1:]).any()


def has_equal_steps(columns: Floats) -> Bools:
    """Return which columns strictly rise or fall in equal steps."""
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.diff(columns.astype(np.float64, copy=False), axis=0)  # of whole numbers, no overflow
        mean = steps.mean(axis=0)
        known = np.isfinite(mean) & (mean != 0)  # the mean of the largest numbers is infinite
        return np.asarray(known & (np.abs(steps - mean) <= STEP_TOLERANCE * np.abs(mean)).all(axis=0))
