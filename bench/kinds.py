"""The kinds of kept runs: what each page in bench/results is about, and how to read it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    prefix: str  # of the run's name
    script: str  # prints its tables; none: it has no page of its own
    title: str
    introduction: str
    bars: bool = True


# The first whose prefix fits counts.
KINDS = (
    Kind("accuracy-", "", "Errors of modes and formats: docs/numerics.md, docs/layers.md", "", bars=False),
    Kind("budget-", "budget.py", "What attention spends its time on", """\
Each operation of the kernel table is timed where it is called, and the clock's own time is taken away. **score** is
Q K^T of a row tile and a block of keys, with what it prefetches; **value** is weights times V; **softmax** is maxima,
exponentials and sums; **adjust** is softcap, masks, and limits of rows in decoding; **load** transposes queries and
converts rows to f32; **store** normalises and writes outputs; **merge** joins states of spans. **driver** is everything
else: the walk through blocks and tiles, lists of rows, threads. **sum / whole** is the sum of all parts over the time of
the same run without clocks in it. The last two columns say what the products reach of what bounds them: of the FMA peak
in a prefill, of the rate of reading K or V in decoding. Less time is better, and a fraction nearer to 1.""", bars=False),
    Kind("busy-peers-", "peers/busy_report.py", "Beside a busy process", """\
