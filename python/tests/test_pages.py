"""Keys and values in pages of the caller's tensors, by a table: the bits of contiguous tensors."""

import fovea
import numpy as np
import pytest
import reference

PAGE_ROWS = 16


def pages_of(k, v, lens, spare=3, seed=1):
    """Puts keys and values of each sequence into pages in a random order, and returns pages and table. What no sequence
    owns is NaN."""
    needed = [-(-length // PAGE_ROWS) for length in lens]
    order = np.random.default_rng(seed).permutation(sum(needed) + spare).tolist()
    made = [np.full((len(order), x.shape[1], PAGE_ROWS, x.shape[3]), np.nan, x.dtype) for x in (k, v)]
    table = np.full((len(lens), max(needed) + 1), -1, np.int32)
    for b, length in enumerate(lens):
        for i in range(needed[b]):
            table[b, i] = order.pop()
            rows = min(PAGE_ROWS, length - i * PAGE_ROWS)
            for pages, x in zip(made, (k, v)):
                pages[table[b, i], :, :rows] = x[b, :, i * PAGE_ROWS:i * PAGE_ROWS + rows]
    return *made, table


def one_by_one(q, k, v, lens, **options):
    return np.stack([fovea.attention(q[b], k[b, :, :n], v[b, :, :n], **options) for b, n in enumerate(lens)])


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("options", [{}, {"causal": True, "window": (20, 0)}, {"mode": "int8"}], ids=str)
def test_bits(rows, options):
    q, k, v = reference.tensors(1, rows=rows)
    lens = [150, 77]
    k_pages, v_pages, table = pages_of(k, v, lens)
    expected = one_by_one(q, k, v, lens, **options)
    o = fovea.attention(q, k_pages, v_pages, page_table=table, kv_lens=lens, **options)
    assert o.tobytes() == expected.tobytes()
    wide = np.zeros((2, 30), np.int64)[:, :table.shape[1]]
    wide[:] = table
    o = fovea.attention(q, k_pages, v_pages, page_table=wide, kv_lens=lens, **options)
    assert o.tobytes() == expected.tobytes()


def test_layouts_and_types():
    """Pages of (page, row, head, dim), as other engines have them; float16 keys beside float32 values."""
    q, k, v = reference.tensors(2, rows=3)
    lens = [33, 128]
    k_pages, v_pages, table = pages_of(k.astype(np.float16), v, lens)
    expected = one_by_one(q, k.astype(np.float16), v, lens, causal=True)
    rows_first = [np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2) for x in (k_pages, v_pages)]
    for pages in ((k_pages, v_pages), rows_first):
        o = fovea.attention(q, *pages, page_table=table, kv_lens=lens, causal=True)
        assert o.tobytes() == expected.tobytes()


def test_packed_rows():
    """Rows of several sequences in one tensor, as engines batch them."""
    q, k, v = reference.tensors(3, rows=4)
    lens = [40, 90]
    k_pages, v_pages, table = pages_of(k, v, lens)
    packed = np.concatenate([q[0, :, :4], q[1, :, :1]], 1)
    o = fovea.attention(packed, k_pages, v_pages, page_table=table, kv_lens=lens, cu_seqlens_q=[0, 4, 5], causal=True)
    first = fovea.attention(q[0], k[0, :, :40], v[0, :, :40], causal=True)
    second = fovea.attention(q[1, :, :1], k[1, :, :90], v[1, :, :90], causal=True)
    assert o.tobytes() == np.concatenate([first, second], 1).tobytes()


def test_pages_that_are_not_used():
    """Pages before kv_begins, and those after the last key, may have any number; a sequence may have no key."""
    q, k, v = reference.tensors(4, rows=1)
    lens = [150, 0]
    k_pages, v_pages, table = pages_of(k, v, [150, 1])
    table[0, :6] = 1 << 30
    table[1] = -7
    o = fovea.attention(q, k_pages, v_pages, page_table=table, kv_lens=lens, kv_begins=[100, 0])
    assert o[0].tobytes() == fovea.attention(q[0], k[0], v[0], keys=(100, 150)).tobytes()
    assert not o[1].any()


def test_refused():
    q, k, v = reference.tensors(5, rows=1)
    lens = [150, 77]
    k_pages, v_pages, table = pages_of(k, v, lens)
    good = {"page_table": table, "kv_lens": lens}

    def refused(error, text, keys=k_pages, values=v_pages, queries=q, **options):
        out = np.full(q.shape, 7, np.float32)
        with pytest.raises(error, match=text) as caught:
            fovea.attention(queries, keys, values, out=out, **{**good, **options})
        assert (out == 7).all()
        return caught.value

    bad = table.copy()
    bad[1, 2] = 99
    assert refused(fovea.ArgumentError, r"page_table\[1, 2\] is 99; it must be from 0 to", page_table=bad).field == \
        "page_table"
    refused(fovea.ArgumentError, "kv_lens is None; with page_table it must have 2 numbers", kv_lens=None)
    refused(fovea.ArgumentError, r"kv_lens\[0\] is 177; it must be from 0 to 176, the rows of 11 pages",
            kv_lens=[177, 3])
    refused(fovea.ArgumentError, r"kv_begins\[1\] is 78; it must be from 0 to 77", kv_begins=[0, 78])
    refused(fovea.ArgumentError, r"page_table has the shape \(1, 11\); it must have 2 sequences", page_table=table[:1])
    refused(fovea.ArgumentError, "page_table is a tensor of float32", page_table=table.astype(np.float32))
    refused(fovea.ArgumentError, r"page_table is a tensor of int32 of the shape \(22,\)", page_table=table.ravel())
    refused(fovea.ArgumentError, r"k has the shape .*; with page_table it must be \(pages, kv_heads, page_rows, 32\)",
            keys=k_pages[..., :16].copy())
    refused(fovea.ArgumentError, "v has the shape", values=v_pages[1:])
    refused(fovea.UnusedError, "cu_seqlens_kv is given, and page_table", cu_seqlens_kv=[0, 3, 4])
    refused(fovea.UnusedError, "padding is given, and a cache, page_table", padding=[1, 0])
    refused(fovea.UnusedError, "first_key is 3, and page_table", first_key=3)
    cache = fovea.Cache.paged(2, 8, 16, 2, 32)
    refused(fovea.UnusedError, "page_table is given, and a cache", keys=None, values=None, cache=cache)
    with pytest.raises(TypeError, match="page_table"):
        fovea.Plan(q, k_pages, v_pages, **good)
