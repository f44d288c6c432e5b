"""Streams: rows have the bits of the whole utterance, however its frames are cut."""

from concurrent.futures import ThreadPoolExecutor

import fovea
import numpy as np
import pytest
import reference
from fovea import nn
from test_encoder import DIM, HEADS, Weights, block_of, normal

STACK = [Weights(800), Weights(900)]
BLOCKS = [each.block() for each in STACK]
X = normal(60, 40, DIM)
RULES = [{"window": (6, 2)}, {"chunks": (4, 8, 0)}, {"chunks": (4, 4, 2)}, {"window": (9, None), "causal": True}]


def cut(stream, x, sizes, **options):
    rows, at = [], 0
    for size in sizes:
        rows.append(stream.push(x[at : at + size], **options))
        at += size
    rows += [stream.push(x[at:], **options), stream.finish(**options)]
    return np.concatenate(rows)


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_stream(rules):
    whole = nn.Encoder(BLOCKS)(X, **rules)
    expected = X[None].astype(float)
    for weights in STACK:
        expected = block_of(weights, expected, reference.visible_pairs(40, 40, **rules))
    reference.close(whole, expected[0], 5e-5)
    stream = nn.Stream(BLOCKS, 8, **rules)
    for sizes in ((), (1,) * 40, (3, 11, 0, 9)):
        for threads in (1, 2):
            assert cut(stream, X, sizes, threads=threads).tobytes() == whole.tobytes()
    assert stream.pending == 0 and stream.nbytes > 0
    first = stream.push(X[:9])
    assert len(first) + stream.pending == 9
    stream.reset()
    assert stream.pending == 0
    assert cut(stream, X, (20,)).tobytes() == whole.tobytes()


def test_many_streams():
    rules = {"window": (5, 1)}
    utterances = [normal(61 + i, 10 + 7 * i, DIM) for i in range(3)]
    streams, parts = [nn.Stream(BLOCKS, 4, **rules) for _ in utterances], [[], [], []]
    for at in range(0, 24, 4):
        given = [x[at : at + 4] for x in utterances]
        ends = [at + 4 >= len(x) > at for x in utterances]
        rows = nn.push_streams(streams, given, ends=ends)
        for part, new in zip(parts, rows):
            part.append(new)
    for x, part in zip(utterances, parts):
        assert np.concatenate(part).tobytes() == nn.Encoder(BLOCKS)(x, **rules).tobytes()


def test_threads_of_python():
    """Layers are shared; each thread has a stream and a cache of its own."""
    encoder, whole = nn.Encoder(BLOCKS), nn.Encoder(BLOCKS)(X, causal=True, window=(5, 0))

    def work(number):
        stream = nn.Stream(BLOCKS, 8, causal=True, window=(5, 0))
        cache = fovea.Cache.paged(1, 4, 16, HEADS, DIM // HEADS, layers=len(BLOCKS))
        cuts = range(0, 41, 4 + number % 3 * 2)
        steps = [encoder(X[a:b], causal=True, window=(5, 0), cache=cache) for a, b in zip(cuts, [*cuts[1:], 40])]
        return np.concatenate(steps), cut(stream, X, (number, 7), threads=1)

    with ThreadPoolExecutor(4) as pool:
        for steps, rows in pool.map(work, range(8)):
            assert steps.tobytes() == whole.tobytes() and rows.tobytes() == whole.tobytes()


def test_sinks():
    sink = normal(62, len(BLOCKS), HEADS)
    x = X
    for block, own in zip(BLOCKS, sink):
        x = block(x, window=(4, 0), sink=own)
    assert cut(nn.Stream(BLOCKS, 8, sink, window=(4, 0)), X, (7,)).tobytes() == x.tobytes()
    zero = nn.Encoder(BLOCKS)(X, window=(4, 0), sink=0.0)
    assert cut(nn.Stream(BLOCKS, 8, sink=0.0, window=(4, 0)), X, (7,)).tobytes() == zero.tobytes()


def test_refused():
    with pytest.raises(fovea.ArgumentError, match="left"):
        nn.Stream(BLOCKS, 8, causal=True)
    with pytest.raises(TypeError, match="stream.. has no keyword 'mask'"):
        nn.Stream(BLOCKS, 8, window=3, mask=X)
    with pytest.raises(fovea.ArgumentError, match="chunk is 0"):
        nn.Stream(BLOCKS, 0, window=3)
    with pytest.raises(fovea.ArgumentError, match="sink has the shape .4,.; it must be .2, 4."):
        nn.Stream(BLOCKS, 8, normal(1, HEADS), window=3)
    stream = nn.Stream(BLOCKS, 8, window=3)
    with pytest.raises(fovea.ArgumentError, match="x has the shape .2, 20, 32.; it must be .frames, 32."):
        stream.push(X.reshape(2, 20, DIM))
    with pytest.raises(fovea.ArgumentError, match="x has elements of float16"):
        stream.push(X.astype(np.float16))
    with pytest.raises(fovea.ArgumentError, match="streams is used by another"):
        nn.push_streams([stream, stream], [X, X])
    with pytest.raises(fovea.ArgumentError, match="x has 1 parts; it must have 2"):
        nn.push_streams([stream, nn.Stream(BLOCKS, 8, window=3)], [X])
    assert stream.pending == 0
