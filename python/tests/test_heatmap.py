"""Heat maps: as text, and by matplotlib, if it is installed."""

import numpy as np
import pytest
from fovea import heatmap

WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.1, 0.2, 0.7]])


def test_text():
    assert heatmap.text(WEIGHTS) == "|@  |\n|== |\n|.:*|"
    labelled = heatmap.text(WEIGHTS, rows=["a", "cat", "sat"], keys=["a", "cat", "sat"])
    assert labelled.splitlines()[0] == "a cat sat" and labelled.splitlines()[2] == "  a |@  |"
    assert heatmap.text(np.stack([WEIGHTS, WEIGHTS])).count("|@  |") == 2
    assert heatmap.text(np.zeros((1, 2))) == "|  |"
    assert heatmap.text(np.zeros((0, 0))) == "" and heatmap.text(np.zeros((0, 3, 3))) == ""
    assert heatmap.text([[np.nan, 0.5, -np.inf], [-1.0, np.inf, 1.0]]) == "| = |\n|  @|"
    with pytest.raises(ValueError, match="weights has the shape .3,."):
        heatmap.text(WEIGHTS[0])
    with pytest.raises(ValueError, match="keys has 2 labels; it must have 3"):
        heatmap.text(WEIGHTS, keys=["a", "b"])


def test_figure(tmp_path):
    pytest.importorskip("matplotlib")
    made = heatmap.figure(np.stack([WEIGHTS] * 5), rows="abc", keys="abc")
    assert len(made.axes) == 5
    np.testing.assert_array_equal(made.axes[4].images[0].get_array(), WEIGHTS)
    made.savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000
