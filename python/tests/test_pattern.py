"""Patterns have the bits of a mask of the same meaning, which is written here by the words of each rule."""

import fovea
import numpy as np
import pytest
import reference

ROWS, KEYS, OFFSET = 37, 150, 113
OWN, KEY = np.arange(ROWS)[:, None] + OFFSET, np.arange(KEYS)[None, :]
DOCUMENTS = np.repeat([0, 3, -1, 1], [60, 40, 20, 30])
PARENTS = [-1, 0, 0, 1, 2, 4]

Rule = fovea.Rule
RULES = {
    "causal": (Rule.causal(), KEY <= OWN),
    "window": (Rule.window(9, None), KEY >= OWN - 9),
    "dilated": (Rule.window(20, 0, 4), (KEY >= OWN - 20) & (KEY <= OWN) & ((OWN - KEY) % 4 == 0)),
    "chunks": (Rule.chunks(16, 4, 0), (KEY >= OWN // 16 * 16 - 4) & (KEY < OWN // 16 * 16 + 16)),
    "keys": (Rule.keys(3, 9), (KEY >= 3) & (KEY < 9)),
    "rows": (Rule.rows(120, 130), (OWN >= 120) & (OWN < 130)),
    "every": (Rule.every(8, 1, 3), (KEY % 8 >= 1) & (KEY % 8 < 3)),
    "documents": (Rule.documents(DOCUMENTS), (DOCUMENTS[OWN] == DOCUMENTS[KEY]) & (DOCUMENTS[KEY] >= 0)),
    "global": (Rule.global_([2, 120]), np.isin(KEY, [2, 120]) | np.isin(OWN, [2, 120])),
    "edges": (Rule.edges([0, 2, 2, 5], [7, 1, 2, 3, 4], first=113),
              ((OWN == 113) & np.isin(KEY, [1, 7])) | ((OWN == 115) & np.isin(KEY, [2, 3, 4]))),
    "lists": (Rule.lists(np.array([[1, 2], [3, -1]]), 2, first=114),
              ((OWN == 114) & np.isin(KEY, [1, 2])) | ((OWN == 115) & (KEY == 3))),
    "neighbourhood": (Rule.neighbourhood((10, 3), (15, 5)), None),
}


def neighbours(own, key, axes):
    """NATTEN's windows, moved inwards at borders."""
    seen = np.ones(np.broadcast(own, key).shape, bool)
    for length, window in reversed(axes):
        first = np.clip(own % length - window // 2, 0, length - window)
        seen &= (key % length >= first) & (key % length < first + window)
        own, key = own // length, key // length
    return seen


@pytest.mark.parametrize("name", RULES)
def test_rules(name):
    rule, seen = RULES[name]
    if seen is None:
        seen = neighbours(OWN, KEY, [(10, 3), (15, 5)])
    seen = np.broadcast_to(seen, (ROWS, KEYS))
    q, k, v = reference.tensors(1)
    pattern = fovea.Pattern(rule, KEYS, KEYS)
    expected = fovea.attention(q, k, v, mask=seen)
    assert fovea.attention(q, k, v, pattern=pattern).tobytes() == expected.tobytes()
    for row, key in ((0, 3), (5, 118), (36, 149)):
        assert pattern.sees(row + OFFSET, key) == seen[row, key]
    assert not pattern.sees(-1, 0) and pattern.nbytes > 0


def test_joined():
    q, k, v = reference.tensors(2)
    rule = Rule.causal() & (Rule.window(8, 0) | Rule.global_([0, 1])) & ~Rule.keys(140, 145)
    seen = (KEY <= OWN) & ((KEY >= OWN - 8) | np.isin(KEY, [0, 1])) & ~((KEY >= 140) & (KEY < 145))
    expected = fovea.attention(q, k, v, mask=seen)
    pattern = fovea.Pattern(rule, KEYS, KEYS)
    assert fovea.attention(q, k, v, pattern=pattern).tobytes() == expected.tobytes()
    plan = fovea.Plan(q, k, v, pattern=pattern)
    del pattern, rule
    assert plan.run(q, k, v).tobytes() == expected.tobytes()
    by_batch = [fovea.Pattern(Rule.causal(), KEYS, KEYS), fovea.Pattern(Rule.keys(0, 5), KEYS, KEYS)]
    o = fovea.attention(q, k, v, pattern=by_batch)
    assert o[0].tobytes() == fovea.attention(q[0], k[0], v[0], causal=True).tobytes()
    assert o[1].tobytes() == fovea.attention(q[1], k[1], v[1], keys=(0, 5)).tobytes()


def test_heads_and_trees():
    q, k, v = reference.tensors(3)
    heads = [Rule.causal(), Rule.keys(0, 9), Rule.window(3, 3), Rule.every(2, 0, 1)]
    o = fovea.attention(q, k, v, pattern=fovea.Pattern(heads, KEYS, KEYS))
    masks = [KEY <= OWN, KEY < 9, abs(KEY - OWN) <= 3, KEY % 2 == 0]
    seen = np.stack([np.broadcast_to(each, (ROWS, KEYS)) for each in masks])
    assert o.tobytes() == fovea.attention(q, k, v, mask=seen).tobytes()
    first = KEYS - len(PARENTS)
    seen = np.zeros((len(PARENTS), KEYS), bool)
    seen[:, :first] = True
    for node in range(len(PARENTS)):
        at = node
        while at >= 0:
            seen[node, first + at] = True
            at = PARENTS[at]
    q = q[:, :, :len(PARENTS)]
    o = fovea.attention(q, k, v, pattern=fovea.Pattern(Rule.tree(PARENTS, first), KEYS, KEYS))
    assert o.tobytes() == fovea.attention(q, k, v, mask=seen).tobytes()


def test_blocks():
    starts, columns = fovea.random_blocks(7, 5, 10, 3)
    assert starts == [0, 3, 6, 9, 12, 15] and len(columns) == 15
    for i in range(5):
        assert sorted(set(columns[3 * i:3 * i + 3])) == columns[3 * i:3 * i + 3]
    rule = Rule.blocks(8, 15, starts, columns)
    seen = np.zeros((ROWS, KEYS), bool)
    for row in range(ROWS):
        for column in columns[starts[row // 8]:starts[row // 8 + 1]]:
            seen[row, 15 * column:15 * column + 15] = True
    q, k, v = reference.tensors(4)
    o = fovea.attention(q, k, v, pattern=fovea.Pattern(rule, ROWS, KEYS), offset=0)
    assert o.tobytes() == fovea.attention(q, k, v, mask=seen).tobytes()


def test_refused():
    q, k, v = reference.tensors(5)
    with pytest.raises(fovea.ArgumentError, match="rule.left.period is 0"):
        fovea.Pattern(Rule.every(0, 0, 0) & Rule.causal(), 4, 4)
    with pytest.raises(fovea.ArgumentError, match="starts.1. is 9"):
        Rule.edges([0, 9], [1])
    with pytest.raises(fovea.ArgumentError, match="length is 3"):
        Rule.lists([1, 2], 3)
    with pytest.raises(TypeError, match="a fovea.Rule"):
        fovea.Pattern("causal", 4, 4)
    with pytest.raises(TypeError, match="a fovea.Pattern"):
        fovea.attention(q, k, v, pattern=Rule.causal())
    with pytest.raises(fovea.ArgumentError, match="pattern has 1 numbers"):
        fovea.attention(q, k, v, pattern=[fovea.Pattern(Rule.causal(), KEYS, KEYS)])
    with pytest.raises(fovea.ArgumentError, match="key_blocks|chosen"):
        fovea.random_blocks(1, 2, 3, 4)
