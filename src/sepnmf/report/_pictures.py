"""Images: the scene with marked anchors, and galleries with one image per anchor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sepnmf._typing import Floats
from sepnmf.report._markup import Markup, element, group, name
from sepnmf.report._png import Palette, data_uri, scale_uri
from sepnmf.report._values import finite_range, shown

UNITS = 500.0  # length of the longer side of a scene in SVG coordinates
DIGIT, HEIGHT = 12.5, 20.0  # width per digit and height of a label
DIRECTIONS = [(np.cos(angle), np.sin(angle)) for angle in np.deg2rad([-45, 45, -135, 135, 0, 180, -90, 90])]
DISTANCES = (19.0, 30.0, 44.0)
TOP = 99.5  # percentile at which the colour scale ends, so that outliers do not darken a map


@dataclass(frozen=True)
class Tinted:
    """A coloured image: its data URI, the ends of its colour scale, and whether values exceed the scale."""

    uri: str
    low: float
    high: float
    clipped: bool

    @classmethod
    def of(cls, image: Floats, palette: Palette, *, from_zero: bool) -> "Tinted":
        """Colour an image from its least to its largest value, or from zero to a percentile."""
        least, largest = finite_range(image)
        low = min(least, 0.0) if from_zero else least
        high = largest
        if from_zero and largest > low:
            high = float(np.percentile(image[np.isfinite(image)], TOP))
            high = high if high > low else largest
        return cls(data_uri(image, low, high, palette), low, high, high < largest)

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends of the colour scale, as text."""
        return shown(self.low, 3), ("≥ " if self.clipped else "") + shown(self.high, 3)


def gallery(
    images: Sequence[Floats],
    names: Sequence[str],
    palette: Palette,
    *,
    what: str,
    from_zero: bool,
    full_shape: tuple[int, int],
    scene: Markup | None = None,
) -> Markup:
    """Return thumbnails and a large view of the chosen image, next to the scene if there is one."""
    tinted = [Tinted.of(image, palette, from_zero=from_zero) for image in images]
    first = tinted[0]
    large = element(
        "figure",
        element("figcaption", element("strong", name(names[0]), class_="chosen"), class_="title"),
        frame(images[0].shape, image_of(first.uri, f"{what} of anchor {names[0]}")),
        element(
            "div",
            element("span", first.ends[0], class_="low"),
            element("img", src=scale_uri(palette), alt="Colour scale, from low to high"),
            element("span", first.ends[1], class_="high"),
            class_="scale",
        ),
        element("p", class_="readout", aria_live="off"),
        class_="view large",
        style=width_limit(images[0].shape),
    )
    thumbs = (
        element(
            "li",
            element(
                "button",
                image_of(picture.uri, ""),
                element("span", name(label)),
                type="button",
                aria_pressed="true" if i == 0 else "false",
                data_low=picture.low,
                data_high=picture.high,
                data_ends="|".join(picture.ends),
            ),
        )
        for i, (picture, label) in enumerate(zip(tinted, names, strict=True))
    )
    lines, samples = full_shape
    return element(
        "div",
        element("div", scene, large, class_="views"),
        element("ul", thumbs, class_="thumbs", role="list", aria_label=f"{what}: choose an anchor"),
        class_="gallery",
        data_what=what,
        data_lines=lines,
        data_samples=samples,
    )


def marked_scene(picture: Floats, points: Sequence[tuple[float, float]], names: Sequence[str]) -> Markup:
    """Return the scene in grey with numbered marks at the anchors, given as (x, y) from 0 to 1."""
    lines, samples = picture.shape
    unit = UNITS / max(lines, samples)
    width, height = samples * unit, lines * unit
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
    uri = Tinted.of(picture, "gray", from_zero=False).uri
    return element(
        "figure",
        element("figcaption", element("strong", "The scene, anchors marked"), class_="title"),
        frame(picture.shape, group(image_of(uri, "The scene in grey"), drawing)),
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


def frame(shape: tuple[int, ...], content: Markup) -> Markup:
    """Return a box with the aspect ratio of an image."""
    lines, samples = shape
    return element("div", content, class_="frame", style=f"aspect-ratio:{samples}/{lines}")


def width_limit(shape: tuple[int, ...]) -> str:
    """Return a style that limits the width of an image so that it is not higher than the screen."""
    lines, samples = shape
    return f"--wide:{samples / lines:.6g}"


def image_of(uri: str, alt: str) -> Markup:
    """Return an image that is enlarged without smoothing."""
    return element("img", src=uri, alt=alt, class_="pixels")
