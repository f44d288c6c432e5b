"""Writes graph.inc: what the layers of PyTorch Geometric give for a small graph with features of edges.

    python3 -m venv v && v/bin/pip install torch==2.13.0 torch_geometric==2.8.0
    v/bin/python graph.py > graph.inc"""

import torch
from torch_geometric.nn import GATConv, GATv2Conv, TransformerConv

NODES, EDGES, IN, HEADS, DIM, FEATURES = 9, 24, 5, 3, 4, 2


def write(name, tensor):
    numbers = [f"{x:.9g}f" if "." in f"{x:.9g}" or "e" in f"{x:.9g}" else f"{x:.9g}.0f" for x in tensor.detach().flatten().tolist()]
    lines, line = [], ""
    for number in numbers:
        if len(line) + len(number) > 110:
            lines.append(line)
            line = ""
        line += (" " if line else "") + number + ","
    lines.append(line)
    print(f"static const float {name}[] = {{\n  " + "\n  ".join(lines) + "\n};")


def write_whole(name, tensor):
    print(f"static const int64_t {name}[] = {{" + ", ".join(str(x) for x in tensor.tolist()) + "};")


def main():
    torch.manual_seed(22)
    targets = torch.randint(0, NODES - 1, (EDGES,)).sort().values  # the last node has no edge
    edges = torch.stack([torch.randint(0, NODES, (EDGES,)), targets])
    x, features = torch.randn(NODES, IN), torch.randn(EDGES, FEATURES)
    options = dict(heads=HEADS, edge_dim=FEATURES)
    transformer = TransformerConv(IN, DIM, root_weight=False, **options)
    gat = GATConv(IN, DIM, add_self_loops=False, **options)
    gatv2 = GATv2Conv(IN, DIM, add_self_loops=False, concat=False, **options)
    for layer in (gat, gatv2):
        torch.nn.init.normal_(layer.bias)
    print("/* Made by graph.py with PyTorch 2.13.0 and PyTorch Geometric 2.8.0. */")
    print(f"enum {{ NODES = {NODES}, EDGES = {EDGES}, IN = {IN}, HEADS = {HEADS}, DIM = {DIM}, FEATURES = {FEATURES} }};")
    write_whole("starts", torch.searchsorted(targets, torch.arange(NODES + 1)))
    write_whole("sources", edges[0])
    write("x", x)
    write("features", features)
    for name, layer in (("query", "lin_query"), ("key", "lin_key"), ("value", "lin_value")):
        write(f"transformer_{name}", getattr(transformer, layer).weight)
        write(f"transformer_{name}_bias", getattr(transformer, layer).bias)
    write("transformer_edge", transformer.lin_edge.weight)
    write("gat_lin", gat.lin.weight)
    write("gat_edge", gat.lin_edge.weight)
    for name in ("att_dst", "att_src", "att_edge", "bias"):
        write(f"gat_{name}", getattr(gat, name))
    write("gatv2_from", gatv2.lin_l.weight)
    write("gatv2_from_bias", gatv2.lin_l.bias)
    write("gatv2_to", gatv2.lin_r.weight)
    write("gatv2_to_bias", gatv2.lin_r.bias)
    write("gatv2_edge", gatv2.lin_edge.weight)
    write("gatv2_att", gatv2.att)
    write("gatv2_bias", gatv2.bias)
    for name, layer in (("transformer", transformer), ("gat", gat), ("gatv2", gatv2)):
        y, (_, weights) = layer(x, edges, features, return_attention_weights=True)
        write(f"{name}_y", y)
        write(f"{name}_weights", weights)


if __name__ == "__main__":
    main()
