"""Caches: attention over them has the bits of attention over contiguous tensors; rows are rotated and quantised."""

import fovea
import numpy as np
import pytest
import reference


def same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def make(kind, batch=2, heads=2, dim=32, **options):
    if kind == "paged":
        return fovea.Cache.paged(batch, 32, 16, heads, dim, **options)
    return getattr(fovea.Cache, kind)(batch, 256, heads, dim, **options)


@pytest.mark.parametrize("kind", ["contiguous", "paged", "ring"])
@pytest.mark.parametrize("panels", [False, True])
def test_steps_have_the_bits_of_all_at_once(kind, panels):
    q, k, v = reference.tensors(1, rows=150)
    expected = fovea.attention(q, k, v, causal=True)
    cache = make(kind, panels=panels)
    for begin, end in ((0, 100), (100, 101), (101, 150)):
        cache.append(k[:, :, begin:end], v[:, :, begin:end])
        assert cache.lens == [end, end]
        o = fovea.attention(q[:, :, begin:end], cache=cache, causal=True)
        same_bits(o, np.ascontiguousarray(expected[:, :, begin:end]))


def test_lengths_differ():
    q, k, v = reference.tensors(2, rows=40)
    cache = make("paged")
    cache.append(k[:, :, :100], v[:, :, :100], row_lens=[100, 60])
    cache.append(k[:, :, 100:140], v[:, :, 100:140], row_lens=[40, 10])
    assert cache.lens == [140, 70]
    o = fovea.attention(q, cache=cache, causal=True, q_lens=[40, 10])
    same_bits(o[0], fovea.attention(q[0], k[0, :, :140], v[0, :, :140], causal=True))
    keys, values = (np.concatenate([x[1, :, :60], x[1, :, 100:110]], axis=1) for x in (k, v))
    same_bits(np.ascontiguousarray(o[1, :, :10]),
              fovea.attention(np.ascontiguousarray(q[1, :, :10]), keys, values, causal=True))


def test_layers_and_types():
    q, k, v = reference.tensors(3)
    cache = make("paged", layers=3, dtype=("float16", "float32"))
    for layer in range(3):
        cache.append(k + layer, v - layer, layer=layer)
    plan = fovea.Plan(q, cache=cache, causal=True)
    for layer in range(3):
        expected = fovea.attention(q, (k + layer).astype(np.float16), v - layer, causal=True)
        same_bits(fovea.attention(q, cache=cache, layer=layer, causal=True), expected)
        same_bits(plan.run(q, cache=cache, layer=layer), expected)
    with pytest.raises(fovea.ArgumentError, match="layer is 3"):
        fovea.attention(q, cache=cache, layer=3)
    cache.append(k[:, :, :1], v[:, :, :1])
    with pytest.raises(fovea.ArgumentError, match="not as the plan"):
        plan.run(q, cache=cache)


def test_ring_forgets():
    q, k, v = reference.tensors(4, rows=1)
    cache = fovea.Cache.ring(2, 64, 2, 32)
    for begin in range(0, 150, 10):
        cache.append(k[:, :, begin:begin + 10], v[:, :, begin:begin + 10])
    same_bits(fovea.attention(q, cache=cache, causal=True, window=(40, 0)),
              fovea.attention(q, k, v, causal=True, window=(40, 0)))
    same_bits(fovea.attention(q, cache=cache), fovea.attention(q, k, v, kv_begins=[86, 86]))


def rotated(x, positions, base=10000.0):
    """RoPE of Su et al. with pairs i and i + dims / 2, in float64."""
    half = x.shape[-1] // 2
    angles = np.asarray(positions)[:, None] * base ** (-np.arange(half) / half)
    a, b = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], axis=-1)


