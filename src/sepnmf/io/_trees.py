"""A check of the trees in an HDF5 file that lead to the members of a group and to the chunks of a dataset."""

import re
import struct
from collections.abc import Iterable

BEGIN = re.compile(rb"TREE[\x00\x01]")
NODE = struct.Struct("<16xQ")  # what a node begins with, and the address of the next one of its level


def check_trees(blocks: Iterable[tuple[int, bytes]], base: int) -> None:
    """Refuse nodes that follow one another in a cycle, which the library would not leave.

    A block is a place of the file and what is there, with at least a node less a byte of the next block.
    """
    following: dict[int, int] = {}
    for start, block in blocks:
        for found in BEGIN.finditer(block):
            if found.start() + NODE.size <= len(block):
                following[start + found.start()] = base + NODE.unpack_from(block, found.start())[0]
    while following:
        place, after = following.popitem()
        passed = {place}
        while after in following:
            passed.add(after)
            after = following.pop(after)
        if after in passed:
            raise ValueError("a tree of names or chunks is damaged")
