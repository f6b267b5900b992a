"""HTML as nested calls. Whatever is not `Markup` is escaped: text from a user's file never becomes a tag."""

import html
import json
import re
from collections.abc import Iterable
from typing import Any

# Control characters and halves of surrogate pairs (Python's way with undecodable file names).
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
VOID = {"img", "link", "meta"}


class Markup(str):
    """Text that is HTML. Only the functions of this file make it; a sum or format of it is text again."""

    __slots__ = ()


def printable(text: str) -> str:
    """The text with what no page may hold replaced by �."""
    return UNPRINTABLE.sub("\ufffd", text)


def escaped(child: Any) -> str:
    """HTML of a child: markup as it is, text escaped, nothing of None, the parts of an iterable."""
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, Iterable) and not isinstance(child, str):
        return "".join(map(escaped, child))
    return html.escape(printable(str(child)))


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """One element; `class_` and `aria_label` become class and aria-label, True a bare attribute.

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
    """Elements in a row."""
    return Markup(escaped(children))


def name(text: str) -> Markup:
    """A name from the user's data: its writing direction ends where it ends."""
    return element("bdi", text)


def asset(tag: str, text: str) -> Markup:
    """A style sheet or script of ours, not escaped."""
    if f"</{tag}" in text or "<!--" in text:
        raise ValueError(f"this text would end its <{tag}> early.")
    return Markup(f"<{tag}>{text}</{tag}>")


def data_block(value: Any) -> Markup:
    """JSON for the script to read; it cannot end its element early, because < is written as its code."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json">{text}</script>')
