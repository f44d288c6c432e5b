"""What users of PyTorch, sentence-transformers, transformers and ONNX Runtime report about bits that change, each as
two tests: PyTorch's bits differ without Fovea (skipped where they do not on this CPU), and are the same within
one_answer(). A test's name is the repository and the issue's number.

Models of ONNX Runtime's users are said in PyTorch. Padding in front (transformers 29029 and 29419) needs
fovea.transformers: test_transformers.py. These reports are not here, since one_answer() does not give what they ask
for: transformers 26380 (Bloom, whose attention makes its own masks) and 18104 (padding within a sequence, which shifts
positions), sentence-transformers 1695 (a GPU). onnxruntime 20722 is about convolutions, as pytorch 134908 is."""

import copy
import functools
import hashlib
import json
import os
import subprocess
import sys

import fovea
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import fovea.torch  # pylint: disable=wrong-import-position
from issue_models import Model, fill, sentences

SENTENCE, SHORT, LONG = sentences(1, 9, 9, seed=3)[0], sentences(1, 4, 4, seed=4)[0], sentences(1, 14, 14, seed=5)[0]
models = {}


def model(**sizes):
    """The same for all issues that have its sizes."""
    key = tuple(sorted(sizes.items()))
    if key not in models:
        models[key] = Model(**sizes)
        fovea.torch.pack(models[key])
    return models[key]


def in_batches(encoder, texts, size, **options):
    return torch.cat([encoder.vectors(texts[i:i + size], **options) for i in range(0, len(texts), size)])


def random_tensor(*shape, seed=6):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def with_threads(function, *counts):
    before, results = torch.get_num_threads(), []
    for count in counts:
        torch.set_num_threads(count)
        results += function()
    torch.set_num_threads(before)
    return results


# ---- The issues: each function returns tensors that its author expects to be equal ----------------------------------


def sentence_transformers_1453():
    """Batches of more than one text change vectors: all-MiniLM-L6-v2's sizes, sentences of many lengths."""
    texts = sentences(8, 3, 30)
    return [in_batches(model(), texts, size) for size in (8, 3, 1)]


def sentence_transformers_2312():
    """batch_size=32 and batch_size=1, texts of ten words: all-mpnet-base-v2's sizes, two of its layers."""
    texts = sentences(33, 12, 12)
    return [in_batches(model(dim=768, layers=2), texts, 32)[:6], in_batches(model(dim=768, layers=2), texts[:6], 1)]


def sentence_transformers_2451():
    """A sentence alone, and as the second of a list of two: LaBSE's sizes."""
    encoder = model(dim=768, layers=2)
    return [encoder.vectors([SHORT], pool="first")[0], encoder.vectors([LONG, SHORT], pool="first")[1]]


def sentence_transformers_3109():
    """The first sentence of a list, and alone, in a loop: bfloat16, as jina-embeddings-v3 is loaded."""
    encoder = copy.deepcopy(model(dim=768, layers=2)).to(torch.bfloat16)
    texts = [SENTENCE, LONG, SHORT] + sentences(6, 5, 20)
    return [encoder.vectors(texts)[0], encoder.vectors([SENTENCE])[0]]


def sentence_transformers_3197():
    """ "test test" a hundred times, with batch_size=64 and batch_size=1: all-MiniLM-L6-v2 itself."""
    texts = [SHORT] * 100
    return [in_batches(model(), texts, 64), in_batches(model(), texts[:1], 1).repeat(100, 1)]


def sentence_transformers_3278():
    """A single input and one in a batch: the width of mxbai-embed-large-v1, the first token's vector."""
    encoder = model(dim=1024, heads=16, layers=1)
    return [encoder.vectors([SENTENCE], pool="first")[0], encoder.vectors([SENTENCE] + sentences(7, 4, 40),
                                                                        pool="first")[0]]


def sentence_transformers_1839():
    """Equal texts in one list, among others."""
    x = model().vectors([SHORT, SENTENCE, LONG, SHORT, SHORT])
    return [x[0], x[3], x[4], model().vectors([SHORT])[0]]


def transformers_2401():
    """A layer of RoBERTa applied to hidden_states[:2], and to all of them."""
    layer = model(dim=768, layers=2).layers[0]
    x = random_tensor(16, 12, 768)
    return [layer(x[:2]), layer(x)[:2]]


def transformers_10766():
    """One text repeated: batch sizes of 1, of 2 to 4, and from 5 on had three different vectors."""
    return [model().vectors([SENTENCE] * count)[0] for count in (1, 2, 5, 16)]


def transformers_30096():
    """Texts padded to max_length=32, alone and with another."""
    return [model().vectors([SHORT], length=32)[0], model().vectors([SHORT, LONG], length=32)[0]]


def transformers_17490():
    """GPT-2 with and without a cache of keys and values; 25420 is about the same in Llama."""
    decoder = model(layers=2, causal=True)
    ids = torch.tensor([LONG + SENTENCE])
    return [decoder.logits(ids), decoder.logits_by_steps(ids)]


def language_modeling_is_compression_20():
    """Probabilities of all tokens at once, by which a text is coded, and step by step, by which it is decoded."""
    return [logits.softmax(-1) for logits in transformers_17490()]


def scibert_115():
    """Texts of each length, alone and twice in a batch."""
    found = [], []
    for length in (3, 7, 10):
        text = LONG[:length]
        pair = model().vectors([text, text])
        found[0].append(model().vectors([text])[0])
        found[1].append(pair[1])
    return [torch.stack(each) for each in found]


