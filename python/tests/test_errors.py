"""What is refused: an exception that names argument, value and limit, before anything is written."""

import fovea
import numpy as np
import pytest
import reference

Q, K, V = reference.tensors(1)


def refused(error, *words, q=Q, k=K, v=V, **options):
    out = np.full((*np.shape(Q)[:-1], 32), 7, np.float32)
    options.setdefault("out", out)
    with pytest.raises(error) as caught:
        fovea.attention(q, k, v, **options)
    for word in words:
        assert word in str(caught.value)
    assert (out == 7).all()
    return caught.value


def test_exceptions():
    assert issubclass(fovea.ArgumentError, fovea.Error) and issubclass(fovea.ArgumentError, ValueError)
    assert issubclass(fovea.OutOfMemoryError, MemoryError) and fovea.Error("text").field == ""
    error = refused(fovea.ArgumentError, "softcap is -1", softcap=-1.0)
    assert error.field == "softcap"
    assert refused(fovea.UnusedError, "mask.begin", "mask.type", mask_begin=3).field == "mask.begin"
    assert refused(fovea.ArgumentError, "isa", "avx1024", isa="avx1024").field == "isa"


def test_tensors():
    refused(TypeError, "q is a list", "__dlpack__", q=[1.0])
    refused(TypeError, "k is a NoneType", k=None)
    refused(fovea.ArgumentError, "q has elements of float64", "float16", q=Q.astype(np.float64))
    refused(fovea.ArgumentError, "v has elements of int64", v=np.zeros(V.shape, np.int64))
    refused(fovea.ArgumentError, "k has elements of another type; they must be float32", k=K.astype(np.complex64))
    refused(fovea.ArgumentError, "k has the shape (2, 2, 150, 16)", "32, as q", k=K[..., :16].copy())
    refused(fovea.ArgumentError, "v has the shape (2, 2, 149, 32)", "150, as k", v=V[:, :, 1:])
    refused(fovea.ArgumentError, "k has 1 batch elements, and q has 2", k=K[:1], v=V[:1])
    refused(fovea.ArgumentError, "q has the shape (32,)", q=Q[0, 0, 0])
    refused(fovea.ArgumentError, "q.strides[3] is 2 elements", q=np.zeros((2, 4, 37, 64), np.float32)[..., ::2])
    refused(fovea.ArgumentError, "kv_heads is 2", "heads, which is 3", q=Q[:, :3], out=None)
    packed = np.zeros((2, 4, 37, 33), np.dtype([("a", "u1"), ("x", "<f4", (1,))]))["x"][..., 0]
    refused(fovea.ArgumentError, "q", q=packed)


def test_outputs():
    refused(fovea.ArgumentError, "out has the shape", "(2, 4, 37, 32)", out=np.empty((2, 4, 37, 31), np.float32))
    refused(fovea.ArgumentError, "out has elements of float64", out=np.empty(Q.shape))
    readonly = np.zeros(Q.shape, np.float32)
    readonly.flags.writeable = False
    refused(fovea.ArgumentError, "out cannot be written", out=readonly)
    refused(fovea.ArgumentError, "lse has elements of float16", lse=np.empty((2, 4, 37), np.float16))
    refused(fovea.ArgumentError, "shares", q=Q, out=Q)
    refused(fovea.UnusedError, "scores_out", scores_out=np.empty((2, 4, 37, 150), np.float32))
    refused(fovea.ArgumentError, "score_keys is (0, 151)", scores="raw", score_keys=(0, 151))
    refused(fovea.ArgumentError, "top", "4096", top=5000)


def test_read_only_inputs():
    q, k, v = reference.tensors(1)
    expected = fovea.attention(q, k, v)
    for x in (q, k, v):
        x.flags.writeable = False
    assert fovea.attention(q, k, v).tobytes() == expected.tobytes()


def test_options():
    refused(TypeError, "no keyword 'casual'", casual=True)
    refused(TypeError, "causal is a str", causal="yes")
    refused(fovea.ArgumentError, "causal is 2", causal=2)
    refused(TypeError, "softcap is a str", softcap="big")
    refused(fovea.ArgumentError, "window[0] is -5; it must be 0 or more, or None for no limit", window=(-5, 2))
    refused(TypeError, "window is a str", window="near")
    refused(fovea.ArgumentError, "window has 3 parts; it must have 2", window=(1, 2, 3))
    refused(fovea.ArgumentError, "mode is 'fast'", "'exact', 'bf16', 'int8'", mode="fast")
    refused(fovea.ArgumentError, "q_lens has 1 numbers", "2", q_lens=[3])
    refused(fovea.ArgumentError, "kv_lens[1] is 151", "150", kv_lens=[3, 151])
    refused(fovea.ArgumentError, "q_lens", "float32", q_lens=np.zeros(2, np.float32))
    refused(fovea.ArgumentError, "cu_seqlens_q[1] is -1", cu_seqlens_q=[0, -1])
    refused(fovea.ArgumentError, "axis -4 must have 1", cu_seqlens_q=[0, 4], out=None)
    refused(fovea.ArgumentError, "mask has the shape (37, 151)", "(2, 4, 37, 150)", mask=np.ones((37, 151), bool))
    refused(fovea.ArgumentError, "mask has elements of uint8", mask=np.ones((37, 150), np.uint8))
    refused(fovea.UnusedError, "mask_bits", mask=np.ones((37, 150), bool), mask_bits=np.ones((37, 19), np.uint8))
    refused(fovea.ArgumentError, "sink has the shape (3,)", "(4,)", sink=np.zeros(3, np.float32))
    refused(fovea.ArgumentError, "sink is 1", sink=1.0)
    refused(TypeError, "terms is a int", terms=3)
    refused(fovea.ArgumentError, "terms has numbers of float64", terms=fovea.alibi(np.zeros(4)))
    refused(fovea.ArgumentError, "threads is -1", threads=-1)
    refused(fovea.ArgumentError, "top.k is -1", top=-1)


def test_flags_of_numpy():
    for flag in (np.bool_(True), np.bool_(False)):
        assert fovea.attention(Q, K, V, causal=flag).tobytes() == fovea.attention(Q, K, V, causal=bool(flag)).tobytes()


def test_no_limit_is_none():
    """-1 is how other libraries write it. It would be a rule that is set and hides nothing."""
    assert refused(fovea.ArgumentError, "window is -1", "None for no limit", window=-1).field == "window"
    refused(fovea.ArgumentError, "window[1] is -1", "None", window=(3, -1))
    refused(fovea.ArgumentError, "chunks[1] is -1", "None", chunks=(8, -1, 0))
    refused(fovea.ArgumentError, "keys[1] is -1", "None", keys=(0, -1))
    refused(fovea.ArgumentError, "score_rows[1] is -1", "None", scores="raw", score_rows=(0, -1))
    with pytest.raises(fovea.ArgumentError, match="before is -1; .* None for no limit"):
        fovea.Rule.window(-1, 0)
    o = fovea.attention(Q, K, V, window=(None, 0))
    assert o.tobytes() == fovea.attention(Q, K, V, causal=True).tobytes()


def test_whole_numbers_are_not_cut():
    refused(fovea.ArgumentError, "fit in 64 bits", offset=2**70)
