"""fovea.torch.attention(): the bits of fovea.attention(), gradients against float64, torch.compile."""

import fovea
import numpy as np
import pytest
import reference

torch = pytest.importorskip("torch")
import fovea.torch  # pylint: disable=wrong-import-position
from test_pages import pages_of

SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
SINK = torch.tensor([0.5, -1.0, 2.0, 0.0])
SEEN = torch.from_numpy(np.random.default_rng(1).random((2, 1, 20, 60)) < 0.7)
BIAS = torch.from_numpy(np.random.default_rng(2).standard_normal((20, 60), dtype=np.float32))

# Keywords of fovea.torch.attention() that have gradients.
CASES = {
    "plain": {},
    "causal": {"causal": True},
    "offset": {"causal": True, "offset": 3},
    "window": {"window": (7, 2)},
    "one number": {"window": 9},
    "lengths": {"causal": True, "q_lens": [20, 11], "kv_lens": [60, 33], "kv_begins": [4, 0]},
    "padding": {"causal": True, "kv_lens": [60, 33], "padding": [4, 17], "offset": 40},
    "sink": {"sink": SINK, "window": (7, 0)},
    "alibi": {"alibi": SLOPES, "causal": True},
    "slopes of a batch": {"alibi": torch.stack([SLOPES, 2 * SLOPES]), "kv_lens": [60, 33], "q_lens": [20, 20]},
    "mask": {"mask": SEEN, "causal": True},
    "bias": {"mask": BIAS, "scale": 0.1},
}


def tensors(seed=1, dtype=torch.float32):
    return [torch.from_numpy(x).to(dtype) for x in reference.tensors(seed, rows=20, keys=60)]


def same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    a, b = (x.detach().contiguous().view(torch.uint8).numpy().tobytes() for x in (a, b))
    assert a == b


def as_attention_has_them(options):
    """The keywords of fovea.attention() that say the same."""
    said = dict(options)
    if "alibi" in said:
        said["terms"] = fovea.alibi(said.pop("alibi"))
    return said


