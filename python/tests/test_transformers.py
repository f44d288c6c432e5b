"""attn_implementation="fovea": models of transformers against transformers' own eager attention."""

import contextlib
import hashlib
import itertools

import fovea
import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import fovea.torch  # pylint: disable=wrong-import-position
import fovea.transformers  # pylint: disable=wrong-import-position

transformers.logging.set_verbosity_error()

BATCH, ROWS, WINDOW = 3, 37, 8
TOLERANCE = 2e-5  # for numbers of size 1
SIZES = dict(vocab_size=99, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=128)
GROUPS = dict(SIZES, num_key_value_heads=2, head_dim=16)
TOKENS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=None)


def _made_by(name, model, **options):
    return lambda: getattr(transformers, model)(getattr(transformers, name)(**options))


DECODERS = {
    "llama": _made_by("LlamaConfig", "LlamaForCausalLM", **GROUPS, **TOKENS),
    "mistral": _made_by("MistralConfig", "MistralForCausalLM", **GROUPS, **TOKENS, sliding_window=WINDOW),
    "gemma2": _made_by("Gemma2Config", "Gemma2ForCausalLM", **GROUPS, **TOKENS, sliding_window=WINDOW,
                       query_pre_attn_scalar=16, attn_logit_softcapping=2.0),
    "gemma3": _made_by("Gemma3TextConfig", "Gemma3ForCausalLM", **GROUPS, **TOKENS, sliding_window=WINDOW,
                       query_pre_attn_scalar=16, layer_types=["sliding_attention", "full_attention"]),
    "gpt-oss": _made_by("GptOssConfig", "GptOssForCausalLM", **GROUPS, **TOKENS, sliding_window=WINDOW,
                        num_local_experts=4, num_experts_per_tok=2),
}
ENCODERS = {
    "bert": _made_by("BertConfig", "BertModel", **SIZES),
    "modernbert": _made_by("ModernBertConfig", "ModernBertModel", **dict(SIZES, num_hidden_layers=3), **TOKENS,
                           local_attention=2 * WINDOW, cls_token_id=1, sep_token_id=2),
}
OTHERS = {
    "vit": _made_by("ViTConfig", "ViTModel", hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                    num_attention_heads=4, image_size=24, patch_size=4),
    "whisper": _made_by("WhisperConfig", "WhisperForConditionalGeneration", vocab_size=99, d_model=64,
                        encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                        encoder_ffn_dim=96, decoder_ffn_dim=96, num_mel_bins=16, max_source_positions=50,
                        max_target_positions=64, decoder_start_token_id=1, **TOKENS),
    "t5": _made_by("T5Config", "T5ForConditionalGeneration", vocab_size=99, d_model=64, d_kv=16, d_ff=96, num_layers=2,
                   num_heads=4, decoder_start_token_id=1, **TOKENS),
}
MODELS = {**DECODERS, **ENCODERS, **OTHERS}


def model_of(name):
    """With weights that are the same on every machine, and large enough for scores that differ."""
    model = MODELS[name]().eval().requires_grad_(False)
    random = np.random.default_rng(1)
    for weight in model.parameters():
        numbers = torch.from_numpy(random.standard_normal(tuple(weight.shape), dtype=np.float32))
        if weight.ndim == 1:
            weight += numbers / 8
        else:
            weight.copy_(numbers * 1.5 / weight[0].numel()**0.5)
    return model


def tokens(batch=BATCH, rows=ROWS, seed=2):
    return torch.from_numpy(np.random.default_rng(seed).integers(3, 99, (batch, rows)))


def padding(side):
    """attention_mask for lengths of 37, 20 and 5."""
    place = torch.arange(ROWS)
    real = {"none": place < torch.tensor([[ROWS]] * BATCH), "right": place < torch.tensor([[37], [20], [5]]),
            "left": place >= torch.tensor([[0], [17], [32]]),
            "within": (place % 7 > 0) | (place > torch.tensor([[-1], [20], [30]]))}
    return real[side]


def inputs_of(name, side):
    random = np.random.default_rng(3)
    if name == "vit":
        return {"pixel_values": torch.from_numpy(random.standard_normal((BATCH, 3, 24, 24), dtype=np.float32))}
    if name == "whisper":
        features = torch.from_numpy(random.standard_normal((BATCH, 16, 100), dtype=np.float32))
        return {"input_features": features, "decoder_input_ids": tokens(rows=19)}
    inputs = {"input_ids": tokens(), "attention_mask": padding(side).long()}
    if name == "t5":
        inputs["decoder_input_ids"] = tokens(rows=19)
    return inputs


