"""A program with types, which mypy checks by the stubs; test_types.py runs it, too."""

import numpy as np

import fovea
from fovea import heatmap, nn


def attend(q: fovea.Layout, threads: int | None = None) -> str:
    explanation: fovea.Explanation = fovea.explain(q, q, q, causal=True, window=(3, None))
    plan = fovea.Plan(q, q, q, causal=True)
    isa: str = plan.isa
    return f"{isa} {explanation.pairs} {threads}"


def generate(model: nn.Encoder, cache: fovea.Cache, rows: int) -> list[int]:
    for _ in range(rows):
        model(np.zeros((1, 1, 8), np.float32), cache=cache, causal=True, q_lens=[1])
    lens: list[int] = cache.lens
    return lens


def layers() -> nn.Encoder:
    square = [nn.Linear(np.eye(8, dtype=np.float32), activation="relu", mode="exact") for _ in range(6)]
    attention = nn.Attention(square[0], square[1], None if not square else square[2], square[3], 2, kv_heads=2)
    norm: nn.Norm = nn.LayerNorm(8, eps=1e-6)
    return nn.Encoder([nn.Block(attention, norm, square[4], square[5], nn.RMSNorm(8), norm_first=True)])


def stream(model: list[nn.Block]) -> int:
    first: nn.Stream = nn.Stream(model, 8, window=(3, 1), softcap=None)
    first.push(np.zeros((2, 8), np.float32))
    return first.pending


def rules() -> bool:
    rule: fovea.Rule = fovea.Rule.causal() & ~fovea.Rule.keys(0, 2) | fovea.Rule.global_([0])
    pattern = fovea.Pattern(rule, rows=4, keys=4)
    return pattern.sees(3, 0)


def refuse() -> str:
    try:
        nn.LayerNorm(0)(np.zeros((1, 1), np.float32))
    except fovea.ArgumentError as error:
        field: str = error.field
        return field
    return ""


def main() -> None:
    print(attend(fovea.Layout((1, 1, 8, 8))), rules(), refuse())
    print(generate(layers(), fovea.Cache.contiguous(1, 4, kv_heads=2, qk_dim=4), 2))
    result = fovea.attention(np.ones((1, 2, 4), np.float32), np.ones((1, 2, 4), np.float32),
                             np.ones((1, 2, 4), np.float32), scores="weights")
    assert isinstance(result, fovea.Result)
    print(heatmap.text(result.scores[0]))


if __name__ == "__main__":
    main()