@pytest.mark.parametrize("more", [{}, {"softcap": 5.0}, {"mode": "bf16"}, {"mode": "int8"}], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_bits(case, more):
    q, k, v = tensors()
    options = {**CASES[case], **more}
    try:
        expected, expected_lse = fovea.attention(q, k, v, lse=True, **as_attention_has_them(options))
    except fovea.Error as error:
        with pytest.raises(type(error), match=error.field):
            fovea.torch.attention(q, k, v, **options)
        return
    o, lse = fovea.torch.attention(q, k, v, lse=True, **options)
    same_bits(o, expected)
    same_bits(lse, expected_lse)


def formula(q, k, v, causal=False, window=None, offset=None, q_lens=(20, 20), kv_lens=(60, 60), kv_begins=(0, 0),
            padding=(0, 0), mask=None, sink=None, alibi=None, scale=None):
    """The textbook formula in float64, one batch element and head at a time; sink is a tensor of float64."""
    left, right = window if isinstance(window, tuple) else (window, window)
    heads = []
    for b in range(2):
        for h in range(4):
            own = np.arange(20)[:, None] + (kv_lens[b] - q_lens[b] if offset is None else offset)
            key = np.arange(60)[None, :]
            visible = reference.visible_pairs(20, 60, causal, (left, right), offset=own[0, 0])
            visible &= (key >= max(kv_begins[b], padding[b])) & (key < kv_lens[b])
            visible &= np.arange(20)[:, None] < q_lens[b]
            visible = torch.from_numpy(visible)
            scores = q[b, h] @ k[b, h // 2].T * (32**-0.5 if scale is None else scale)
            if alibi is not None:
                slope = alibi if alibi.ndim == 1 else alibi[b]
                scores = scores + float(slope[h]) * torch.from_numpy(key - own)
            if mask is not None and mask.dtype == torch.bool:
                visible = visible & mask[b, 0]
            elif mask is not None:
                scores = scores + mask.double()
            scores = scores.masked_fill(~visible, -torch.inf)
            if sink is not None:
                scores = torch.cat([scores, sink[h].expand(20, 1)], -1)
            weights = scores.softmax(-1)[:, :60].nan_to_num(0.0)
            heads.append(weights @ v[b, h // 2])
    return torch.stack(heads).view(2, 4, 20, 32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_gradients(case, dtype):
    options = dict(CASES[case])
    of = torch.from_numpy(np.random.default_rng(3).standard_normal((2, 4, 20, 32)))
    own = [x.requires_grad_() for x in tensors(2, dtype)]
    wide = [x.detach().double().requires_grad_() for x in own]
    wide_options = dict(options)
    if "sink" in options:
        own.append(options["sink"].clone().requires_grad_())
        wide.append(options["sink"].double().requires_grad_())
        options["sink"], wide_options["sink"] = own[3], wide[3]
    o = fovea.torch.attention(*own[:3], **options)
    expected = formula(*wide[:3], **wide_options)
    tolerance = 1e-5 if dtype == torch.float32 else 6e-2
    reference.close(o.detach().double(), expected.detach(), tolerance)
    (o * of.to(dtype)).sum().backward()
    (expected * of).sum().backward()
    for a, b in zip(own, wide):
        reference.close(a.grad.double(), b.grad, 3 * tolerance)


@pytest.mark.parametrize("options, word", [({"softcap": 5.0}, "softcap"), ({"mode": "bf16"}, "mode"),
                                           ({"mask": BIAS.clone().requires_grad_()}, "mask"),
                                           ({"alibi": SLOPES.clone().requires_grad_()}, "alibi"),
                                           ({"pattern": fovea.Pattern(fovea.Rule.causal(), 60, 60)}, "pattern")])
def test_what_has_no_gradient(options, word):
    q, k, v = tensors()
    with pytest.raises(fovea.UnsupportedError, match=word) as caught:
        fovea.torch.attention(q.requires_grad_(), k, v, **options)
    assert caught.value.field == word
    with torch.no_grad():
        assert not fovea.torch.attention(q, k, v, **options).requires_grad


def test_sequences_alone_have_no_gradient():
    q, k, v = (x[0] for x in tensors())
    same_bits(fovea.torch.attention(q, k, v), fovea.attention(q, k, v))
    with pytest.raises(fovea.UnsupportedError, match=r"query has the shape \(4, 20, 32\), and not \(batch"):
        fovea.torch.attention(q.requires_grad_(), k, v)


def test_no_rows():
    """PyTorch's tensors have no address then."""
    q, k, v = tensors()
    o, lse = fovea.torch.attention(q[:, :, :0], k, v, lse=True)
    assert o.shape == (*q.shape[:2], 0, v.shape[-1]) and lse.shape == (*q.shape[:2], 0)
    assert not fovea.torch.attention(q, k[:, :, :0], v[:, :, :0]).any()


def test_errors():
    q, k, v = tensors()
    for wrong in (None, q.numpy()):
        with pytest.raises(TypeError, match=f"key is a {type(wrong).__name__}; it must be a torch.Tensor"):
            fovea.torch.attention(q, wrong, v)
    with pytest.raises(fovea.ArgumentError, match=r"window\[0\] is -2; it must be 0 or more, or None"):
        fovea.torch.attention(q, k, v, window=(-2, 0))
    with pytest.raises(fovea.ArgumentError, match="window has 3 parts; it must have 2"):
        fovea.torch.attention(q, k, v, window=(1, 2, 3))
    with pytest.raises(fovea.ArgumentError, match="key is on meta, and query on cpu; they must be on one") as caught:
        fovea.torch.attention(q, k.to("meta"), v)
    assert caught.value.field == "key"
    with pytest.raises(fovea.ArgumentError, match="kv_lens is on meta, and query on cpu"):
        fovea.torch.attention(q, k, v, kv_lens=torch.zeros(2, dtype=torch.int32, device="meta"))
    with pytest.raises(fovea.ArgumentError, match="kv_lens"):
        fovea.torch.attention(q, k, v, kv_lens=[1, 2, 3])
    with pytest.raises(fovea.ArgumentError, match="float64"):
        fovea.torch.attention(q.double(), k.double(), v.double())
    with pytest.raises(fovea.ArgumentError, match="mode is 'fast'; it must be one of 'exact', 'bf16', 'int8'"):
        fovea.torch.attention(q, k, v, mode="fast")
    with pytest.raises(TypeError, match="pattern is a Rule; it must be a fovea.Pattern"):
        fovea.torch.attention(q, k, v, pattern=fovea.Rule.causal())
    with pytest.raises(fovea.ArgumentError, match="pattern has 1 numbers; it must have 2"):
        fovea.torch.attention(q, k, v, pattern=[fovea.Pattern(fovea.Rule.causal(), 60, 60)])
    table = torch.zeros(2, 3, dtype=torch.int32)
    with pytest.raises(fovea.ArgumentError, match=r"kv_lens\[1\] is 181; it must be from 0 to 180"):
        fovea.torch.attention(q, k, v, page_table=table, kv_lens=[60, 181])


PATTERNS = [fovea.Rule.window(9, 3) | fovea.Rule.global_([0, 1]), fovea.Rule.every(3, 0, 1)]


@pytest.mark.filterwarnings("ignore")
def test_patterns():
    """One for all, and one for each batch element; compiled code follows the pattern that it is given."""
    q, k, v = tensors()
    patterns = [fovea.Pattern(rule, 60, 60) for rule in PATTERNS]
    function = lambda q, k, v, pattern: fovea.torch.attention(q, k, v, pattern=pattern, causal=True)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for pattern in (*patterns, patterns, patterns[::-1]):
        expected = fovea.attention(q, k, v, pattern=pattern, causal=True)
        same_bits(function(q, k, v, pattern), expected)
        same_bits(compiled(q, k, v, pattern), expected)
    del patterns, pattern
    for rule in PATTERNS:  # at the addresses, perhaps, that those above had
        pattern = fovea.Pattern(rule & fovea.Rule.keys(5, 60), 60, 60)
        same_bits(compiled(q, k, v, pattern), fovea.attention(q, k, v, pattern=pattern, causal=True))


@pytest.mark.filterwarnings("ignore")
def test_paged_decoding():
    """Steps over pages, which PyTorch's own operators write: the bits of one call over all keys."""
    q, k, v = tensors()
    q = q[:, :, :1]
    lens = [60, 33]
    k_pages, v_pages, table = map(torch.from_numpy, pages_of(k.numpy(), v.numpy(), lens))
    compiled = torch.compile(_step, fullgraph=True, backend="aot_eager")
    contiguous = [list(k.unbind()), list(v.unbind())]
    contiguous = [[x[:, :n] for x, n in zip(each, lens)] for each in contiguous]
    for run in (_step, compiled, compiled):
        new = [torch.from_numpy(x) for x in reference.tensors(7, rows=1, keys=1)]
        o = run(*new, k_pages, v_pages, table, torch.tensor(lens))
        for b in range(2):
            for each, x in zip(contiguous, new[1:]):
                each[b] = torch.cat([each[b], x[b]], 1)
            same_bits(o[b], fovea.attention(new[0][b], contiguous[0][b].contiguous(), contiguous[1][b].contiguous(),
                                            window=(40, 0)))
        lens = [n + 1 for n in lens]


def _step(q, k, v, k_pages, v_pages, table, lens):
    """Writes a row of each sequence, and attends."""
    rows = k_pages.shape[2]
    page = table.long().gather(1, (lens // rows)[:, None])[:, 0]
    k_pages[page, :, lens % rows] = k[:, :, 0]
    v_pages[page, :, lens % rows] = v[:, :, 0]
    return fovea.torch.attention(q, k_pages, v_pages, page_table=table, kv_lens=lens + 1, window=(40, 0))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["bf16", "int8"])
def test_modes(mode):
    """They are asked for by name, in compiled code, too; others refuse what they refuse there."""
    q, k, v = tensors()
    function = lambda q, k, v: fovea.torch.attention(q, k, v, causal=True, mode=mode, softcap=3.0)
    expected = fovea.attention(q, k, v, causal=True, mode=mode, softcap=3.0)
    assert not torch.equal(expected, fovea.attention(q, k, v, causal=True, softcap=3.0))
    same_bits(torch.compile(function, fullgraph=True)(q, k, v), expected)


@pytest.mark.filterwarnings("ignore")
def test_operator():
    """PyTorch's own check of operators: schema, shapes, autograd, tracing."""
    q, k, v = tensors()
    lens = torch.tensor([60, 33])
    options = True, 7, None, None, None, None, "exact", None, None
    arguments = (q, k, v, None, None, SLOPES, None, lens, None, None, None, *options)
    torch.library.opcheck(torch.ops.fovea.attention.default, arguments)
    table = torch.arange(6, dtype=torch.int32).view(2, 3)
    pages = [x.reshape(6, 2, 20, 32) for x in (k, v)]
    torch.library.opcheck(torch.ops.fovea.attention.default, (q, *pages, *arguments[3:10], table, *options))
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    torch.library.opcheck(torch.ops.fovea.attention.default, (*leaves, *arguments[3:]))


@pytest.mark.filterwarnings("ignore")
def test_compile():
    q, k, v = tensors()
    function = lambda q, k, v, lens: fovea.torch.attention(q, k, v, causal=True, window=(9, 0), kv_lens=lens)
    compiled = torch.compile(function, fullgraph=True)
    for lens in (torch.tensor([60, 33]), torch.tensor([20, 41])):
        same_bits(compiled(q, k, v, lens), fovea.attention(q, k, v, causal=True, window=(9, 0), kv_lens=lens))
