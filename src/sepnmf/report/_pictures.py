"""Images: the scene with marked anchors, and galleries with one image per anchor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sepnmf._markup import Markup, element, group, name
from sepnmf._typing import Floats
from sepnmf.report._png import (
    CATEGORIES,
    MISSING,
    OTHERS,
    Palette,
    categories,
    colours,
    data_uri,
    levels,
    palette_text,
    stretched,
)
from sepnmf.report._values import finite_range, shown

WIDEST, NARROWEST = 8.0, 0.25  # width relative to height of an image as it is displayed
UNITS = 500.0  # length of the longer side of a scene in SVG coordinates
DIGIT, HEIGHT = 12.5, 20.0  # width per digit and height of a label
DIRECTIONS = [(np.cos(angle), np.sin(angle)) for angle in np.deg2rad([-45, 45, -135, 135, 0, 180, -90, 90])]
DISTANCES = (19.0, 30.0, 44.0)
TOP = 99.5  # percentile at which the colour scale ends, so that outliers do not darken a map
NO_DATA = element("span", element("span", class_="patch none"), "no data", class_="missing")


@dataclass(frozen=True)
class Scale:
    """A colour scale: its ends, and whether values exceed it."""

    low: float
    high: float
    clipped: bool = False

    @classmethod
    def of(cls, image: Floats, *, from_zero: bool) -> "Scale":
        """Return the scale from the least to the largest value, or from zero to a percentile."""
        least, largest = finite_range(image)
        low = min(least, 0.0) if from_zero else least
        high = largest
        if from_zero and largest > low:
            high = float(np.percentile(image[np.isfinite(image)], TOP))
            high = high if high > low else largest
        return cls(low, high, high < largest)

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends of the scale, as text."""
        return shown(self.low, 3), ("≥ " if self.clipped else "") + shown(self.high, 3)

    def uri(self, image: Floats, palette: Palette) -> str:
        """Return an image in the colours of the scale."""
        return data_uri(levels(image, self.low, self.high), colours(palette))


def common_scale(scales: Sequence[Scale]) -> Scale:
    """Return the scale that includes all of them."""
    high = max(scale.high for scale in scales)
    clipped = any(scale.clipped for scale in scales if scale.high == high)
    return Scale(min(scale.low for scale in scales), high, clipped)


def gallery(
    images: Sequence[Floats],
    names: Sequence[str],
    palette: Palette,
    *,
    what: str,
    common: bool,
    full_shape: tuple[int, int],
    scene: Markup | None = None,
) -> Markup:
    """Return thumbnails and a large view of the chosen image, next to the scene if there is one.

    If `common`, all have one colour scale, from zero, and a script can give each its own. Otherwise each
    has its own, from its least to its largest value.
    """
    own = [Scale.of(image, from_zero=common) for image in images]
    scales = [common_scale(own)] * len(own) if common else own
    pictures = [coloured(image, palette, *both) for image, *both in zip(images, scales, own, strict=True)]
    large = view(
        element("strong", name(names[0]), class_="chosen"),
        frame(images[0].shape, image_of(pictures[0][0], f"{what} of anchor {names[0]}")),
        scale_bar(scales[0], palette, missing=any_missing(images)),
        images[0].shape,
        full_shape,
        scales[0],
        class_="view large",
    )
    thumbs = (
        element(
            "li",
            element(
                "button",
                thumbnail(image, uri),
                element("span", name(label)),
                type="button",
                aria_pressed="true" if i == 0 else "false",
                data_low=scale.low,
                data_high=scale.high,
                data_ends="|".join(scale.ends),
                data_palette=other_palette if common else None,
            ),
        )
        for i, (image, (uri, other_palette), scale, label) in enumerate(
            zip(images, pictures, own, names, strict=True)
        )
    )
    return element(
        "div",
        element("div", scene, large, class_="views"),
        element("ul", thumbs, class_="thumbs", role="list", aria_label=f"{what}: choose an anchor"),
        class_="gallery",
        data_what=what,
    )