def output(model, implementation, inputs):
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        done = model(**inputs)
    return done.logits if "logits" in done else done.last_hidden_state


def error_of(model, name, side="none"):
    """The largest difference from eager attention at rows that are no padding, by the largest number."""
    inputs = inputs_of(name, side)
    expected = output(model, "eager", inputs)
    found = output(model, "fovea", inputs)
    assert found.shape == expected.shape
    difference = (found - expected).abs()
    if "attention_mask" in inputs and difference.shape[1] == ROWS:
        difference = difference[padding(side)]
    return float(difference.max()) / float(expected.abs().max())


CASES = [(name, side) for name in MODELS for side in ("none", "left", "right", "within")
         if side == "none" or name not in ("vit", "whisper")]


@pytest.mark.parametrize("name, side", CASES)
def test_results(name, side):
    assert error_of(model_of(name), name, side) < TOLERANCE


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt-oss"])
def test_bfloat16(name):
    model, inputs = model_of(name), inputs_of(name, "left")
    expected = output(model, "eager", inputs)[padding("left")]
    found = output(model.bfloat16(), "fovea", inputs)[padding("left")]
    assert found.dtype == torch.bfloat16
    assert float((found - expected).norm() / expected.norm()) < 0.05


# ---- Planted faults ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def calls_seen(change=lambda options: None):
    """What layers ask of the operator, (query, key, keywords), after `change`."""
    seen, real = [], fovea.torch.attention

    def attention(query, key, value, **options):
        change(options)
        seen.append((query, key, options))
        return real(query, key, value, **options)

    fovea.torch.attention = attention
    try:
        yield seen
    finally:
        fovea.torch.attention = real


@pytest.mark.parametrize("name, side, keyword, value", [
    ("llama", "none", "causal", False), ("llama", "none", "offset", 1), ("llama", "left", "padding", None),
    ("llama", "within", "mask", None), ("bert", "right", "kv_lens", None), ("llama", "none", "scale", 0.24),
    ("mistral", "none", "window", (WINDOW, None)), ("modernbert", "none", "window", (WINDOW, WINDOW + 1)),
    ("gemma2", "none", "softcap", None), ("gemma2", "none", "softcap", 2.01), ("gpt-oss", "none", "sink", None),
    ("t5", "none", "mask", None)])
def test_planted_faults(name, side, keyword, value):
    """A layer that says something else to the operator does not pass test_results()."""

    def change(options):
        if options.get(keyword) is not None:
            options[keyword] = value

    with calls_seen(change):
        assert error_of(model_of(name), name, side) > 10 * TOLERANCE


# ---- Memory ------------------------------------------------------------------------------------------------------


class _Shapes(torch.utils._python_dispatch.TorchDispatchMode):  # pylint: disable=protected-access
    """Keeps the shapes of all tensors that operators make."""

    def __init__(self):
        super().__init__()
        self.shapes = set()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        made = function(*arguments, **(keywords or {}))
        for each in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(each, torch.Tensor):
                self.shapes.add(tuple(each.shape))
        return made


@pytest.mark.parametrize("name, side", [("llama", "left"), ("mistral", "right"), ("gemma3", "left"), ("bert", "right"),
                                        ("modernbert", "right"), ("bert", "within")])
def test_no_matrix_of_rows_and_keys(name, side):
    model = model_of(name)
    square = lambda shapes: [shape for shape in shapes if shape[-2:] == (ROWS, ROWS)]
    with _Shapes() as made:
        output(model, "fovea", inputs_of(name, side))
    assert not square(made.shapes)
    with _Shapes() as made:
        output(model, "sdpa", inputs_of(name, side))
    assert square(made.shapes)


def test_keys_are_not_repeated():
    with calls_seen() as seen:
        output(model_of("llama"), "fovea", inputs_of("llama", "left"))
    assert [(query.shape[1], key.shape[1]) for query, key, _ in seen] == [(4, 2), (4, 2)]


# ---- Generation --------------------------------------------------------------------------------------------------

NEW = 12


def generated(model, implementation, inputs, **options):
    model.set_attn_implementation(implementation)
    done = model.generate(**inputs, max_new_tokens=NEW, do_sample=False, return_dict_in_generate=True,
                          output_logits=True, **options)
    return done.sequences[:, -NEW:], torch.stack(done.logits, 1)


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", DECODERS)
def test_left_padding(name, cache):
    """A prompt among others, padded in front, goes on as it does alone, and as transformers' own attention has it."""
    model = model_of(name)
    inputs = inputs_of(name, "left")
    among, logits = generated(model, "fovea", inputs, cache_implementation=cache)
    for b, real in enumerate(padding("left")):
        alone, logits_alone = generated(model, "fovea", {"input_ids": inputs["input_ids"][b:b + 1, real]},
                                        cache_implementation=cache)
        assert torch.equal(among[b], alone[0])
        torch.testing.assert_close(logits[b], logits_alone[0], atol=1e-4, rtol=1e-4)
    eager, logits_eager = generated(model, "eager", inputs)
    assert torch.equal(among, eager)
    torch.testing.assert_close(logits, logits_eager, atol=1e-4, rtol=1e-4)