def test_rotation():
    q, k, v = reference.tensors(5, rows=150)
    rotary = fovea.Rotary(32)
    assert rotary.attention_factor == 1
    turned = rotary.apply(k)
    reference.close(turned, rotated(k, np.arange(150)))
    same_bits(rotary.apply(k[:, :, 7:], first_position=7), np.ascontiguousarray(turned[:, :, 7:]))
    same_bits(rotary.apply(k[:, :, 7:], positions=np.tile(np.arange(7, 150), (2, 1))),
              np.ascontiguousarray(turned[:, :, 7:]))
    into = k.copy()
    assert rotary.apply(into, out=into) is into
    same_bits(into, turned)
    cache = make("paged")
    for begin in (0, 75):
        cache.append(k[:, :, begin:begin + 75], v[:, :, begin:begin + 75], rotary=rotary)
    same_bits(fovea.attention(q, cache=cache), fovea.attention(q, turned, v))
    drafts = make("contiguous")
    drafts.append(k, v, rotary=rotary, rotary_positions=[3] * 300)
    same_bits(fovea.attention(q, cache=drafts), fovea.attention(q, rotary.apply(k, positions=[3] * 300), v))


def test_scaled_rotation():
    half = np.arange(16) / 16
    plain = 10000.0 ** -half
    x = reference.tensors(6)[1]
    linear = fovea.Rotary.scaled("linear", 32, factor=4.0)
    reference.close(linear.apply(x), rotated(x, np.arange(150) / 4))
    given = fovea.Rotary(32, frequencies=plain / 4)
    assert np.abs(linear.apply(x) - given.apply(x)).max() < 1e-6
    yarn = fovea.Rotary.scaled("yarn", 32, factor=4.0, trained_length=2048)
    assert yarn.attention_factor == pytest.approx(0.1 * np.log(4) + 1)
    with pytest.raises(TypeError, match="no keyword 'scale'"):
        fovea.Rotary.scaled("linear", 32, scale=2)
    with pytest.raises(fovea.ArgumentError, match="rule is 'ntk2'"):
        fovea.Rotary.scaled("ntk2", 32)


def q8_0(x):
    """The numbers that ggml's q8_0 keeps of rows: blocks of 32, a scale in float16."""
    blocks = x.reshape(*x.shape[:-1], -1, 32)
    scale = np.abs(blocks).max(-1, keepdims=True) / np.float32(127)
    inverse = np.where(scale > 0, np.float32(1) / np.where(scale > 0, scale, 1), 0).astype(np.float32)
    scaled = blocks * inverse
    codes = np.sign(scaled) * np.floor(np.abs(scaled) + np.float32(0.5))  # roundf()
    return (codes.astype(np.float32) * scale.astype(np.float16).astype(np.float32)).reshape(x.shape)


@pytest.mark.parametrize("kind", ["contiguous", "paged"])
def test_quantised(kind):
    q, k, v = reference.tensors(7)
    cache = make(kind, format="q8_0")
    assert cache.nbytes < make(kind).nbytes / 3
    cache.append(k, v)
    same_bits(fovea.attention(q, cache=cache), fovea.attention(q, q8_0(k), q8_0(v)))


@pytest.mark.parametrize("format", ["i8_rows", "q4_0", "q5_1", "openvino_u8", ("kivi_k4", "kivi_v4"), ("q8_0", None)],
                         ids=str)
def test_formats_are_near(format):
    q, k, v = reference.tensors(8, keys=128)
    cache = make("contiguous", format=format)
    cache.append(k, v)
    assert np.abs(fovea.attention(q, cache=cache) - fovea.attention(q, k, v)).max() < 0.3


def test_shared_scales():
    q, k, v = reference.tensors(9)
    cache = make("paged", format="ort_s8", k_scale=0.03125, v_scale=0.0625)
    cache.append(k, v)
    codes = [np.clip(np.rint(x * np.float32(1 / scale)), -128, 127).astype(np.float32) * np.float32(scale)
             for x, scale in ((k, 0.03125), (v, 0.0625))]
    same_bits(fovea.attention(q, cache=cache), fovea.attention(q, *codes))
    with pytest.raises(fovea.ArgumentError, match="k_scale is None"):
        make("paged", format="ort_s8")
    with pytest.raises(fovea.UnusedError, match="k_scale"):
        make("paged", k_scale=1.0)


