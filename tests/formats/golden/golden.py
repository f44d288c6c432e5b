"""What the makers of golden files share: rows of numbers, and the file format (README.md)."""
import os

import numpy as np

DIM = 64


def bits(x):
    return np.uint32(x).view(np.float32)


def _ties(generator, largest, low, high, step=1.0):
    """32 numbers of which many lie halfway between two codes if the scale is 1."""
    x = generator.integers(low, high, 32).astype(np.float32) * step + np.float32(0.5)
    x[0] = largest
    x[1:4] = [low, low + 1, low + 2]
    return x


def rows(seed=1):
    """Pairs of a case's name and DIM numbers. The two halves of a row differ: most formats have groups of 32."""
    g = np.random.default_rng(seed)

    def normal():
        return g.standard_normal(DIM).astype(np.float32)

    cases = [("normal", normal())]
    x = normal()
    x[[5, 40, 41]] = [80.0, -120.0, 119.5]
    cases.append(("outliers", x))
    x = np.zeros(DIM, np.float32)
    x[32:] = -0.0
    cases.append(("zeros", x))
    x = np.full(DIM, 1.5, np.float32)
    x[32:] = -0.0
    x[50] = 1.0
    cases.append(("constant", x))
    cases.append(("positive", np.abs(normal()) + np.float32(2)))
    cases.append(("small", (normal() * np.float32(2.0**-19)).astype(np.float32)))
    cases.append(("tiny", (normal() * np.float32(2.0**-110)).astype(np.float32)))
    x = g.integers(-5000, 5000, DIM).astype(np.float32) * bits(1)
    cases.append(("subnormal", x))
    x = normal()
    x[7], x[45] = 3e38, -65504.0 * 100
    cases.append(("huge", x))
    cases.append(("ties_127_8", np.concatenate([_ties(g, 127, -127, 127), _ties(g, -8, -8, 7)])))
    cases.append(("ties_16_15", np.concatenate([_ties(g, -16, -16, 15), _ties(g, 15, 0, 15)])))
    cases.append(("ties_31_255", np.concatenate([_ties(g, 31, 0, 31), _ties(g, 255, 0, 255)])))
    return cases


def f32_hex(x):
    """The bits of f32 numbers, every NaN as 7fc00000."""
    x = np.ascontiguousarray(x, np.float32).ravel()
    words = x.view(np.uint32).copy()
    words[np.isnan(x)] = 0x7FC00000
    return "".join(f"{word:08x}" for word in words)


def byte_hex(x):
    return np.ascontiguousarray(x).tobytes().hex()


class File:
    """One golden file, beside this script."""

    def __init__(self, preset, source, dim, keys=1, **numbers):
        self.lines = [f"preset {preset}", f"source {source}", f"dim {dim}", f"keys {keys}"]
        self.lines += [f"{name} {value}" for name, value in numbers.items()]
        self.path = os.path.join(os.path.dirname(os.path.abspath(__file__)), preset + ".txt")

    def case(self, name, **parts):
        """Parts: input and output as f32 numbers, everything else as bytes. A part that is None is left out."""
        self.lines.append(f"case {name}")
        for part, x in parts.items():
            if x is not None:
                self.lines.append(f"{part} " + (f32_hex(x) if part in ("input", "output") else byte_hex(x)))

    def write(self):
        with open(self.path, "w", encoding="ascii") as file:
            file.write("\n".join(self.lines) + "\n")
        print(self.path, len(self.lines), "lines")