def test_static_cache_is_read_where_it_lies():
    with calls_seen() as seen:
        generated(model_of("llama"), "fovea", inputs_of("llama", "left"), cache_implementation="static")
    assert len(seen) == 2 * NEW
    for layer in (0, 1):
        assert len({key.data_ptr() for _, key, _ in seen[layer::2]}) == 1
    for step, (_, key, options) in enumerate(seen[:-2:2]):
        assert key.shape[2] >= ROWS + NEW - 1
        assert options["kv_lens"].max() == ROWS + step  # only what is there


@pytest.mark.parametrize("name", ["whisper", "t5"])
def test_generation_of_encoder_decoders(name):
    model, inputs = model_of(name), inputs_of(name, "right")
    del inputs["decoder_input_ids"]
    found, expected = (generated(model, each, inputs) for each in ("fovea", "eager"))
    assert torch.equal(found[0], expected[0])
    torch.testing.assert_close(found[1], expected[1], atol=1e-4, rtol=1e-4)


# ---- One answer --------------------------------------------------------------------------------------------------

LENGTHS = [150] + [i * 37 % 150 + 1 for i in range(1, 16)]


def bits(tensor):
    return hashlib.sha256(tensor.contiguous().numpy().tobytes()).hexdigest()


def hashes_of(model, row):
    """Of one prompt's output: in three batches, padded on either side, by one and two threads, and step by step."""
    words = tokens(batch=len(LENGTHS), rows=max(LENGTHS), seed=7)
    hashes = set()
    for side, batch, threads in itertools.product(("left", "right"), (1, 3, 16), (1, 2)):
        torch.set_num_threads(threads)
        chosen = [row, *(i for i in range(16) if i != row)][:batch]
        width = max(LENGTHS[i] for i in chosen)
        ids, real = torch.zeros(2, batch, width, dtype=torch.int64)
        for b, i in enumerate(chosen):
            at = slice(width - LENGTHS[i], width) if side == "left" else slice(0, LENGTHS[i])
            ids[b, at], real[b, at] = words[i, :LENGTHS[i]], 1
        output = model(input_ids=ids, attention_mask=real, position_ids=(real.cumsum(1) - 1).clamp(min=0))
        hashes.add(bits(output.last_hidden_state[0, real[0].bool()]))
    cache = transformers.DynamicCache(config=model.config)
    steps = words[row:row + 1, :LENGTHS[row]].split([LENGTHS[row] - 3, 1, 1, 1], 1)
    done = [model(input_ids=step, cache=cache).last_hidden_state for step in steps]
    hashes.add(bits(torch.cat(done, 1)[0]))
    return hashes


@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2", "gemma3"])
def test_one_answer(name):
    """The same bits for any padding, batch and number of threads, in a prompt and step by step."""
    model, threads = model_of(name).model, torch.get_num_threads()
    model.set_attn_implementation("fovea")
    with torch.no_grad(), fovea.torch.one_answer():
        fovea.torch.pack(model)
        assert len(hashes_of(model, 1)) == 1
        if name == "llama":
            assert len(hashes_of(model, 3)) == 1
            with calls_seen(lambda options: options.update(kv_begins=options.pop("padding", None))):
                assert len(hashes_of(model, 3)) > 1  # a planted fault
    torch.set_num_threads(threads)


# ---- What rules do not say ---------------------------------------------------------------------------------------


def test_packed_sequences():
    """Positions that begin again separate sequences of a row; that takes numbers for each row and key."""
    inputs = {"input_ids": tokens(), "position_ids": torch.cat([torch.arange(20), torch.arange(17)])[None]}
    model = model_of("llama")
    expected = output(model, "eager", inputs)
    torch.testing.assert_close(output(model, "fovea", inputs), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32], ids=str)
