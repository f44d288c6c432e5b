"""Language models like Llama, from the formats of llama2.c and ggml: each layer's q, k and v."""

import math
import pathlib
import re
import struct

import numpy
import torch


class Llama:
    """Layers are dictionaries of tensors (out, in): norm, q, k, v, o, norm2, gate, up, down. Pairs that are rotated lie
    side by side, as both formats have them."""

    def __init__(self, layers, embedding, final_norm, heads, kv_heads, base, eps):
        self.layers, self.embedding, self.final_norm = layers, embedding, final_norm
        self.heads, self.kv_heads, self.base, self.eps = heads, kv_heads, base, eps

    def norm(self, x, weight):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * weight

    def rotate(self, x):
        """(heads, tokens, dim)"""
        dim = x.shape[-1]
        turns = self.base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        angles = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * turns
        cos, sin = angles.cos().float(), angles.sin().float()
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)

    def attend(self, layer, x, attention):
        q, k, v = (torch.nn.functional.linear(x, layer[name]) for name in ("q", "k", "v"))
        q, k, v = (y.unflatten(-1, (heads, -1)).transpose(0, 1)
                   for y, heads in ((q, self.heads), (k, self.kv_heads), (v, self.kv_heads)))
        out = attention(self.rotate(q), self.rotate(k), v)
        return torch.nn.functional.linear(out.transpose(0, 1).flatten(-2), layer["o"])

    @torch.no_grad()
    def forward(self, ids, attention=None):
        """The logits of all tokens. `attention` takes q, k, v of a layer (heads, tokens, dim) and gives its outputs."""
        attention = attention or causal
        x = self.embedding[torch.as_tensor(ids)]
        for layer in self.layers:
            x = x + self.attend(layer, self.norm(x, layer["norm"]), attention)
            y = self.norm(x, layer["norm2"])
            gate = torch.nn.functional.silu(torch.nn.functional.linear(y, layer["gate"]))
            x = x + torch.nn.functional.linear(gate * torch.nn.functional.linear(y, layer["up"]), layer["down"])
        return torch.nn.functional.linear(self.norm(x, self.final_norm), self.embedding)

    def qkv(self, ids):
        """[(q, k, v) of each layer], numpy, (heads, tokens, dim)."""
        found = []

        def attention(q, k, v):
            found.append(tuple(x.contiguous().numpy() for x in (q, k, v)))
            return causal(q, k, v)

        self.forward(ids, attention)
        return found


def causal(q, k, v):
    """f32, each step as it is written."""
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    seen = torch.ones(scores.shape[1:], dtype=torch.bool).tril()
    return torch.softmax(scores.masked_fill(~seen, -torch.inf), -1) @ v


class Stories(Llama):
    """A checkpoint of llama2.c (version 0) that shares its embedding, and stories that it tells itself."""

    BOS = 1

    def __init__(self, checkpoint):
        data = pathlib.Path(checkpoint).read_bytes()
        dim, hidden, count, heads, kv_heads, vocabulary, self.longest = struct.unpack("7i", data[:28])
        self.rest = torch.from_numpy(numpy.frombuffer(data[28:], "<f4").copy())
        kv_dim = dim // heads * kv_heads
        embedding = self.take(vocabulary, dim)
        shapes = {"norm": (dim,), "q": (dim, dim), "k": (kv_dim, dim), "v": (kv_dim, dim), "o": (dim, dim),
                  "norm2": (dim,), "gate": (hidden, dim), "down": (dim, hidden), "up": (hidden, dim)}
        stacks = {name: self.take(count, *shape) for name, shape in shapes.items()}
        layers = [{name: stack[i] for name, stack in stacks.items()} for i in range(count)]
        super().__init__(layers, embedding, self.take(dim), heads, kv_heads, 10000.0, 1e-5)

    def take(self, *shape):
        taken, self.rest = self.rest.split((math.prod(shape), len(self.rest) - math.prod(shape)))
        return taken.reshape(shape)

    def tell(self, length, seed):
        """`length` tokens, drawn at temperature 1."""
        generator, ids = numpy.random.default_rng(seed), [self.BOS]
        while len(ids) < length:
            p = torch.softmax(self.forward(ids)[-1].double(), -1).cumsum(0).numpy()
            ids.append(min(int(numpy.searchsorted(p, generator.random())), len(p) - 1))
        return ids


class Gguf(Llama):
    """A file of ggml with a Llama and a tokenizer like GPT-2's; weights are dequantised to f32."""

    NAMES = {"attn_norm": "norm", "attn_q": "q", "attn_k": "k", "attn_v": "v", "attn_output": "o", "ffn_norm": "norm2",
             "ffn_gate": "gate", "ffn_up": "up", "ffn_down": "down"}

    def __init__(self, path):
        from gguf import GGUFReader, dequantize

        reader = GGUFReader(path)
        fields = {name: field.contents() for name, field in reader.fields.items()}
        layers, others = [{} for _ in range(fields["llama.block_count"])], {}
        for tensor in reader.tensors:
            weight = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32))
            found = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", tensor.name)
            if found:
                layers[int(found.group(1))][self.NAMES[found.group(2)]] = weight
            else:
                others[tensor.name] = weight
        super().__init__(layers, others["token_embd.weight"], others["output_norm.weight"],
                         fields["llama.attention.head_count"], fields["llama.attention.head_count_kv"],
                         fields["llama.rope.freq_base"], fields["llama.attention.layer_norm_rms_epsilon"])
        self.bos = fields["tokenizer.ggml.bos_token_id"]
        self.tokens, self.merges = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.merges"]

    def read(self, text, length):
        """The first `length` tokens of a text, after the one that begins a text."""
        from tokenizers import Tokenizer, models, pre_tokenizers

        vocabulary = {token: i for i, token in enumerate(self.tokens)}
        tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in self.merges]))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
        ids = [self.bos, *tokenizer.encode(text).ids]
        if len(ids) < length:
            raise ValueError(f"the text has {len(ids)} tokens, of {length} that are wanted")
        return ids[:length]
