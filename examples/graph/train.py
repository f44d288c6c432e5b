"""Trains the graph attention network of this folder, and writes its files:

    data/model.safetensors     the weights: matrices in f16, vectors in f32
    data/club.safetensors      the graph: edges by destination with self loops (I64), the two parts of the club (U8),
                               which members are labelled (U8), and where they are drawn (F32)
    data/golden.safetensors    PyTorch's logits and weights of attention (f32), with the weights of the file

    python3 -m venv v && v/bin/pip install torch==2.13.0 numpy networkx==3.6.1
    v/bin/python train.py

Two members are labelled: the instructor (0) and the administrator (33). The settings are usual ones, and none was chosen
by the answers. `--seeds N` trains N times, and says how many members are right each time."""

import argparse
import json
import os

import networkx as nx
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
SEED, EPOCHS = 1977, 200
HEADS, HIDDEN, CLASSES = 4, 8, 2
LABELLED = [0, 33]


class GraphAttention(nn.Module):
    """Velickovic et al., 2018, over lists of edges. As GATConv of PyTorch Geometric, with the same names."""

    def __init__(self, inputs, outputs, average):
        super().__init__()
        self.lin = nn.Linear(inputs, HEADS * outputs, bias=False)
        self.att_src = nn.Parameter(torch.empty(HEADS, outputs))
        self.att_dst = nn.Parameter(torch.empty(HEADS, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs if average else HEADS * outputs))
        self.average = average
        for tensor in (self.lin.weight, self.att_src, self.att_dst):
            nn.init.xavier_uniform_(tensor)

    def forward(self, x, sources, targets):
        nodes = len(x)
        h = self.lin(x).view(nodes, HEADS, -1)
        scores = (h * self.att_dst).sum(-1)[targets] + (h * self.att_src).sum(-1)[sources]
        powers = F.leaky_relu(scores, 0.2).exp()
        sums = torch.zeros(nodes, HEADS).index_add(0, targets, powers)
        weights = powers / sums[targets]
        y = torch.zeros_like(h).index_add(0, targets, weights[:, :, None] * h[sources])
        return (y.mean(1) if self.average else y.flatten(1)) + self.bias, weights


class Network(nn.Module):
    """Each member has a number of its own as its only feature: a row of the identity."""

    def __init__(self, nodes):
        super().__init__()
        self.first = GraphAttention(nodes, HIDDEN, False)
        self.second = GraphAttention(HEADS * HIDDEN, CLASSES, True)

    def forward(self, x, sources, targets, drop=0.0):
        h, first = self.first(F.dropout(x, drop), sources, targets)
        y, second = self.second(F.dropout(F.elu(h), drop), sources, targets)
        return y, first, second


def read_club():
    """Edges of both directions and self loops, by destination, then by source."""
    graph = nx.karate_club_graph()
    pairs = sorted({(b, a) for a, b in graph.edges} | set(graph.edges) | {(i, i) for i in graph})
    targets, sources = np.array(pairs, dtype=np.int64).T
    starts = np.searchsorted(targets, np.arange(len(graph) + 1)).astype(np.int64)
    clubs = np.array([graph.nodes[i]["club"] != "Mr. Hi" for i in graph], dtype=np.uint8)
    places = nx.spring_layout(nx.Graph(list(graph.edges)), seed=SEED, iterations=500, k=0.7)
    places = np.array([places[i] for i in graph])
    places = 2 * (places - places.min(0)) / (places.max(0) - places.min(0)) - 1
    return starts, sources, targets, clubs, places.astype(np.float32)


def train(seed, nodes, sources, targets, clubs):
    torch.manual_seed(seed)
    network = Network(nodes)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005, weight_decay=5e-4)
    x, wanted = torch.eye(nodes), torch.tensor(clubs[LABELLED], dtype=torch.int64)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(x, sources, targets, 0.6)[0][LABELLED], wanted)
        loss.backward()
        optimizer.step()
    return network


def write_tensors(name, tensors):
    """The format safetensors: what needs the largest alignment first, a header padded to 8 bytes."""
    kinds = {"float32": "F32", "float16": "F16", "uint8": "U8", "int64": "I64"}
    header, data = {}, b""
    for key, tensor in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])):
        begin = len(data)
        data += tensor.tobytes()
        header[key] = {"dtype": kinds[tensor.dtype.name], "shape": list(tensor.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(os.path.join(HERE, "data"), exist_ok=True)
    with open(os.path.join(HERE, "data", name), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    starts, sources, targets, clubs, places = read_club()
    nodes, edges = len(clubs), (torch.tensor(sources), torch.tensor(targets))
    if options.seeds:
        right = []
        for seed in range(options.seeds):
            network = train(seed, nodes, *edges, clubs)
            with torch.no_grad():
                right.append(int((network(torch.eye(nodes), *edges)[0].argmax(1).numpy() == clubs).sum()))
        print(f"right of {nodes}: {sorted(right)}, mean {np.mean(right):.1f}, median {np.median(right):.0f}")
        return
    network = train(SEED, nodes, *edges, clubs)
    weights = {}
    with torch.no_grad():
        for name, value in network.named_parameters():
            half = name.endswith("lin.weight")
            if half:
                value.copy_(value.half())
            weights[name] = value.numpy().astype(np.float16 if half else np.float32)
        logits, first, second = (t.numpy() for t in network(torch.eye(nodes), *edges))
    labelled = np.zeros(nodes, dtype=np.uint8)
    labelled[LABELLED] = 1
    write_tensors("model.safetensors", weights)
    write_tensors("club.safetensors", {"edge_starts": starts, "edge_sources": sources, "clubs": clubs,
                                       "labelled": labelled, "places": places})
    write_tensors("golden.safetensors", {"logits": logits, "first": first, "second": second})
    wrong = np.flatnonzero(logits.argmax(1) != clubs)
    print(f"{nodes - len(wrong)} of {nodes} right; wrong: {wrong.tolist()}")


if __name__ == "__main__":
    main()
