"""The sentence model as a module of PyTorch, with the operators of transformers' BertModel and of sentence-transformers:

    model = torch_model.read(DIR)      DIR has model.safetensors of all-MiniLM-L6-v2 (README.md says from where)
    vectors = model(ids, lengths)      ids (texts, tokens), padded after each text

Weights have the names of the file. python/tests and bench/peers run it with and without fovea.torch.one_answer()."""

import golden
import torch
from torch import nn
from torch.nn import functional

HEAD_DIM = 32


class Layer(nn.Module):

    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.heads = dim // HEAD_DIM
        self.attention = nn.ModuleDict({
            "self": nn.ModuleDict({name: nn.Linear(dim, dim) for name in ("query", "key", "value")}),
            "output": nn.ModuleDict({"dense": nn.Linear(dim, dim), "LayerNorm": nn.LayerNorm(dim, golden.EPS)})})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(dim, hidden_dim)})
        self.output = nn.ModuleDict({"dense": nn.Linear(hidden_dim, dim), "LayerNorm": nn.LayerNorm(dim, golden.EPS)})

    def attend(self, x, mask):
        layers = self.attention["self"].values()
        q, k, v = (layer(x).unflatten(-1, (self.heads, HEAD_DIM)).transpose(1, 2) for layer in layers)
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)

    def forward(self, x, mask):
        output = self.attention["output"]
        x = output["LayerNorm"](output["dense"](self.attend(x, mask)) + x)
        hidden = functional.gelu(self.intermediate["dense"](x))
        return self.output["LayerNorm"](self.output["dense"](hidden) + x)


class Minilm(nn.Module):

    def __init__(self, vocabulary=30522, positions=512, dim=golden.DIM, hidden_dim=4 * golden.DIM, layers=golden.LAYERS):
        super().__init__()
        self.embeddings = nn.ModuleDict({
            "word_embeddings": nn.Embedding(vocabulary, dim), "position_embeddings": nn.Embedding(positions, dim),
            "token_type_embeddings": nn.Embedding(2, dim), "LayerNorm": nn.LayerNorm(dim, golden.EPS)})
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(dim, hidden_dim) for _ in range(layers))})
        self.eval().requires_grad_(False)

    def forward(self, ids, lengths=None):
        """(texts, dim): means of the rows of each text, 1 long. Without lengths no text is padded."""
        e, places = self.embeddings, torch.arange(ids.shape[1])
        seen = torch.ones(ids.shape, dtype=torch.bool) if lengths is None else places < lengths[:, None]
        x = e["word_embeddings"](ids) + e["token_type_embeddings"](torch.zeros_like(ids))
        x = e["LayerNorm"](x + e["position_embeddings"](places))
        mask = None if lengths is None else seen[:, None, None]
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        counted = seen[..., None].expand(x.shape).to(x.dtype)
        mean = (x * counted).sum(1) / counted.sum(1).clamp(min=1e-9)
        return functional.normalize(mean, p=2, dim=1)

    def load(self, weights):
        """Takes arrays by their names; others than the model's (BERT's pooler, positions) are left."""
        found = {name: torch.tensor(array) for name, array in weights.items() if name in self.state_dict()}
        self.load_state_dict(found)
        return self


def read(directory):
    return Minilm().load(golden.weights_of(directory))


def padded(texts):
    """(ids, lengths) of lists of tokens."""
    lengths = torch.tensor([len(text) for text in texts])
    ids = torch.zeros((len(texts), int(lengths.max())), dtype=torch.int64)
    for row, text in zip(ids, texts):
        row[:len(text)] = torch.tensor(text)
    return ids, lengths
