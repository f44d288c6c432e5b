"""A program with types that uses fovea.torch, which mypy checks by its annotations; test_types.py runs it, too."""

from typing import TYPE_CHECKING

import torch
import torch.nn

import fovea
import fovea.torch

if TYPE_CHECKING:
    from fovea import verify
    from fovea.transformers import Visibility


def numbers_of(mask: "Visibility") -> torch.Tensor:
    return mask.numbers()


def receipt(model: torch.nn.Module) -> "list[torch.Tensor | str]":
    vectors, made = verify.embed(model, [[1, 2]], pool="first")
    tokens, other = verify.generate(model, [1, 2], max_new_tokens=3, temperature=0.5)
    first: int = tokens[0]
    verify.save(other, f"{first}.json")
    line: str = verify.check(model, made, batch=2) + verify.check(model, "1.json", any_weights=True)
    return [vectors, line, verify.load("1.json")["kind"]]


def attend(q: torch.Tensor, pattern: fovea.Pattern | None = None) -> torch.Tensor:
    o: torch.Tensor = fovea.torch.attention(q, q, q, causal=True, window=(3, None), q_lens=[4], pattern=pattern)
    return o


def names(model: torch.nn.Module, x: torch.Tensor) -> list[str]:
    fovea.torch.pack(model)
    found: list[fovea.torch.Operator] = fovea.torch.audit(model, x)
    return [operator.name for operator in found if operator.one_answer and operator.calls > 0]


def one_answer(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    with fovea.torch.one_answer() as running:
        y = model(x)
        running.end()
    return y


def main() -> None:
    fovea.torch.activate()
    active: bool = fovea.torch.is_active()
    fovea.torch.deactivate()
    positions: torch.Tensor = fovea.torch.ring_positions(5, 0, 1)
    model, x = torch.nn.Linear(8, 8), torch.zeros(1, 2, 4, 8)
    print(active, positions, attend(x), one_answer(model, x), names(model, x))


if __name__ == "__main__":
    main()
