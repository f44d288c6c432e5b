"""Trains the Vision Transformer of this folder, and writes its files:

    data/model.safetensors     the weights: matrices in f16, vectors and positions in f32
    data/digits.safetensors    the held-out images (U8, 0 to 16) and their labels
    data/golden.safetensors    PyTorch's logits of all of them, and attention weights of the first two (f32), with the
                               weights of the file

    python3 -m venv v && v/bin/pip install torch==2.13.0 numpy==2.4.6 scikit-learn==1.9.1
    v/bin/python train.py

The seed is fixed. Another machine or version of PyTorch may still round differently, and then train other weights. The
number of epochs was chosen on a part of the training images (--validate), never on the held-out ones."""

import argparse
import json
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
SEED, HELD_OUT = 2021, 360
DIM, HEADS, LAYERS, HIDDEN = 48, 4, 3, 96
SIDE, PATCH = 8, 2
PATCHES = (SIDE // PATCH) ** 2


class VisionTransformer(nn.Module):
    """Dosovitskiy et al., 2021: patches, class token, learned positions, pre-norm encoder, a head on the class token."""

    def __init__(self, dropout):
        super().__init__()
        self.patch = nn.Linear(PATCH * PATCH, DIM)
        self.class_token = nn.Parameter(torch.randn(DIM) * 0.02)
        self.positions = nn.Parameter(torch.randn(1 + PATCHES, DIM) * 0.02)
        layer = nn.TransformerEncoderLayer(
            DIM, HEADS, HIDDEN, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(DIM), enable_nested_tensor=False)
        self.head = nn.Linear(DIM, 10)
        for module in self.modules():  # all layers were copies of one
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
            elif isinstance(module, nn.MultiheadAttention):
                nn.init.xavier_uniform_(module.in_proj_weight)

    def embed(self, images):
        """(batch, 8, 8), 0 to 1; patches row by row, pixels of a patch row by row."""
        steps = SIDE // PATCH
        patches = images.reshape(-1, steps, PATCH, steps, PATCH).transpose(2, 3).reshape(-1, PATCHES, PATCH * PATCH)
        first = self.class_token.expand(len(images), 1, DIM)
        return torch.cat([first, self.patch(patches)], 1) + self.positions

    def forward(self, images):
        return self.head(self.encoder(self.embed(images))[:, 0])

    def attention(self, images):
        """What tokens attend to: (batch, layers, heads, tokens, tokens)."""
        x, found = self.embed(images), []
        for layer in self.encoder.layers:
            normed = layer.norm1(x)
            found.append(layer.self_attn(normed, normed, normed, average_attn_weights=False)[1])
            x = layer(x)
        return torch.stack(found, 1)


def split():
    """Training and held-out images. Of each digit the same part is held out, chosen at random."""
    images, labels = load_digits(return_X_y=True)
    chosen = np.zeros(len(labels), bool)
    order = np.random.default_rng(SEED).permutation(len(labels))
    for digit in range(10):
        chosen[order[labels[order] == digit][: HELD_OUT // 10]] = True
    images = images.reshape(-1, SIDE, SIDE).astype(np.uint8)
    return images[~chosen], labels[~chosen], images[chosen], labels[chosen]


def warp(images):
    """Moves, turns and scales each image a little."""
    count = len(images)
    even = lambda limit: (torch.rand(count) * 2 - 1) * limit
    angle, size = even(math.radians(8)), 1 + even(0.08)
    move_x, move_y, shear = even(0.2), even(0.2), even(0.05)  # 0.25: one pixel
    rows = [size * angle.cos(), -size * angle.sin() + shear, move_x, size * angle.sin(), size * angle.cos(), move_y]
    grid = F.affine_grid(torch.stack(rows, 1).reshape(-1, 2, 3), [count, 1, SIDE, SIDE], align_corners=False)
    return F.grid_sample(images[:, None], grid, align_corners=False)[:, 0]


def count_right(model, images, labels):
    with torch.no_grad():
        return int((model(images).argmax(1) == labels).sum())


def train(images, labels, epochs, watch):
    batch, rate, warm, kept = 64, 3e-3, 10, 0.998
    model, mean = VisionTransformer(0.05), VisionTransformer(0.0)
    mean.load_state_dict(model.state_dict())  # the result: a moving average of the weights
    mean.eval()
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.05)
    began = time.time()
    for epoch in range(epochs):
        model.train()
        part = min((epoch + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * epoch / epochs))
        for group in optimizer.param_groups:
            group["lr"] = rate * part
        for rows in torch.randperm(len(images)).split(batch):
            loss = F.cross_entropy(model(warp(images[rows])), labels[rows], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                for slow, fast in zip(mean.parameters(), model.parameters()):
                    slow.lerp_(fast, 1 - kept)
        if (epoch + 1) % 20 == 0:
            seen = ", ".join(f"{count_right(mean, *part)} of {len(part[0])}" for part in watch)
            print(f"epoch {epoch + 1}: loss {loss.item():.3f}, right {seen}, {time.time() - began:.0f} s", flush=True)
    return mean


def write_tensors(name, tensors):
    """The format safetensors: what needs the largest alignment first, a header padded to 8 bytes."""
    kinds = {"float32": "F32", "float16": "F16", "uint8": "U8"}
    header, data = {}, b""
    for key, tensor in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])):
        begin = len(data)
        data += tensor.tobytes()
        places = [begin, len(data)]
        header[key] = {"dtype": kinds[tensor.dtype.name], "shape": list(tensor.shape), "data_offsets": places}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(HERE, "data", name), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def write_files(model, images, labels):
    weights = {}
    with torch.no_grad():
        for name, value in model.named_parameters():
            half = value.dim() == 2 and name != "positions"
            if half:
                value.copy_(value.half())
            weights[name] = value.numpy().astype(np.float16 if half else np.float32)
        pixels = torch.tensor(images) / 16
        golden = {"logits": model(pixels).numpy(), "attention": model.attention(pixels[:2]).numpy()}
    write_tensors("model.safetensors", weights)
    write_tensors("digits.safetensors", {"images": images, "labels": labels.astype(np.uint8)})
    write_tensors("golden.safetensors", golden)
    wrong = np.flatnonzero(golden["logits"].argmax(1) != labels)
    print(f"held out: {len(labels) - len(wrong)} of {len(labels)} right; wrong: {wrong.tolist()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--validate", action="store_true", help="train on 4 of 5 training images, test on the others")
    options = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    images, labels, held_images, held_labels = split()
    pixels, wanted = torch.tensor(images) / 16, torch.tensor(labels)
    if options.validate:
        cut = np.random.default_rng(SEED).permutation(len(labels)) < len(labels) * 4 // 5
        train(pixels[cut], wanted[cut], options.epochs, [(pixels[cut], wanted[cut]), (pixels[~cut], wanted[~cut])])
        return
    model = train(pixels, wanted, options.epochs, [(pixels, wanted)])
    write_files(model, held_images, held_labels)


if __name__ == "__main__":
    main()
