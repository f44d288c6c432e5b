"""A whole sentence model in PyTorch has the bits of the same model in C (examples/minilm), whose tests compare that
digest on every instruction set, on ARM under emulation too: for batches padded or not, threads and packed weights."""

import os
import pathlib
import re
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import fovea.torch  # pylint: disable=wrong-import-position

MINILM = pathlib.Path(__file__).resolve().parents[2] / "examples" / "minilm"
if not MINILM.exists():
    pytest.skip("a source archive of the module has no examples", allow_module_level=True)
sys.path.append(str(MINILM))
import torch_model  # pylint: disable=wrong-import-position

SMALL = {"positions": 256, "dim": 64, "hidden_dim": 96, "layers": 2}


def digest_in_c(name):
    return int(re.search(rf"#define {name} +UINT64_C\((0x\w+)\)", (MINILM / "model_test.c").read_text())[1], 16)


def digest_of(vectors):
    """FNV-1a of the bytes, as in model_test.c."""
    digest = 0xcbf29ce484222325
    for byte in vectors.contiguous().numpy().astype("<f4").tobytes():
        digest = (digest ^ byte) * 0x100000001b3 % 2**64
    return digest


def tokens(name):
    return [[int(word) for word in line.split()] for line in (MINILM / "golden" / name).read_text().splitlines()]


def small_model():
    """With the numbers of examples/minilm/small.c, in its order of tensors."""
    vocabulary = len((MINILM / "golden" / "small_vocabulary.txt").read_text(encoding="utf-8").splitlines())
    model = torch_model.Minilm(vocabulary, **SMALL)
    names = ["embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
             "embeddings.token_type_embeddings.weight"]
    of_layer = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
                "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"]
    modules = ["embeddings.LayerNorm"]
    modules += [f"encoder.layer.{n}.{name}" for n in range(SMALL["layers"]) for name in of_layer]
    names += [f"{module}.{part}" for module in modules for part in ("weight", "bias")]
    state, weights, shapes = 0, {}, {name: tuple(w.shape) for name, w in model.state_dict().items()}
    for name in names:
        numbers = np.empty(int(np.prod(shapes[name])), np.float32)
        for i in range(numbers.size):
            state = (state * 1664525 + 1013904223) % 2**32
            numbers[i] = ((state >> 25) - 64) / 64
        is_matrix, of_encoder = len(shapes[name]) == 2, name.startswith("encoder")
        scale = {names[0]: 1, names[2]: 0.25}.get(name, 0.25 if of_encoder and name.endswith("weight") else 0.5)
        weights[name] = (numbers * np.float32(scale) + np.float32(0 if is_matrix else 0.5)).reshape(shapes[name])
    return model.load(weights)


def vectors_of(model, texts, at_once):
    return torch.cat([model(*torch_model.padded(texts[begin:begin + at_once]))
                      for begin in range(0, len(texts), at_once)])


def check_digests(model, texts, wanted):
    before = torch.get_num_threads()
    try:
        with fovea.torch.one_answer():
            for threads, at_once in ((1, 1), (2, 3), (3, 16)):
                torch.set_num_threads(threads)
                assert digest_of(vectors_of(model, texts, at_once)) == wanted, (threads, at_once)
            fovea.torch.pack(model)
            assert digest_of(vectors_of(model, texts, len(texts))) == wanted
            alone = torch.cat([model(torch.tensor([text])) for text in texts])  # without a mask
        assert digest_of(alone) == wanted
        assert digest_of(vectors_of(model, texts, 1)) != wanted  # PyTorch alone
    finally:
        torch.set_num_threads(before)


def test_small_model():
    check_digests(small_model(), tokens("small_ids.txt"), digest_in_c("SMALL_DIGEST"))


def test_audit_of_model():
    found = fovea.torch.audit(small_model(), *torch_model.padded(tokens("small_ids.txt")[:3]))
    assert all(each.one_answer for each in found), [each.name for each in found if not each.one_answer]


@pytest.mark.skipif("FOVEA_MINILM_DIR" not in os.environ, reason="FOVEA_MINILM_DIR names no published model")
def test_published_model():
    check_digests(torch_model.read(os.environ["FOVEA_MINILM_DIR"]), tokens("ids.txt"), digest_in_c("TRUE_DIGEST"))
