"""Writes golden/: what others make of golden/sentences.txt with the published model.

    python3 golden.py tokens DIR     ids.txt, small_vocabulary.txt, small_ids.txt: by Hugging Face's tokenizers (0.23.3)
    python3 golden.py vectors DIR    vectors.txt: by this file's forward pass in float64 (numpy), every 16th number;
                                     prints how far PyTorch's and ONNX Runtime's f32 are from it, if they are installed

DIR has model.safetensors, vocab.txt and tokenizer.json of all-MiniLM-L6-v2 (README.md says from where)."""

import json
import math
import os
import sys

import numpy as np

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
LAYERS, HEADS, DIM, EPS, LONGEST = 6, 12, 384, 1e-12, 256
SMALL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "train", "left", "sta", "##tion", "on", "time", "it"]
SMALL += list("abcdefghijklmnopqrstuvwxyz0123456789.,!?-'$[]") + ["##" + c for c in "abcdefghijklmnopqrstuvwxyz0123456789"]
SMALL += ["中", "か", "##か", "й", "α", "##ς", "ᄒ", "##ᅡ", "##ᆫ", "豈", "\U00020000"]


def write(name, lines):
    with open(os.path.join(HERE, name), "w", encoding="utf-8", newline="\n") as file:
        file.write("".join(line + "\n" for line in lines))


