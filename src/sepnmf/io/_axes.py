"""Which axis of an array has the bands, the lines and the samples of an image."""

from collections.abc import Sequence

from sepnmf.matrix import SPECTRAL

AXES = {"b": "bands", "l": "lines", "s": "samples"}
DEFAULT = "lsb"
ASSUMED = "Axes are taken as"  # how the sentence begins that says so

# Names of dimensions, in lower case.
NAMES = {
    "b": {"b", *SPECTRAL},
    "l": {
        "l", "y", "lat", "latitude", "line", "lines", "row", "rows", "downtrack", "alongtrack", "along_track",
        "northing", "nlines", "nrows", "ydim", "y_dim", "scanline",
    },
    "s": {
        "s", "x", "lon", "longitude", "sample", "samples", "col", "cols", "column", "columns", "crosstrack",
        "cross_track", "acrosstrack", "across_track", "easting", "nsamples", "ncols", "xdim", "x_dim",
    },
}  # fmt: skip


def letter_of(name: object) -> str:
    """Return the letter of the axis that a name of a dimension stands for; empty if it is unknown."""
    word = str(name).rpartition("/")[2].strip().lower()
    return next((letter for letter, names in NAMES.items() if word in names), "")


def parse_axes(text: str) -> str:
    """Return the letters of axes given as "bands,lines,samples" in any order."""
    letters = "".join(letter_of(word) for word in str(text).split(","))
    if sorted(letters) != sorted(AXES):
        raise ValueError(
            "axes must be bands, lines and samples in the order of the array, such as bands,lines,samples, "
            f"got {str(text)[:60]!r}."
        )
    return letters


def axes_by_name(names: Sequence[object] | None) -> str:
    """Return the letters of dimensions with known names; empty if they do not determine the axes.

    Of three dimensions, one that is unknown is the axis that is left. If only the bands are known, lines come
    before samples. A matrix has bands and columns, which are called lines here.
    """
    letters = [letter_of(name) for name in names or ()]
    known = [letter for letter in letters if letter]
    if len(set(known)) < len(known):
        return ""
    if len(letters) == 2:
        if "b" not in letters:
            return ""
        return "bl" if letters[0] == "b" else "lb"
    if len(letters) != 3 or not ("b" in known or len(known) > 1):
        return ""
    missing = iter(letter for letter in "bls" if letter not in known)
    return "".join(letter or next(missing) for letter in letters)


def singletons(shape: Sequence[int], names: Sequence[object] | None) -> list[int]:
    """Return axes of one entry, such as a time, that an array of many named dimensions can lose."""
    if names is None:
        return []
    empty = [k for k, size in enumerate(shape) if size == 1 and not letter_of(names[k])]
    return empty[: max(len(shape) - 3, 0)]


def find_axes(
    shape: Sequence[int], axes: str | None = None, names: Sequence[object] | None = None
) -> tuple[str, tuple[str, ...]]:
    """Return the letters of the axes of a matrix or an image, and what is assumed.

    They are those given by the user, those that the names of the dimensions say, or a default. The letter of
    an axis of one entry that is left out is "-".
    """
    lost = singletons(shape, names)
    if lost:
        rest = [k for k in range(len(shape)) if k not in lost]
        letters, said = find_axes([shape[k] for k in rest], axes, [(names or ())[k] for k in rest])
        for k in lost:
            letters = f"{letters[:k]}-{letters[k:]}"
        return letters, said
    if axes is not None:
        if len(shape) != 3:
            raise ValueError(f"axes is for arrays of three dimensions, and this has shape {tuple(shape)}.")
        return parse_axes(axes), ()
    named = axes_by_name(names)
    if named:
        return named, ()
    if len(shape) == 2:
        return "bl", ()
    lines, samples, bands = shape
    sizes = f"{lines} × {samples} pixels, {bands} bands"
    return DEFAULT, (f"{ASSUMED} lines × samples × bands ({sizes}); --axes changes that.",)
