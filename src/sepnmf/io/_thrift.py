"""The compact protocol of Thrift, in which the headers and the footer of a Parquet file are written."""

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12
MANY = 15  # a list of so many entries and more has their number in bytes of its own
DEEPEST = 32  # structures and lists in one another

Struct = dict[tuple[int, int], Any]  # values by the numbers and types of their fields


class Compact:
    """Bytes that are read one value after another."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place = content, 0

    def struct(self, depth: int = 0) -> Struct:
        """Return a structure; a number that two fields have is refused, as other readers may use either."""
        found: Struct = {}
        numbers: set[int] = set()
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            if number in numbers:
                raise ValueError("a structure has a field twice")
            numbers.add(number)
            kind = head & 15
            found[number, kind] = kind == TRUE if kind in (TRUE, FALSE) else self.value(kind, depth)
        return found

    def value(self, kind: int, depth: int) -> Any:
        """Return a value of a type."""
        if kind in (I16, I32, I64):
            return self.signed()
        if kind == BINARY:
            return self.bytes(self.number())
        if kind == STRUCT and depth < DEEPEST:
            return self.struct(depth + 1)
        if kind in (LIST, SET) and depth < DEEPEST:
            return self.list(depth + 1)
        if kind in (TRUE, FALSE, BYTE):  # in a list, a byte also says what is true
            return self.byte()
        if kind == DOUBLE:
            return self.bytes(8)
        raise ValueError(f"a structure has a value of the unknown type {kind}")

    def list(self, depth: int) -> list[Any]:
        """Return a list."""
        head = self.byte()
        count = head >> 4 if head >> 4 < MANY else self.number()
        if count > len(self.content) - self.place:  # each takes a byte or more
            raise ValueError("a list is longer than the file")
        return [self.value(head & 15, depth) for _ in range(count)]

    def bytes(self, count: int) -> bytes:
        """Return the next bytes."""
        if count > len(self.content) - self.place:
            raise ValueError("a structure is truncated")
        self.place += count
        return self.content[self.place - count : self.place]

    def byte(self) -> int:
        """Return the next byte as a number."""
        if self.place >= len(self.content):
            raise ValueError("a structure is truncated")
        self.place += 1
        return self.content[self.place - 1]

    def number(self) -> int:
        """Return an integer of variable length."""
        value = shift = 0
        while shift < 70:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
        raise ValueError("a structure has a number that is too long")

    def signed(self) -> int:
        """Return an integer whose last bit is its sign."""
        value = self.number()
        return value >> 1 ^ -(value & 1)
