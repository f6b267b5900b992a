"""HTML elements as nested function calls. Text that is not `Markup` is escaped."""

import html
import json
import re
from collections.abc import Iterable
from typing import Any

# Control characters and surrogates, which Python uses in file names that cannot be decoded.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
VOID = {"img", "link", "meta"}


class Markup(str):
    """HTML text. Only the functions of this file create it; a sum or a format of it is plain text."""

    __slots__ = ()


def printable(text: str) -> str:
    """Return the text with characters that HTML does not allow replaced by �."""
    return UNPRINTABLE.sub("\ufffd", text)


def escaped(child: Any) -> str:
    """Return a child as HTML: markup unchanged, text escaped, None empty, an iterable concatenated."""
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, Iterable) and not isinstance(child, str):
        return "".join(map(escaped, child))
    return html.escape(printable(str(child)))


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element; `class_` and `aria_label` become class and aria-label, True a bare attribute.

    >>> element("p", "a < b", element("b", "c"), class_="note", hidden=True, id=None)
    '<p class="note" hidden>a &lt; b<b>c</b></p>'
    """
    parts = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        parts.append(key if value is True else f'{key}="{html.escape(printable(str(value)))}"')
    opening = f"<{' '.join(parts)}>"
    return Markup(opening if tag in VOID else f"{opening}{escaped(children)}</{tag}>")


def group(*children: Any) -> Markup:
    """Return several elements concatenated."""
    return Markup(escaped(children))


def name(text: str) -> Markup:
    """Return a name from the data, isolated so that its writing direction affects no other text."""
    return element("bdi", text)


def asset(tag: str, text: str) -> Markup:
    """Return a style sheet or script of this package, which is not escaped."""
    if f"</{tag}" in text or "<!--" in text:
        raise ValueError(f"this text would end its <{tag}> early.")
    return Markup(f"<{tag}>{text}</{tag}>")


def data_block(value: Any) -> Markup:
    """Return a block of JSON for the script; <, > and & are escaped so that it cannot end its element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json">{text}</script>')