def coloured(image: Floats, palette: Palette, scale: Scale, other: Scale) -> tuple[str, str]:
    """Return an image on one colour scale, and the palette that puts it on another.

    Its levels span its own values, so that either scale shows them all.
    """
    least, largest = finite_range(image)
    span = max(least, min(scale.low, other.low)), min(largest, max(scale.high, other.high))
    here, there = (stretched(palette, span, each.low, each.high) for each in (scale, other))
    return data_uri(levels(image, *span), here), palette_text(there)


def value_map(title: str, image: Floats, palette: Palette, full_shape: tuple[int, int]) -> Markup:
    """Return one image with its colour scale, from zero."""
    scale = Scale.of(image, from_zero=True)
    return view(
        element("strong", title),
        frame(image.shape, image_of(scale.uri(image, palette), f"{title} of every pixel")),
        scale_bar(scale, palette, missing=any_missing([image])),
        image.shape,
        full_shape,
        scale,
    )


@dataclass(frozen=True, eq=False)
class Categories:
    """An image of categories: palette entries, and for each of these the colour, name and share of pixels."""

    entries: NDArray[np.uint8]
    shares: list[tuple[str, str, float]]

    @classmethod
    def of(cls, image: Floats, names: Sequence[str]) -> "Categories":
        """Give the categories of an image, indices of names, their colours.

        Up to eight have colours of their own: if there are more, those with most pixels.
        """
        known = image[np.isfinite(image)].astype(int)
        counts = np.bincount(known, minlength=len(names))
        own = np.sort(np.argsort(-counts, kind="stable")[: len(CATEGORIES)])
        slots = np.full(len(names), len(own))
        slots[own] = np.arange(len(own))
        entries = np.full(image.shape, MISSING, np.uint8)
        entries[np.isfinite(image)] = slots[known]
        total = max(len(known), 1)
        shares = [(CATEGORIES[i], names[k], counts[k] / total) for i, k in enumerate(own)]
        rest = len(names) - len(own)
        if rest:
            share = (len(known) - counts[own].sum()) / total
            shares.append((OTHERS, f"{rest} other{'s' if rest > 1 else ''}", share))
        return cls(entries, shares)


def category_map(title: str, image: Floats, names: Sequence[str], full_shape: tuple[int, int]) -> Markup:
    """Return an image of categories, given as indices of names, with a legend."""
    found = Categories.of(image, names)
    items = [
        element(
            "li",
            element("span", class_="patch", style=f"background:#{colour}"),
            name(label),
            element("span", f"{share:.1%}".replace("%", "\u00a0%"), class_="share"),
            data_colour=colour,
        )
        for colour, label, share in found.shares
    ]
    if any_missing([image]):
        items.append(element("li", NO_DATA))
    said = "; ".join(f"{label}, {share:.1%}" for _, label, share in found.shares)
    uri = data_uri(found.entries, categories([colour for colour, _, _ in found.shares]))
    return view(
        element("strong", title),
        frame(image.shape, image_of(uri, f"{title} of every pixel: {said}")),
        element("ul", items, class_="categories", role="list"),
        image.shape,
        full_shape,
    )


def view(
    title: Markup,
    picture: Markup,
    key: Markup,
    shape: tuple[int, ...],
    full_shape: tuple[int, int],
    scale: Scale | None = None,
    class_: str = "view",
) -> Markup:
    """Return an image with a title above it, its key below it, and a place for the value at the pointer."""
    return element(
        "figure",
        element("figcaption", title, class_="title"),
        picture,
        key,
        element("p", class_="readout", aria_live="off"),
        class_=class_,
        style=width_limit(shape),
        data_lines=full_shape[0],
        data_samples=full_shape[1],
        data_low=None if scale is None else scale.low,
        data_high=None if scale is None else scale.high,
        data_ends=None if scale is None else "|".join(scale.ends),
    )


def scale_bar(scale: Scale, palette: Palette, *, missing: bool) -> Markup:
    """Return a colour bar with the numbers at its ends, and a key for missing values if there are any."""
    every_level = np.arange(MISSING, dtype=np.uint8)[None, :]
    return element(
        "div",
        element("span", scale.ends[0], class_="low"),
        element("img", src=data_uri(every_level, colours(palette)), alt="Colour scale, from low to high"),
        element("span", scale.ends[1], class_="high"),
        NO_DATA if missing else None,
        class_="scale",
    )