def test_pages():
    q, k, v = reference.tensors(10)
    cache = fovea.Cache.paged(2, 11, 16, 2, 32)
    cache.append(k[:, :, :64], v[:, :, :64], row_lens=[64, 0])
    assert cache.free_pages == 7
    cache.fork(0, 1)
    assert cache.lens == [64, 64] and cache.free_pages == 7
    cache.append(k[:, :, 64:70], v[:, :, 64:70])
    assert cache.free_pages == 5
    same_bits(fovea.attention(q, cache=cache)[0], fovea.attention(q[0], k[0, :, :70], v[0, :, :70]))
    same_bits(fovea.attention(q, cache=cache)[1],
              fovea.attention(q[1], *(np.concatenate([x[0, :, :64], x[1, :, 64:70]], axis=1) for x in (k, v))))
    with pytest.raises(fovea.OutOfMemoryError):
        cache.append(k[:, :, 70:130], v[:, :, 70:130])
    assert cache.lens == [70, 70] and cache.free_pages == 5
    cache.truncate([64, 0])
    assert cache.lens == [64, 0] and cache.free_pages == 7


def test_refused():
    q, k, v = reference.tensors(11)
    cache = make("contiguous")
    with pytest.raises(fovea.ArgumentError, match="k has the shape .*; it must be"):
        cache.append(k[..., :16].copy(), v)
    with pytest.raises(fovea.ArgumentError, match="v has the shape"):
        cache.append(k, v[:, :, 1:])
    with pytest.raises(fovea.ArgumentError, match="row_lens.1. is 151"):
        cache.append(k, v, row_lens=[1, 151])
    cache.append(k, v)
    with pytest.raises(fovea.ArgumentError, match="has room for 256"):
        cache.append(k, v)
    assert cache.lens == [150, 150]
    with pytest.raises(fovea.ArgumentError, match="other rows than layer 0"):
        cache.append(k[:, :, :2], v[:, :, :2], layer=1)
    with pytest.raises(fovea.UnusedError, match="cache is given"):
        fovea.attention(q, k, v, cache=cache)
    with pytest.raises(fovea.ArgumentError, match="q has 1 sequences"):
        fovea.attention(q[:1], cache=cache)
    with pytest.raises(fovea.ArgumentError, match="qk_dim"):
        fovea.attention(np.zeros((2, 4, 3, 16), np.float32), cache=cache)
    with pytest.raises(TypeError, match="a fovea.Cache"):
        fovea.attention(q, cache={})
    with pytest.raises(fovea.ArgumentError, match="lens.0. is 151"):
        cache.truncate([151, 1])
    with pytest.raises(fovea.ArgumentError, match="no pages"):
        cache.fork(0, 1)
    with pytest.raises(fovea.ArgumentError, match="format is 'q9'; formats are i8_rows, "):
        make("paged", format="q9")
    with pytest.raises(fovea.ArgumentError, match="kv_heads is 0"):
        make("paged", heads=0)
    with pytest.raises(TypeError, match="a fovea.Rotary"):
        cache.append(k, v, rotary=10000)


@pytest.mark.parametrize("panels", [False, True])
def test_memory_of_the_caller(panels):
    q, k, v = reference.tensors(20, rows=1)
    memory = np.zeros((2, 2, 256, 32), np.float32), np.zeros((2, 2, 256, 32), np.float32)
    cache = fovea.Cache.contiguous(2, 256, 2, 32, memory=memory, panels=panels)
    cache.append(k[:, :, :140], v[:, :, :140])
    assert (memory[1][:, :, :140] == v[:, :, :140]).all()
    if not panels:
        assert (memory[0][:, :, :140] == k[:, :, :140]).all()
    again = fovea.Cache.contiguous(2, 256, 2, 32, memory=memory, panels=panels, lens=[140, 140])
    again.append(k[:, :, 140:], v[:, :, 140:])
    assert again.lens == [150, 150] and again.nbytes == 2 * memory[0].nbytes
    same_bits(fovea.attention(q, cache=again), fovea.attention(q, k, v))


def test_memory_in_a_file(tmp_path):
    q, k, v = reference.tensors(21, rows=1)
    shape, path = (1, 16, 2, 16, 32), tmp_path / "cache"
    for name in "kv":
        np.zeros(shape, np.float16).tofile(f"{path}.{name}")
    files = tuple(np.memmap(f"{path}.{name}", np.float16, "r+", shape=shape) for name in "kv")
    cache = fovea.Cache.paged(1, 16, 16, 2, 32, dtype="float16", memory=files)
    cache.append(k[:1], v[:1])
    halves = k[:1].astype(np.float16), v[:1].astype(np.float16)
    same_bits(fovea.attention(q[:1], cache=cache), fovea.attention(q[:1], *halves))
    files[0].flush()
    assert np.fromfile(f"{path}.k", np.float16).any()


