"""fovea.torch.ring_attention(): rows and keys of a sequence in 1, 2, 3 and 8 processes give the bits of one."""

import multiprocessing
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("this PyTorch has no gloo", allow_module_level=True)
import fovea.torch  # pylint: disable=wrong-import-position
from fovea.torch import _ring  # pylint: disable=wrong-import-position

RANKS = 8
KEYS = 9000  # five spans: of eight ranks most have no rows
SLOPES, SINK = torch.tensor([0.0, 0.25]), torch.tensor([1.5, -0.5])
CASES = {
    "causal": {"causal": True},
    "all": {"scale": 0.3},
    "window": {"causal": True, "window": (2049, None)},  # the first row of a block sees one key of the last but one
    "both": {"window": 1, "softcap": 3.0},
    "alibi": {"causal": True, "alibi": SLOPES, "sink": SINK},
    "bf16": {"causal": True, "mode": "bf16"},
    "int8": {"causal": True, "mode": "int8"},
}


def tensors(length=KEYS, dtype=torch.float32):
    random = torch.Generator().manual_seed(length)
    normal = lambda heads, dim: torch.randn(2, length, heads, dim, generator=random).to(dtype).transpose(1, 2)
    return normal(2, 16), normal(1, 16), normal(1, 24)


def alone(length, dtype, alibi=None, **options):
    return fovea.attention(*tensors(length, dtype), terms=None if alibi is None else fovea.alibi(alibi), lse=True,
                           threads=1, **options)


def test_bits():
    """By a process of its own, which has not used threads before it makes others."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False, timeout=1000)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == ["same bits"] * RANKS


def test_positions():
    for length in (0, 1, 2048, 9000, 100000):
        for ranks in (1, 2, 3, 8):
            parts = [fovea.torch.ring_positions(length, rank, ranks) for rank in range(ranks)]
            assert torch.equal(torch.cat(parts).sort().values, torch.arange(length))
            assert all(torch.equal(part.sort().values, part) for part in parts)
    for arguments, text in (((-1, 0, 1), "length is -1; it must be from 0 to"), ((9, 2, 2), "rank is 2; it must be from 0 to 1"),
                            ((9, -1, 2), "rank is -1"), ((9, 0, 0), "ranks is 0; it must be from 1 to")):
        with pytest.raises(fovea.ArgumentError, match=text):
            fovea.torch.ring_positions(*arguments)
    with pytest.raises(TypeError, match="length is a float; it must be a whole number"):
        fovea.torch.ring_positions(9.0, 0, 1)
    pairs = [int(fovea.torch.ring_positions(100 * 2048, rank, 5).add(1).sum()) for rank in range(5)]
    assert max(pairs) <= 1.001 * min(pairs)


# ---- Processes ---------------------------------------------------------------------------------------------------


def part(tensor, rank, ranks):
    return tensor[:, :, fovea.torch.ring_positions(tensor.shape[2], rank, ranks)]


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and \
        torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def compare(group, rank, ranks, expected):
    for (length, dtype, case), whole in expected.items():
        if case != "causal" and ranks != 3:
            continue
        mine = [part(each, rank, ranks) for each in tensors(length, dtype)]
        result = fovea.torch.ring_attention(*mine, group, lse=True, **CASES[case])
        for name, ours, theirs in zip(("o", "lse"), result, whole):
            assert same_bits(ours, part(theirs, rank, ranks)), (name, length, dtype, case, ranks)


def refused(error, text, *arguments, **options):
    with pytest.raises(error) as caught:
        fovea.torch.ring_attention(*arguments, **options)
    assert text in str(caught.value), caught.value


def check_refusals(group, rank, mine):
    """Each process of three raises, whichever has the bad argument."""
    q, k, v = mine
    refused(fovea.ArgumentError, "scale is 1.0 on rank 1 of the group, and 2.0 on rank 0; it must be the same", q, k, v,
            group, scale=1.0 if rank == 1 else 2.0)
    refused(fovea.ArgumentError, "query.dtype is torch.float16 on rank 2", q.half() if rank == 2 else q, k, v, group)
    less = [each[:, :, 1:] for each in mine]
    refused(fovea.ArgumentError, "of a sequence of 8999 rows it has", *(less if rank == 1 else mine), group)
    refused(fovea.ArgumentError, "softcap is -1", q, k, v, group, softcap=-1.0)
    refused(fovea.Error, "softcap is -1", q, k, v, group, softcap=-1.0 if rank == 2 else None)
    refused(fovea.ArgumentError, "sink has the shape (3,)", q, k, v, group, sink=torch.zeros(3))
    refused(fovea.ArgumentError, "key has", q, k[:, :, 2:], v[:, :, 2:], group)
    refused(fovea.ArgumentError, "value has the shape (2, 9000)", q, k, torch.zeros(2, 9000), group)
    refused(TypeError, "key is a list", q, [1.0], v, group)
    refused(fovea.UnsupportedError, "query requires a gradient", q.clone().requires_grad_(), k, v, group)
    with torch.no_grad():
        fovea.torch.ring_attention(q.clone().requires_grad_(), k, v, group)


def work(rank, folder, expected):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/ranks", rank=rank, world_size=RANKS)
    for ranks in (1, 2, 3, RANKS):
        group = torch.distributed.new_group(list(range(ranks))) if ranks < RANKS else None
        if rank >= ranks:
            if ranks == 1:
                refused(fovea.ArgumentError, "group does not contain this process", *tensors(1), group)
            continue
        compare(group, rank, ranks, expected)
        if ranks == 3:
            check_refusals(group, rank, [part(each, rank, 3) for each in tensors()])
        if ranks == 2:  # the planted fault: cuts within spans
            _ring.SPAN_KEYS = 1000
            result = fovea.torch.ring_attention(*(part(each, rank, ranks) for each in tensors()), group, causal=True)
            whole = expected[KEYS, torch.float32, "causal"].o
            assert not same_bits(result, part(whole, rank, ranks))
            torch.testing.assert_close(result, part(whole, rank, ranks), atol=1e-5, rtol=1e-5)
            _ring.SPAN_KEYS = 2048
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    print("same bits", flush=True)


def main():
    import tempfile
    torch.set_num_threads(1)
    kinds = [(KEYS, torch.float32, case) for case in CASES]
    kinds += [(KEYS, torch.bfloat16, "causal"), (6144, torch.float16, "causal"), (1, torch.float32, "causal")]
    expected = {(length, dtype, case): alone(length, dtype, **CASES[case]) for length, dtype, case in kinds}
    with tempfile.TemporaryDirectory() as folder:
        processes = [multiprocessing.get_context("fork").Process(target=work, args=(rank, folder, expected))
                     for rank in range(RANKS)]
        for each in processes:
            each.start()
        for each in processes:
            each.join()
    sys.exit(any(each.exitcode for each in processes))


if __name__ == "__main__":
    main()
