"""Plans: the bits of single calls, many runs, threads; explain() and info()."""

import threading

import fovea
import numpy as np
import pytest
import reference


def test_plan_has_the_bits_of_attention():
    q, k, v = reference.tensors(1)
    rules = {"causal": True, "window": (30, 0), "softcap": 3.0}
    plan = fovea.Plan(q, k, v, **rules)
    assert plan.isa == fovea.info().isa
    for seed in range(3):
        q, k, v = reference.tensors(seed)
        o, lse = plan.run(q, k, v, lse=True, threads=1 + seed)
        expected, expected_lse = fovea.attention(q, k, v, lse=True, **rules)
        assert o.tobytes() == expected.tobytes() and lse.tobytes() == expected_lse.tobytes()


def test_plan_of_layouts():
    q, k, v = (x.astype(np.float16) for x in reference.tensors(2))
    plan = fovea.Plan(*(fovea.Layout(x.shape, "float16") for x in (q, k, v)), causal=True, isa="scalar")
    assert plan.isa == "scalar"
    assert plan.run(q, k, v).tobytes() == fovea.attention(q, k, v, causal=True).tobytes()


def test_tensors_of_runs():
    q, k, v = reference.tensors(3)
    random = np.random.default_rng(3)
    masks = [random.random((37, 150)) < 0.5 for _ in range(3)]
    sink = np.zeros(4, np.float32)
    plan = fovea.Plan(q, k, v, mask=masks[0], sink=sink, scores="weights", score_rows=(0, 5), top=3, max_logits=True)
    for mask in masks[1:]:
        r = plan.run(q, k, v, mask=mask, sink=sink)
        expected = fovea.attention(q, k, v, mask=mask, sink=sink, scores="weights", score_rows=(0, 5), top=3,
                                   max_logits=True)
        for a, b in zip(r, expected, strict=True):
            assert a.tobytes() == b.tobytes()
    with pytest.raises(fovea.ArgumentError, match="mask is NULL"):
        plan.run(q, k, v, sink=sink)


def test_lists_are_kept():
    q, k, v = reference.tensors(4)
    lens = np.array([100, 150])
    plan = fovea.Plan(q, k, v, kv_lens=lens)
    expected = fovea.attention(q, k, v, kv_lens=[100, 150])
    lens[:] = 1
    assert plan.run(q, k, v).tobytes() == expected.tobytes()


def test_other_tensors_are_refused():
    q, k, v = reference.tensors(5)
    plan = fovea.Plan(q, k, v, causal=True)
    for name, given in {"q": (q[:, :, 1:].copy(), k, v), "k": (q, k.astype(np.float16), v),
                        "v": (q, k, v.swapaxes(1, 2).copy().swapaxes(1, 2))}.items():
        with pytest.raises(fovea.ArgumentError, match=f"{name} is not as the plan was made for"):
            plan.run(*given)
    with pytest.raises(fovea.ArgumentError, match="mask is not as the plan"):
        plan.run(q, k, v, mask=np.ones((37, 150), bool))
    with pytest.raises(TypeError, match="no keyword 'causal'"):
        plan.run(q, k, v, causal=True)
    with pytest.raises(fovea.ArgumentError, match="q is NULL"):
        fovea.attention(fovea.Layout(q.shape), k, v)
    with pytest.raises(fovea.ArgumentError, match="lse has no memory"):
        fovea.attention(q, k, v, lse=fovea.Layout(q.shape[:-1]))


def test_threads_share_a_plan():
    """Threads run while others compute, with the bits of one."""
    q, k, v = reference.tensors(6, rows=200, keys=400)
    plan = fovea.Plan(q, k, v, causal=True)
    expected = plan.run(q, k, v)
    results = [None] * 8

    def run(i):
        results[i] = plan.run(q, k, v, threads=1) if i % 2 else fovea.attention(q, k, v, causal=True, threads=1)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        assert result.tobytes() == expected.tobytes()


def test_explain():
    q, k = fovea.Layout((1, 8, 4096, 64), "bfloat16"), fovea.Layout((1, 2, 4096, 64), "bfloat16")
    told = fovea.explain(q, k, k, causal=True)
    assert told.pairs == 8 * 4096**2 and told.pairs_visible == 8 * 4096 * 4097 // 2
    assert told.blocks == told.blocks_empty + told.blocks_full + told.blocks_limited
    assert told.flops == 2 * 128 * told.pairs_visible
    assert told.isa in str(told) and str(told.blocks_empty) in str(told)
    plan = fovea.Plan(q, k, k, causal=True)
    assert plan.explain(threads=1, flops_per_second=1e9).compute_seconds == told.flops / 1e9


def test_info():
    told = fovea.info()
    assert told.version == fovea.__version__
    assert [each.name for each in told.sets if each.chosen] == [told.isa]
    assert told.threads >= 1 and all(each.built for each in told.groups)
    assert told.cpu in str(told)