def any_missing(images: Sequence[Floats]) -> bool:
    """Return whether an image has missing values."""
    return any(bool(np.isnan(image).any()) for image in images)


def marked_scene(picture: Floats, points: Sequence[tuple[float, float]], names: Sequence[str]) -> Markup:
    """Return the scene in grey with numbered marks at the anchors, given as (x, y) from 0 to 1."""
    ratio = display_ratio(picture.shape)
    width, height = UNITS * min(ratio, 1.0), UNITS / max(ratio, 1.0)
    places = [(x * width, y * height) for x, y in points]
    marks = (
        mark(i, at, label, text)
        for i, (at, label, text) in enumerate(
            zip(places, place_labels(places, width, height), names, strict=True), 1
        )
    )
    drawing = element(
        "svg",
        marks,
        viewBox=f"0 0 {width:.6g} {height:.6g}",
        class_="marks",
        role="img",
        aria_label="Places of the anchors: " + "; ".join(names),
    )
    uri = Scale.of(picture, from_zero=False).uri(picture, "gray")
    return element(
        "figure",
        element("figcaption", element("strong", "The scene"), class_="title"),
        frame(picture.shape, group(image_of(uri, "The scene in grey"), drawing)),
        element("div", NO_DATA, class_="scale") if any_missing([picture]) else None,
        class_="view scene",
        style=width_limit(picture.shape),
    )


def mark(number: int, at: tuple[float, float], label: tuple[float, float, bool], text: str) -> Markup:
    """Return a ring around an anchor, its number next to it, and a line between them."""
    (x, y), (u, v, free) = at, label
    line = element("line", x1=f"{x:.1f}", y1=f"{y:.1f}", x2=f"{u:.1f}", y2=f"{v:.1f}")
    ring = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=6)
    written = element("text", number, x=f"{u:.1f}", y=f"{v:.1f}", dy="0.35em")
    parts = element("title", text), line, ring, written
    return element("g", parts, data_anchor=number - 1, class_=None if free else "crowded")


def place_labels(
    points: Sequence[tuple[float, float]], width: float, height: float
) -> list[tuple[float, float, bool]]:
    """Return the centres of the labels, near their points, and whether each label overlaps no other."""
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in points]
    placed = []
    for number, (x, y) in enumerate(points, 1):
        half = DIGIT * len(str(number)) / 2
        best, fewest, taken_by = (x, y), len(points) * 4, (x, y, x, y)
        for distance in DISTANCES:
            for dx, dy in DIRECTIONS:
                u, v = x + distance * dx, y + distance * dy
                box = (u - half, v - HEIGHT / 2, u + half, v + HEIGHT / 2)
                outside = box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height
                overlaps = sum(meet(box, other) for other in taken)
                if not outside and overlaps < fewest:
                    best, fewest, taken_by = (u, v), overlaps, box
            if fewest == 0:
                taken.append(taken_by)
                break
        placed.append((*best, fewest == 0))
    return placed


def meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    """Return whether two boxes (left, top, right, bottom) overlap."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def display_ratio(shape: tuple[int, ...]) -> float:
    """Return the width of a displayed image relative to its height: pixels of a strip are stretched."""
    lines, samples = shape
    return min(max(samples / lines, NARROWEST), WIDEST)


def is_stretched(shape: tuple[int, ...]) -> bool:
    """Return whether the pixels of an image are not displayed as squares."""
    lines, samples = shape
    return display_ratio(shape) != samples / lines


def frame(shape: tuple[int, ...], content: Markup) -> Markup:
    """Return a box with the aspect ratio in which an image is displayed."""
    return element("div", content, class_="frame", style=f"aspect-ratio:{display_ratio(shape):.6g}")


def width_limit(shape: tuple[int, ...]) -> str:
    """Return a style that limits the width of an image so that it is not higher than the screen."""
    return f"--wide:{display_ratio(shape):.6g}"


def image_of(uri: str, alt: str) -> Markup:
    """Return an image that is enlarged without smoothing."""
    return element("img", src=uri, alt=alt, class_="pixels")


def thumbnail(image: Floats, uri: str) -> Markup:
    """Return a small image in its box."""
    box = element("span", image_of(uri, ""), class_="small", style=width_limit(image.shape))
    return element("span", box, class_="box")
