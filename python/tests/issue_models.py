"""Models of the kinds that issues are about, with weights that are the same on every machine."""

import numpy as np

import torch
from torch.nn import functional


def fill(model, seed=1):
    """Random weights; of norms around 1."""
    random = np.random.default_rng(seed)
    for name, weight in model.named_parameters():
        numbers = random.standard_normal(tuple(weight.shape), dtype=np.float32)
        numbers *= weight.shape[-1] ** -0.5 if weight.ndim > 1 else 0.1
        weight.data.copy_(torch.from_numpy(numbers + name.endswith("norm.weight")))
    return model.eval().requires_grad_(False)


class Layer(torch.nn.Module):
    """One layer of BERT (2018), or with `causal` of GPT-2 (2019), whose norms come first."""

    def __init__(self, dim, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.query, self.key, self.value, self.out = (torch.nn.Linear(dim, dim) for _ in range(4))
        self.up, self.down = torch.nn.Linear(dim, 4 * dim), torch.nn.Linear(4 * dim, dim)
        self.norm, self.last_norm = torch.nn.LayerNorm(dim), torch.nn.LayerNorm(dim)

    def attend(self, x, mask, cache):
        split = lambda y: y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = k, v
        o = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal and x.shape[1] > 1)
        return self.out(o.transpose(1, 2).reshape(x.shape))

    def forward(self, x, mask=None, cache=None):
        if self.causal:
            x = x + self.attend(self.norm(x), mask, cache)
            return x + self.down(functional.gelu(self.up(self.last_norm(x)), approximate="tanh"))
        x = self.norm(x + self.attend(x, mask, cache))
        return self.last_norm(x + self.down(functional.gelu(self.up(x))))


class Model(torch.nn.Module):
    """An encoder of sentences, or with `causal` a language model."""

    def __init__(self, dim=384, heads=12, layers=6, vocabulary=500, causal=False):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(vocabulary, dim), torch.nn.Embedding(128, dim)
        self.layers = torch.nn.ModuleList(Layer(dim, heads, causal) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(dim)
        self.causal = causal
        fill(self)

    def embedded(self, ids, first=0):
        x = self.words(ids) + self.places(torch.arange(first, first + ids.shape[1]))
        return x if self.causal else self.norm(x)

    def forward(self, ids, mask=None):
        x = self.embedded(ids)
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def vectors(self, sentences, pool="mean", length=None):
        """A vector of each sentence, a list of numbers of tokens; shorter ones are padded, to `length` at least."""
        length = max([len(each) for each in sentences] + [length or 0])
        ids = torch.tensor([each + [0] * (length - len(each)) for each in sentences])
        used = torch.arange(length) < torch.tensor([len(each) for each in sentences])[:, None]
        x = self(ids, used[:, None, None, :])
        if pool == "first":
            return x[:, 0]
        return (x * used[..., None]).sum(1) / used.sum(1, keepdim=True)

    def logits(self, ids, caches=None):
        """Of a language model: for each token of the next one; with caches, a list for each layer, after what they
        hold."""
        first = caches[0][0].shape[2] if caches and caches[0] else 0
        x = self.embedded(ids, first)
        for i, layer in enumerate(self.layers):
            x = layer(x, cache=caches[i] if caches else None)
        return functional.linear(self.norm(x), self.words.weight)

    def logits_by_steps(self, ids):
        caches = [[] for _ in self.layers]
        return torch.cat([self.logits(ids[:, i:i + 1], caches) for i in range(ids.shape[1])], 1)


def sentences(count, shortest, longest, seed=2, vocabulary=500):
    random = np.random.default_rng(seed)
    return [random.integers(1, vocabulary, random.integers(shortest, longest + 1)).tolist() for _ in range(count)]