def test_memory_is_refused():
    good = np.zeros((2, 2, 64, 32), np.float32)
    make = lambda **options: fovea.Cache.contiguous(2, 64, 2, 32, **options)
    with pytest.raises(fovea.ArgumentError, match="memory.1. has 16384 bytes, elements of float16; it must have 32768"):
        make(memory=(good, good.astype(np.float16)))
    with pytest.raises(TypeError, match="memory is a ndarray; it must be a pair"):
        make(memory=good)
    with pytest.raises(fovea.ArgumentError, match="memory.strides"):
        make(memory=(good, np.zeros((2, 64, 2, 32), np.float32).swapaxes(1, 2)))
    with pytest.raises(fovea.ArgumentError, match="memory cannot be written"):
        make(memory=(good, np.broadcast_to(np.float32(0), good.shape)))
    with pytest.raises(fovea.UnusedError, match="lens is given, and memory not"):
        make(lens=[1, 2])
    with pytest.raises(fovea.ArgumentError, match="lens.1. is 65; it must be from 0 to 64"):
        make(memory=(good, good.copy()), lens=[1, 65])
    with pytest.raises(fovea.UnusedError, match="pages of a paged cache are not known"):
        fovea.Cache.paged(2, 8, 16, 2, 32, memory=(good, good.copy()), lens=[1, 2])


@pytest.mark.parametrize("kind", ["contiguous", "paged"])
def test_rows_move(kind):
    """A context shift: keys get the angles of their new positions, to rounding; without `rotary` they keep their bits."""
    q, k, v = reference.tensors(22, rows=1)
    rotary = fovea.Rotary(32)
    cache = make(kind, layers=2)
    for layer in range(2):
        cache.append(k, v, layer=layer, rotary=rotary)
    cache.move(0, 60, 150, 10, rotary=rotary)
    cache.truncate([100, 150])
    kept = np.r_[0:10, 60:150]
    keys, values = (np.ascontiguousarray(x[0][:, kept]) for x in (k, v))
    for layer in range(2):
        o = fovea.attention(q, cache=cache, layer=layer)
        reference.close(o[0], fovea.attention(q[0], rotary.apply(keys), values), 2e-5)
        same_bits(o[1], fovea.attention(q[1], rotary.apply(k)[1], v[1]))
    plain = make(kind)
    plain.append(k, v)
    plain.move(1, 60, 150, 10, threads=2)
    plain.truncate([150, 100])
    keys, values = (np.ascontiguousarray(x[1][:, kept]) for x in (k, v))
    same_bits(fovea.attention(q, cache=plain)[1], fovea.attention(q[1], keys, values))
    with pytest.raises(fovea.ArgumentError, match="rows 60 to 150 cannot move to 11; the sequence has 100 rows"):
        plain.move(1, 60, 150, 11)
    with pytest.raises(fovea.ArgumentError, match="sequence is 2; it must be from 0 to 1"):
        plain.move(2, 0, 1, 0)
    if kind == "paged":
        plain.truncate([150, 0])
        plain.fork(0, 1)
        with pytest.raises(fovea.ArgumentError, match="shares pages"):
            plain.move(0, 60, 150, 10)


def test_hadamard():
    q, k, v = reference.tensors(23, rows=3)
    cache = make("contiguous")
    cache.append(k, v, hadamard=(16, 32))
    o = fovea.hadamard(fovea.attention(fovea.hadamard(q, 16), cache=cache), 32)
    reference.close(o, reference.attention(q, k, v)[0], 5e-6)
    matrix = np.ones((1, 1))
    while len(matrix) < 16:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]]) / np.sqrt(2)
    rotated = fovea.hadamard(q, 16)
    reference.close(rotated, (q.reshape(-1, 16).astype(float) @ matrix).reshape(q.shape))
    assert fovea.hadamard(q[1], 16, threads=2).tobytes() == rotated[1].tobytes()
    assert fovea.hadamard(q, 16, out=q) is q and q.tobytes() == rotated.tobytes()
    with pytest.raises(fovea.ArgumentError, match="block is 12"):
        fovea.hadamard(q, 12)