def sentences():
    with open(os.path.join(HERE, "sentences.txt"), encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def write_tokens(directory):
    from tokenizers import Tokenizer, models

    tokenizer = Tokenizer.from_file(os.path.join(directory, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    write("ids.txt", [" ".join(map(str, e.ids)) for e in tokenizer.encode_batch(sentences())])
    write("small_vocabulary.txt", SMALL)
    text = json.loads(tokenizer.to_str())
    text["model"]["vocab"] = {token: i for i, token in enumerate(SMALL)}
    for token in text["added_tokens"]:
        token["id"] = SMALL.index(token["content"])
    for name, special in text["post_processor"]["special_tokens"].items():
        special["ids"] = [SMALL.index(name)]
    small = Tokenizer.from_str(json.dumps(text))
    write("small_ids.txt", [" ".join(map(str, e.ids)) for e in small.encode_batch(sentences())])


def weights_of(directory):
    with open(os.path.join(directory, "model.safetensors"), "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    found = {}
    for name, info in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__" and info["dtype"] == "F32":
            begin, end = (8 + length + offset for offset in info["data_offsets"])
            found[name] = np.frombuffer(data[begin:end], "<f4").reshape(info["shape"])
    return found


class Numpy:
    """The operations of the forward pass, in float64."""

    def __init__(self, weights):
        self.weights = {name: w.astype(np.float64) for name, w in weights.items()}
        self.erf = np.vectorize(math.erf)

    def embed(self, ids):
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
        return x + w["embeddings.position_embeddings.weight"][: len(ids)]

    def norm(self, x, name):
        d = x - x.mean(-1, keepdims=True)
        scaled = d / np.sqrt((d * d).mean(-1, keepdims=True) + EPS)
        return scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def attend(self, q, k, v):
        q, k, v = (x.reshape(len(x), HEADS, -1).transpose(1, 0, 2) for x in (q, k, v))
        s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        p = np.exp(s - s.max(-1, keepdims=True))
        o = p / p.sum(-1, keepdims=True) @ v
        return o.transpose(1, 0, 2).reshape(-1, DIM)

    def gelu(self, x):
        return x * (1 + self.erf(x / math.sqrt(2))) / 2

    def pool(self, x):
        mean = x.mean(0)
        return mean / max(float(np.sqrt((mean * mean).sum())), 1e-12)


class Torch(Numpy):
    """The same by PyTorch, in f32."""

    def __init__(self, weights):
        import torch

        self.torch = torch
        self.weights = {name: torch.tensor(w.copy()) for name, w in weights.items()}

    def embed(self, ids):
        return super().embed(self.torch.tensor(ids))

    def norm(self, x, name):
        w = self.weights
        return self.torch.nn.functional.layer_norm(x, (DIM,), w[name + ".weight"], w[name + ".bias"], EPS)

    def linear(self, x, name):
        return self.torch.nn.functional.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def attend(self, q, k, v):
        q, k, v = (x.reshape(len(x), HEADS, -1).transpose(0, 1) for x in (q, k, v))
        p = self.torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]), -1)
        return (p @ v).transpose(0, 1).reshape(-1, DIM)

    def gelu(self, x):
        return self.torch.nn.functional.gelu(x)

    def pool(self, x):
        return self.torch.nn.functional.normalize(x.mean(0, keepdim=True))[0].numpy()


def forward(ops, ids):
    x = ops.norm(ops.embed(ids), "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        q, k, v = (ops.linear(x, f"{at}attention.self.{name}") for name in ("query", "key", "value"))
        x = ops.norm(x + ops.linear(ops.attend(q, k, v), at + "attention.output.dense"), at + "attention.output.LayerNorm")
        hidden = ops.gelu(ops.linear(x, at + "intermediate.dense"))
        x = ops.norm(x + ops.linear(hidden, at + "output.dense"), at + "output.LayerNorm")
    return ops.pool(x)


class Onnx:
    """Builds the graph that forward() walks, for ONNX Runtime."""

    def __init__(self, weights):
        from onnx import TensorProto, helper, numpy_helper
        import onnxruntime

        self.helper, self.nodes = helper, []
        self.constants = [numpy_helper.from_array(np.ascontiguousarray(w), name) for name, w in weights.items()]
        self.numpy_helper = numpy_helper
        result = forward(self, "ids")
        graph = helper.make_graph(
            self.nodes,
            "minilm",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
            [helper.make_tensor_value_info(result, TensorProto.FLOAT, [1, DIM])],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def constant(self, value, kind=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(self.numpy_helper.from_array(np.array(value, kind), name))
        return Name(self, name)

    def node(self, kind, *inputs, **attributes):
        name = Name(self, f"t{len(self.nodes)}")
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def embed(self, ids):
        x = self.node("Gather", "embeddings.word_embeddings.weight", ids)
        zero = self.constant(0, np.int64)
        x = self.node("Add", x, self.node("Gather", "embeddings.token_type_embeddings.weight", zero))
        zeros, axes = self.constant([0], np.int64), self.constant([0], np.int64)
        places = self.node("Slice", "embeddings.position_embeddings.weight", zeros, self.node("Shape", ids), axes)
        return self.node("Add", x, places)

    def norm(self, x, name):
        return self.node("LayerNormalization", x, name + ".weight", name + ".bias", epsilon=EPS)

    def linear(self, x, name):
        product = self.node("MatMul", x, self.node("Transpose", name + ".weight", perm=[1, 0]))
        return self.node("Add", product, name + ".bias")

    def attend(self, q, k, v):
        heads = self.constant([-1, HEADS, DIM // HEADS], np.int64)
        q, k, v = (self.node("Reshape", x, heads) for x in (q, k, v))
        q, v = (self.node("Transpose", x, perm=[1, 0, 2]) for x in (q, v))
        s = self.node("MatMul", q, self.node("Transpose", k, perm=[1, 2, 0]))
        p = self.node("Softmax", self.node("Div", s, self.constant(math.sqrt(DIM // HEADS))), axis=-1)
        o = self.node("Transpose", self.node("MatMul", p, v), perm=[1, 0, 2])
        return self.node("Reshape", o, self.constant([-1, DIM], np.int64))

    def gelu(self, x):
        tail = self.node("Add", self.node("Erf", self.node("Div", x, self.constant(math.sqrt(2)))), self.constant(1))
        return self.node("Mul", self.node("Mul", x, tail), self.constant(0.5))

    def pool(self, x):
        mean = self.node("ReduceMean", x, self.constant([0], np.int64), keepdims=1)
        return self.node("LpNormalization", mean, axis=-1, p=2)

    def run(self, ids):
        return self.session.run(None, {"ids": np.array(ids, np.int64)})[0][0]


class Name(str):
    """A value of the graph, which can be added."""

    def __new__(cls, graph, text):
        name = super().__new__(cls, text)
        name.graph = graph
        return name

    def __add__(self, other):
        return self.graph.node("Add", self, other)


def write_vectors(directory):
    with open(os.path.join(HERE, "ids.txt"), encoding="utf-8") as file:
        ids = [[int(x) for x in line.split()] for line in file]
    weights = weights_of(directory)
    exact = [forward(Numpy(weights), line) for line in ids]
    write("vectors.txt", [" ".join(f"{x:.10f}" for x in vector[::16]) for vector in exact])
    for kind in (Torch, Onnx):
        try:
            peer = kind(weights)
        except ImportError as error:
            print(f"{kind.__name__}: {error}")
            continue
        run = peer.run if kind is Onnx else lambda line: forward(peer, line)
        worst = max(float(np.abs(run(line) - vector).max()) for line, vector in zip(ids, exact))
        print(f"{kind.__name__}: differs from float64 by {worst:.1e} at most")
        if len(sys.argv) > 3:  # one more argument: a file of all numbers of this peer, for a comparison by hand
            np.savetxt(f"{sys.argv[3]}.{kind.__name__}.txt", np.array([run(line) for line in ids]), fmt="%.9g")


if __name__ == "__main__":
    {"tokens": write_tokens, "vectors": write_vectors}[sys.argv[1]](sys.argv[2])
