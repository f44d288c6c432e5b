"""Reads the pictures that `fovea` draws: pixels by cairo, cells by their frames, texts of PDFs."""

import base64
import ctypes
import ctypes.util
import re
import xml.dom.minidom
import zlib

import numpy as np

LEVELS = 128
STOPS = np.array([(255, 255, 255), (199, 222, 242), (122, 179, 222), (48, 122, 189), (13, 56, 122)])
GREY, FRAME, INK, PAPER = (0xB8, 0xB8, 0xB8), (0x88, 0x88, 0x88), (0x22, 0x26, 0x2E), (255, 255, 255)


def scale():
    """The colours of levels 0 to LEVELS."""
    places = np.arange(LEVELS + 1) / (LEVELS / 4)
    return np.stack([np.floor(np.interp(places, np.arange(5), STOPS[:, i]) + 0.5) for i in range(3)], 1).astype(np.uint8)


def pixels(path):
    """The colours of a PNG, (height, width, 3)."""
    cairo = ctypes.CDLL(ctypes.util.find_library("cairo") or "libcairo.so.2")
    for name in ("cairo_image_surface_create_from_png", "cairo_image_surface_get_data"):
        getattr(cairo, name).restype = ctypes.c_void_p
    with open(path, "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    surface = ctypes.c_void_p(cairo.cairo_image_surface_create_from_png(str(path).encode()))
    assert cairo.cairo_surface_status(surface) == 0
    width, height, stride = (getattr(cairo, "cairo_image_surface_get_" + name)(surface)
                             for name in ("width", "height", "stride"))
    data = ctypes.string_at(cairo.cairo_image_surface_get_data(surface), stride * height)
    cairo.cairo_surface_destroy(surface)
    rows = np.frombuffer(data, np.uint8).reshape(height, stride)[:, :4 * width]
    return rows.reshape(height, width, 4)[:, :, 2::-1] # blue, green, red, nothing


def frames(image):
    """(left, top, width, height) of what the grey frames hold, in the order of reading; the colour bar is the last."""
    grey = np.pad((image == FRAME).all(axis=2), 1)
    corners = grey[1:-1, 1:-1] & ~grey[:-2, 1:-1] & ~grey[1:-1, :-2] & grey[2:, 1:-1] & grey[1:-1, 2:]
    found = []
    for y, x in np.argwhere(corners):
        right = x + np.argmin(np.append(grey[y + 1, x + 1:-1], False))
        down = y + np.argmin(np.append(grey[y + 1:-1, x + 1], False))
        if right - x > 2 and down - y > 2:
            found.append((x + 1, y + 1, right - x - 2, down - y - 2))
    bar = max(found)
    return [frame for frame in found if frame != bar] + [bar]


def levels(colours):
    """The level of each colour, -1 for grey."""
    known = {tuple(colour): level for level, colour in enumerate(scale())}
    known[GREY] = -1
    return np.array([[known[tuple(colour)] for colour in row] for row in colours])


def cells(image, frame, shape):
    """The levels of the cells within a frame, each of which has one colour."""
    left, top, width, height = frame
    side = height // shape[0], width // shape[1]
    assert (side[0] * shape[0], side[1] * shape[1]) == (height, width), (frame, shape)
    grid = image[top:top + height, left:left + width]
    first = grid[::side[0], ::side[1]]
    assert (grid == first.repeat(side[0], axis=0).repeat(side[1], axis=1)).all()
    return levels(first)


class Svg:
    def __init__(self, path):
        root = xml.dom.minidom.parse(str(path)).documentElement
        self.size = tuple(float(root.getAttribute(name).removesuffix("px")) for name in ("width", "height"))
        self.letters = sum("glyph" in node.getAttribute("xlink:href") for node in root.getElementsByTagName("use"))
        self.images = [base64.b64decode(node.getAttribute("xlink:href").split(",")[1])
                       for node in root.getElementsByTagName("image")]


class Pdf:
    def __init__(self, content):
        assert content[:5] == b"%PDF-" and content.rstrip().endswith(b"%%EOF")
        self.size = tuple(map(float, re.search(rb"/MediaBox \[ 0 0 (\S+) (\S+) \]", content).groups()))
        self.fonts = {name.decode() for name in re.findall(rb"/BaseFont /[A-Z]{6}\+(\S+)", content)}
        streams = []
        for start in re.finditer(rb">>\s*stream\r?\n", content):
            try:
                streams.append(zlib.decompressobj().decompress(content[start.end():]))
            except zlib.error:
                pass
        page, = [stream for stream in streams if b"\nBT" in stream or b" BT" in stream]
        # A text begins where a position is set. Letters beyond Latin-1 are numbers of glyphs.
        self.texts = ["".join(re.sub(r"\\(\d{3}|.)", lambda code: chr(int(code[1], 8)) if len(code[1]) == 3 else code[1],
                                     part.decode("latin-1")) for part in re.findall(rb"\(((?:\\.|[^\\)])*)\)", piece))
                      for piece in re.split(rb" (?:Td|Tm)\n", page)]
