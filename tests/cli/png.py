"""Reads the PNG pictures that `fovea` writes, and refuses what is not as the standard says."""

import struct
import zlib

import numpy as np


def read(content):
    """The colours of all pixels, (height, width, 3)."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = [], 8
    while at < len(content):
        size, = struct.unpack(">I", content[at:at + 4])
        named = content[at + 4:at + 8 + size]
        assert struct.unpack(">I", content[at + 8 + size:at + 12 + size]) == (zlib.crc32(named),)
        chunks.append((named[:4], named[4:]))
        at += 12 + size
    assert [name for name, _ in chunks] == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[0][1])
    assert kind == [8, 3, 0, 0, 0] and chunks[3][1] == b""
    palette = np.frombuffer(chunks[1][1], np.uint8).reshape(-1, 3)
    rows = np.frombuffer(zlib.decompress(chunks[2][1]), np.uint8).reshape(height, width + 1)
    assert (rows[:, 0] == 2).all()  # each row is the difference to the row before
    places = np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8)
    return palette[places]