All run on the same few CPUs, alone and beside one process that always computes. `minilm` is a sentence model of
all-MiniLM-L6-v2's sizes on one text of 16 tokens, `prefill` one attention call. A library whose threads wait for a thread
that does not run takes many times as long as with one thread alone: less is better.
[Peers](../peers/README.md#beside-a-busy-process) says how this is measured."""),
    Kind("caches-peers-", "peers/caches_report.py", "Caches beside vLLM, zentorch and ggml", """\
All libraries read the same bytes, in pages of shuffled order where a name has `page`. The column of Fovea has its
milliseconds with keys in rows / in panels. The other columns say how many times as long the others take, in the same
order; below 1, in bold, the other is faster. [Peers](../peers/README.md#caches) says what is measured, and what each
library can read."""),
    Kind("formats-", "tables.py formats", "Quantised caches", """\
Decoding from keys and values in 8 and 4 bits, beside caches of the same numbers in f32 and f16: more tokens a second are
better. `of the read bandwidth` is the rate at which the cache is read, over the rate of plain reading by the same
threads: nearer to 1 is better. Prefill is beside prefill from contiguous f32, appending beside a copy of the f32 rows."""),
    Kind("ggml_plugin-peers-", "peers/ggml_plugin_report.py", "llama.cpp with the plugin for ggml and without", """\
llama.cpp on a GGUF file of 100 million random weights, attention by [the plugin](../../docs/ggml.md) or by ggml itself, with
keys and values in f16 or q8_0. Tokens a second: more are better. `x` says how many times as long ggml takes, in the faster
of its two settings, as the plugin in its threads, as the plugin's device and as int8 mode; below 1, in bold, ggml is
faster. Exact mode rounds neither queries nor weights of values; ggml rounds queries to f16, or to 8 bits over q8_0.
[Peers](../peers/README.md#language-models) says how this is measured."""),
    Kind("layers-peers-", "peers/layers_report.py", "Layers and a whole model beside other libraries", """\
The same weights in all libraries, each in its fastest way. A number says how many times as long the other takes; below
1, in bold, it is faster. `r` is rows, `i` inputs, `o` outputs, `d` dims; `minilm/b16_t64` is all-MiniLM-L6-v2 on 16
texts of 64 tokens. [Peers](../peers/README.md) says how this is measured."""),
    Kind("layers-", "tables.py layers", "Layers beside the limits of the machine", """\
OpenBLAS multiplies the same numbers in the same rounds, with the best of its kernels and ways: above 1 Fovea is faster.
The register tile's rate is what the products alone reach out of the first-level cache; a copy from L2, or plain reading,
bounds the rest: nearer to 1 is better. Cycles count 16 numbers: fewer are better."""),
    Kind("llm-peers-", "peers/llm_report.py", "A language model beside llama.cpp", """\
[fovea_llm](../../examples/llm/README.md) and llama.cpp's `llama-bench` on the same GGUF files of 100 million random
weights, with keys and values in f16. Tokens a second: more are better. `x exact` and `x int8` say how many times as long
llama.cpp takes as each mode; below 1, in bold, it is faster. llama.cpp rounds inputs of layers to 8 bits with a scale
for each 32 numbers, or to f16 if the weights are f16. Fovea's exact mode does not round them, and int8 mode rounds them
to 8 bits with a scale for each row. [Peers](../peers/README.md#language-models) says how this is measured."""),
    Kind("modes-peers-", "peers/modes_report.py", "int8 mode beside ggml with keys and values in q8_0", """\
Prefill over the numbers of one q8_0 cache. Fovea reads them as i8 codes with a scale for each row, as q8_0, and as f32;
its outputs in int8 mode have the same bits in all three. ggml reads q8_0, and f16. `x` says how many times as long ggml
takes. Errors are against float64 over the numbers of the cache. ggml's tiles of 64 query rows take f32 and f16 only:
over q8_0 each query row goes through all of its keys by itself, and converts their values again. The column of f16 shows
what tiles gain."""),
    Kind("modes-", "tables.py modes", "bf16 and int8 mode beside exact mode", """\
Speeds in GFLOP/s over the visible pairs, and how many times as fast as exact mode on the same tensors (without AMX): more
is better. Each round measures exact mode, the mode, and exact mode again. [Modes](../../docs/modes.md) says what a mode
costs in accuracy."""),
    Kind("module-", "python/module_report.py", "What the Python module costs", """\
Small calls have one row and one key, so what they take is the way there and back. The model is that of
[docs/python.md](../../docs/python.md#a-model-that-is-faster); its column says how many times as long PyTorch takes alone:
below 1, in bold, PyTorch is faster. [bench/python](../python/README.md) says how this is measured."""),
    Kind("one_answer-peers-", "peers/one_answer_report.py", "A sentence model in PyTorch with and without one_answer()", """\
Tokens to vectors by a model of all-MiniLM-L6-v2's sizes in PyTorch: `minilm/b16_t64` is 16 texts of 64 tokens. `x` says
how many times as long PyTorch takes alone; below 1, in bold, it is faster alone.
[Peers](../peers/README.md#with-and-without-one_answer) says how this is measured."""),
    Kind("one_answer_hashes-peers-", "peers/one_answer_hashes_report.py", "Hashes with and without one_answer()", """\
The first six digits of the SHA-256 of one sentence's vector, by all-MiniLM-L6-v2 in PyTorch: alone, and as one of 3 and of
16. [Peers](../peers/README.md#with-and-without-one_answer) says how."""),
    Kind("patterns-", "tables.py patterns", "Patterns, score terms, outputs and graphs", """\
`of the speed without` is the speed over the visible pairs, beside the same shape where every row sees every key: nearer
to 1 is better. `time over plain` is the time with a score term or an output over the time without: nearer to 1 is better.
`x` says how many times as long another takes: above 1 Fovea is faster. Three passes of C are scores, softmax and sums
over the same edges in plain C, compiled as the library is. [Patterns](../../docs/patterns.md) says what a pattern costs
and why."""),
    Kind("peers-", "peers/report.py", "Attention beside other libraries", """\
PyTorch is `scaled_dot_product_attention`; windows and chunks are `flex_attention`, compiled. ORT MHA and ORT GQA are
ONNX Runtime's operators MultiHeadAttention and GroupQueryAttention; ORT Attention is ONNX's own. OpenVINO is
ScaledDotProductAttention. Each runs in the fastest way that was found. A field is empty if the library does not offer
the problem (GroupQueryAttention is always causal, ORT has no bf16, only PyTorch and GroupQueryAttention have windows),
or offers it only by a mask of the size of the scores. [Peers](../peers/README.md) says how this is measured."""),
    Kind("receipts-", "examples/receipts_report.py", "Receipts and packed texts", """\
[fovea_verify](../../examples/verify/README.md) writes a text with its receipt, token by token over a q8_0 cache, and
verifies it in one pass, with the same number of threads. Both hash the model's file, which the times of the text do not
have. [fovea_compress](../../examples/compress/README.md) packs a text by a model in one pass and unpacks it token by
token, both with one thread. The story is in the words that stories260K was trained for; the model did not write it.
Times are without loading. [bench/examples](../examples/README.md) says how this is measured."""),
    Kind("ring-", "python/ring_report.py", "Ring attention on one host", """\
A sequence split over processes that exchange keys and values by torch.distributed. The time of the products is that of
one call in one process, shared by as many CPUs as there are ranks, or by all: nearer to 1 is better. Ranks that wait for
slower ones wait for transfers, too. [The cost model](../../docs/states.md#a-ring-of-machines) is for other numbers of
machines; [bench/python](../python/README.md) says how this is measured."""),
    Kind("sdpa-", "python/sdpa_report.py", "scaled_dot_product_attention with and without Fovea", """\
`torch.nn.functional.scaled_dot_product_attention` in one process, in turn on PyTorch's own kernel and after
`fovea.torch.activate()`. `x` says how many times as long PyTorch takes alone; below 1, in bold, it is faster alone. In
bf16 PyTorch rounds weights and multiplies pairs of bf16, as bf16 mode does and exact mode does not. Packed sequences are a
call each. With grouped heads and one row, the query heads of a group may be given as rows, which is
another call. [bench/python](../python/README.md) says how this is measured."""),
    Kind("variants-", "variants.py", "Variants of attention against length", """\
Times in milliseconds, for growing numbers of keys: less is better. An exponent of 1 is linear, 2 is quadratic; the
interval holds it with a confidence of 95 %. Sizes: windows of 256 keys to both sides and one global token; blocks of 64,
3 at random; 4 rounds of hashing, chunks of 64; 256 projected keys, features and selected keys; graphs with 16 edges a
node. Layers (longformer, latent) include projections, of 8 inputs and of 64. The error is |variant - exact| / |exact|,
all outputs as one vector. In clusters, queries and keys are near one of 64 centres, and values are alike in a cluster.
Random inputs are the hardest case: no key stands out, exact outputs are means of thousands of values, near 0, and an
approximation's own noise is larger. [Variants](../../docs/variants.md) says what each is."""),
    Kind("", "report.py", "Attention beside the limits of the machine", """\
`of FMA peak` is the speed over the rate of multiply-adds that the same instruction set and threads reach in the same
round: nearer to 1 is better. `of read bandwidth` is the same for decoding, beside plain reading of the same keys and
values. `x` says how many times as long the same attention takes without fusion, as products by OpenBLAS and a
vectorised softmax, with whole score matrices or blocked over rows. [bench](../README.md) says how this is measured."""),
)


def kind_of(path):
    return next(kind for kind in KINDS if path.name.startswith(kind.prefix))