def pytorch_88718():
    """torch.set_num_threads() changes Linear(56, 444)(x); here of a wider layer, too."""
    layers = [fill(torch.nn.Linear(56, 444)), fill(torch.nn.Linear(768, 3072))]
    inputs = [random_tensor(56), random_tensor(5, 768)]
    function = lambda: [torch.cat([layer(x).ravel() for layer, x in zip(layers, inputs)])]
    return with_threads(function, 1, 2, 3, 6)


def pytorch_45422():
    """matmul() of batches of 2 and of 50."""
    x, a = random_tensor(100, 30, 8), random_tensor(8, 20)
    return [torch.cat([x[i:i + size] @ a for i in range(0, 100, size)]) for size in (1, 2, 50)]


def pytorch_124025():
    """A sample on its own, and in a batch."""
    layer, x = fill(torch.nn.Linear(768, 30)), random_tensor(64, 768)
    return [torch.cat([layer(x[i:i + size]) for i in range(0, 64, size)]) for size in (1, 3, 64)]


def onnxruntime_7642():
    """Gemm of (1, 512) and of (2, 512) with (512, 64)."""
    layer, x = fill(torch.nn.Linear(512, 64)), random_tensor(1, 512)
    return [layer(x.repeat(rows, 1))[0] for rows in (1, 2, 7, 16)]


def pytorch_134908():
    """Conv2d of two images at once, and of each alone."""
    layer, x = fill(torch.nn.Conv2d(4, 3, 3, padding=1)), random_tensor(2, 4, 8, 6)
    return [torch.cat([layer(x[i:i + size]) for i in range(0, 2, size)]) for size in (2, 1)]


def onnxruntime_10058():
    """Log and Exp of rows alone, by three, and of all at once; here Sigmoid, too, which has an exp of its own."""
    x = random_tensor(1000)
    function = lambda x: torch.stack([x.abs().log(), x.exp(), x.sigmoid()], 1)
    return [torch.cat([function(x[i:i + size]) for i in range(0, 1000, size)]) for size in (1, 3, 1000)]


def onnxruntime_12086():
    """The same model with the same inputs, twice: in memory, inputs and weights lie elsewhere."""
    weight, bias, x, found = random_tensor(93, 301), random_tensor(93), random_tensor(7, 301), []
    for shift in (0, 1, 4, 8):
        moved = [torch.empty(each.numel() + 64)[shift:shift + each.numel()].view(each.shape).copy_(each)
                 for each in (x, weight, bias)]
        found.append(torch.nn.functional.linear(*moved))
    return found


ISSUES = {name: value for name, value in list(globals().items()) if name.rsplit("_", 1)[-1].isdigit()}


def bits(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


@functools.cache
def own_results(issue):
    """PyTorch's, with one thread and with two."""
    with torch.no_grad():
        return with_threads(ISSUES[issue], 1, 2)


@pytest.mark.parametrize("issue", ISSUES)
def test_without_fovea(issue):
    """The report holds: bits differ."""
    if len({bits(each) for each in own_results(issue)}) == 1:
        pytest.skip(f"PyTorch {torch.__version__} has the same bits on this CPU, with one thread and with two")


@pytest.mark.parametrize("issue", ISSUES)
def test_with_fovea(issue):
    with torch.no_grad(), fovea.torch.one_answer():
        found = with_threads(ISSUES[issue], 1, 2)
    assert len(found) > 1 and {bits(each) for each in found} == {bits(found[0])}
    tolerance = 2e-5 if found[0].dtype == torch.float32 else 0.1
    torch.testing.assert_close(found[0], own_results(issue)[0], atol=tolerance, rtol=tolerance)


# ---- Instruction sets -----------------------------------------------------------------------------------------------

# onnxruntime 5667 (a developer's machine and a server differ), 16275 (convolutions differ on x86 and ARM: tests of the
# library run these products on ARM) and 12086 (all nodes of a grid must agree); pytorch 155423 (AVX-512 or not) and
# 155552 (ATEN_CPU_CAPABILITY does not help).


def hashes():
    """Of a network of layers as in pytorch 155423, an encoder and a convolution: PyTorch's, and one_answer()'s."""
    network = torch.nn.Sequential(fill(torch.nn.Linear(100, 100)), torch.nn.GELU(), fill(torch.nn.Linear(100, 1)))
    calls = {"network": lambda: network(random_tensor(100)),
             "encoder": lambda: model(layers=2).vectors([SENTENCE, LONG]),
             "convolution": lambda: fill(torch.nn.Conv2d(16, 32, 3, padding=1))(random_tensor(1, 16, 9, 9))}
    found = {}
    for name, call in calls.items():
        with torch.no_grad():
            found[name] = hashlib.sha256(bits(call())).hexdigest()
            with fovea.torch.one_answer():
                found[name + " with Fovea"] = hashlib.sha256(bits(call())).hexdigest()
    return found


# As if the CPU had fewer instruction sets: variables of Fovea, PyTorch, oneDNN and MKL.
FEWER = {"FOVEA_ISA": "scalar", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
         "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


@pytest.fixture(scope="module")
def by_set():
    done = subprocess.run([sys.executable, __file__], env={**os.environ, **FEWER}, capture_output=True, text=True,
                          check=True)
    return [hashes(), json.loads(done.stdout)]


@pytest.mark.parametrize("name", ["network", "encoder", "convolution"])
def test_instruction_sets(by_set, name):
    own, with_fovea = ({each[key] for each in by_set} for key in (name, name + " with Fovea"))
    assert len(with_fovea) == 1
    if len(own) == 1:
        pytest.skip(f"PyTorch {torch.__version__} has the same bits for all instruction sets of this CPU")


if __name__ == "__main__":
    print(json.dumps(hashes()))
