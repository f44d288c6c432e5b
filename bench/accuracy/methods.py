"""All ways to compute the rows of a head: {name: function of (head, layer, KV head)}."""

import attention

# (scores, values) of the contract of modes, and the letters of fixed.py: what the caller gives.
MODES = (("exact", "exact", ""), ("bf16", "bf16", ""),
         ("int8", "bf16", ""), ("int8", "bf16", "c"), ("int8", "bf16", "k"), ("int8", "bf16", "ck"),
         ("int8", "bf16", "h"), ("int8", "bf16", "ch"),
         ("exact", "int8", ""), ("exact", "int8", "v"),
         ("int8", "int8", ""), ("int8", "int8", "c"), ("int8", "int8", "k"), ("int8", "int8", "ck"),
         ("int8", "int8", "h"), ("int8", "int8", "ch"), ("int8", "int8", "ckv"))
TORCH, SAGE, SAGE_INT8 = "PyTorch bf16", "Sage int8, f16", "Sage int8, int8"


def name_of(scores, values, letters):
    return f"{scores}/{values}" + (f" +{letters}" if letters else "")


def mode(calls, fixed, scores, values, letters):
    def compute(head, layer, kv_head):
        return calls.attend(scores, values, head, **fixed.vectors(layer, kv_head, letters))

    return compute


def methods(calls, fixed):
    found = {name_of(*triple): mode(calls, fixed, *triple) for triple in MODES}
    return found | {TORCH: lambda head, *_: attention.torch_bf16(head),
                    SAGE: lambda head, *_: attention.sage(head, "f16"),
                    SAGE_INT8: lambda head, *_: attention.sage(head, "int8")}
