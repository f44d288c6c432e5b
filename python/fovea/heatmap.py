"""Heat maps of weights: attention(..., scores="weights").scores[0] has the weights of each head, (heads, rows, keys)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["figure", "text"]

SHADES = " .:-=+*#%@"


def _matrices(weights: Any, rows: Sequence[object] | None, keys: Sequence[object] | None) -> Any:
    """(heads, rows, keys) in float64, and labels of rows and keys."""
    weights = np.asarray(weights, np.float64)
    if weights.ndim not in (2, 3):
        raise ValueError(f"weights has the shape {weights.shape}; it must be (rows, keys) or (heads, rows, keys)")
    weights = weights if weights.ndim == 3 else weights[None]
    for name, labels, length in (("rows", rows, weights.shape[1]), ("keys", keys, weights.shape[2])):
        if labels is not None and len(labels) != length:
            raise ValueError(f"{name} has {len(labels)} labels; it must have {length}")
    return weights


def text(weights: Any, *, rows: Sequence[object] | None = None, keys: Sequence[object] | None = None) -> str:
    """Lines of text: a shade for each row and key, the darkest for the largest weight of a head.

    weights: (rows, keys), or (heads, rows, keys), one map under the other
    rows, keys: labels of rows, in front of them; of keys, listed in front of the maps
    """
    maps = []
    width = max((len(str(label)) for label in rows), default=0) if rows is not None else 0
    for head in _matrices(weights, rows, keys):
        head = np.where(np.isfinite(head), head, 0.0).clip(0.0)
        shades = (head / (head.max(initial=0.0) or 1.0) * (len(SHADES) - 1)).round().astype(int)
        lines = ["".join(SHADES[shade] for shade in row) for row in shades]
        labels = [f"{label!s:>{width}} " for label in rows] if rows is not None else [""] * len(lines)
        maps.append("\n".join(label + "|" + line + "|" for label, line in zip(labels, lines)))
    legend = [" ".join(str(label) for label in keys)] if keys is not None else []
    return "\n\n".join(legend + maps)


def figure(weights: Any, *, rows: Sequence[object] | None = None, keys: Sequence[object] | None = None,
           columns: int = 4) -> Any:
    """A figure of matplotlib, which must be installed, with a map for each head.

    weights: (rows, keys), or (heads, rows, keys), `columns` maps side by side
    rows, keys: labels
    """
    from matplotlib.figure import Figure

    heads = _matrices(weights, rows, keys)
    columns = min(columns, len(heads))
    made = Figure(figsize=(3 * columns, 3 * -(-len(heads) // columns)), layout="constrained")
    for i, head in enumerate(heads):
        axes = made.add_subplot(-(-len(heads) // columns), columns, i + 1)
        axes.imshow(head, aspect="auto", interpolation="nearest", vmin=0.0)
        if len(heads) > 1:
            axes.set_title(f"head {i}")
        if rows is not None:
            axes.set_yticks(range(len(rows)), rows)
        if keys is not None:
            axes.set_xticks(range(len(keys)), keys, rotation=90)
    return made