def test_masks_of_the_caller(dtype):
    seen = torch.from_numpy(np.random.default_rng(4).random((BATCH, 1, ROWS, ROWS)) < 0.7) | torch.eye(ROWS).bool()
    given = seen if dtype == torch.bool else torch.zeros(seen.shape).masked_fill(~seen, -1e30)
    model = model_of("llama")
    expected = output(model, "sdpa", {"input_ids": tokens(), "attention_mask": seen})
    found = output(model, "fovea", {"input_ids": tokens(), "attention_mask": given})
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_model_without_the_interface():
    """Attention that is the model's own gets its numbers, and the caller a warning."""
    config = transformers.BloomConfig(vocab_size=99, hidden_size=64, n_layer=2, n_head=4)
    expected = transformers.BloomModel._from_config(config, attn_implementation="eager").eval()
    model = transformers.BloomModel._from_config(config, attn_implementation="fovea").eval()
    model.load_state_dict(expected.state_dict())
    inputs = {"input_ids": tokens(), "attention_mask": padding("left").long()}
    with torch.no_grad(), pytest.warns(UserWarning, match="rules become numbers"):
        found = model(**inputs).last_hidden_state
        assert torch.equal(found, expected(**inputs).last_hidden_state)


@pytest.mark.filterwarnings("ignore")
def test_compile():
    model = model_of("llama")
    inputs = inputs_of("llama", "left")
    expected = output(model, "fovea", inputs)
    with torch.no_grad():
        found = torch.compile(model, backend="eager")(**inputs).logits
    torch.testing.assert_close(found[padding("left")], expected[padding("left")], atol=1e-4, rtol=1e-4)


def test_gradients():
    inputs = inputs_of("mistral", "right")
    grads = []
    for implementation in ("fovea", "eager"):
        model = model_of("mistral").requires_grad_(True)
        model.set_attn_implementation(implementation)
        logits = model(**inputs).logits[padding("right")]
        torch.nn.functional.cross_entropy(logits, inputs["input_ids"][padding("right")]).backward()
        grads.append([weight.grad for weight in model.parameters()])
    for found, expected in zip(*grads):
        assert float((found - expected).abs().max()) <= 1e-4 * float(expected.abs().max())


# ---- Refusals ----------------------------------------------------------------------------------------------------


def test_dropout():
    config = transformers.BertConfig(**SIZES, attention_probs_dropout_prob=0.125)
    model = transformers.BertModel._from_config(config, attn_implementation="fovea").train()
    with pytest.raises(fovea.UnsupportedError, match="dropout is 0.125; .* eval()") as caught:
        model(input_ids=tokens())
    assert caught.value.field == "dropout"
    model.eval()(input_ids=tokens())


def test_gradients_that_there_are_not():
    model = model_of("gemma2").requires_grad_(True)
    model.set_attn_implementation("fovea")
    with pytest.raises(fovea.UnsupportedError, match=r"softcap is 2.0; .*torch.no_grad\(\)"):
        model(input_ids=tokens())
    model = model_of("t5").requires_grad_(True)
    model.set_attn_implementation("fovea")
    with pytest.raises(fovea.UnsupportedError, match="position_bias requires a gradient") as caught:
        model(input_ids=tokens(), decoder_input_ids=tokens())
    assert caught.value.field == "position_bias"


def layer(**options):
    """A call of a layer by itself."""
    x = torch.zeros(1, 2, 3, 16)
    arguments = {"query": x, "key": x, "value": x, "attention_mask": None, **options}
    return fovea.transformers.attention(torch.nn.Module(), **arguments)


def test_other_refusals():
    with pytest.raises(fovea.UnsupportedError, match="output_attentions is True"):
        layer(output_attentions=True)
    with pytest.raises(fovea.ArgumentError, match=r"attention_mask has the shape \(1, 3\); it must have \(batch"):
        layer(attention_mask=torch.ones(1, 3))
    with torch._subclasses.FakeTensorMode():
        elsewhere = torch.empty(1, 2, 3, 16, device="cuda")
        with pytest.raises(fovea.UnsupportedError, match="query is on cuda:0; .* CPU"):
            layer(query=elsewhere, key=elsewhere, value=elsewhere)


def test_layers_that_get_no_mask():
    """Causal if the layer is, as attn_implementation="sdpa" has it; with the layer's window."""
    q, k, v = (torch.from_numpy(np.random.default_rng(seed).standard_normal((1, 2, 9, 16), dtype=np.float32))
               for seed in range(3))
    own = lambda **options: fovea.transformers.attention(torch.nn.Module(), q, k, v, None, **options)[0]
    said = lambda **options: fovea.torch.attention(q, k, v, **options).transpose(1, 2)
    assert torch.equal(own(), said(causal=True))
    assert torch.equal(own(is_causal=False), said())
    assert torch.equal(own(sliding_window=4), said(causal=True, window=(3, 0)))
    assert torch.equal(own(sliding_window=4, is_causal=False), said(window=(3, 3)))
