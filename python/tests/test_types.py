"""Types: mypy accepts programs that use the stubs and the annotations, and refuses what they do not have."""

import os
import pathlib
import subprocess
import sys

import pytest
import typed_program

HERE = pathlib.Path(__file__).parent
WRONG = """import fovea
from fovea import nn
fovea.attention(1, casual=True)
nn.Stream([], chunk='a')
nn.LayerNorm(8).dim
fovea.Pattern(fovea.Rule.causal(), 3)
"""
WRONG_TORCH = """import torch
import fovea.torch
import fovea.transformers, fovea.verify
x = torch.zeros(1)
fovea.torch.attention(x, x, x, casual=True)
fovea.torch.attention(x, x, [x])
fovea.torch.pack(3)
fovea.torch.activate(mode=1)
fovea.torch.audit(len, x)[0].answer
fovea.torch.ring_positions(1.5, 0, 1)
fovea.torch.ring_attention(x, x, x, sink=3.0)
fovea.transformers.attention(None, x, x, x, None)
fovea.torch.one_answer().stop()
fovea.verify.check(x, 3)
fovea.verify.generate(x, [1], steps=3)
fovea.verify.Difference("text").fields
"""


def mypy(path, cache):
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", cache, path],
                         cwd=path.parent, env={**os.environ, "MYPYPATH": str(HERE / "stubs")}, capture_output=True,
                         text=True, check=False)
    return run.stdout + run.stderr


@pytest.mark.parametrize("program, text, wrong", [("typed_program.py", WRONG, [3, 4, 5, 6]),
                                                  ("typed_torch_program.py", WRONG_TORCH, list(range(5, 17)))],
                         ids=["fovea", "torch"])
def test_mypy(tmp_path, program, text, wrong):
    pytest.importorskip("mypy")
    assert mypy(HERE / program, tmp_path / "cache") == ""
    path = tmp_path / "wrong.py"
    path.write_text(text)
    said = mypy(path, tmp_path / "cache")
    assert [int(line.split(":")[1]) for line in said.splitlines() if " error: " in line] == wrong, said


def test_program(capsys):
    typed_program.main()
    assert "[2]" in capsys.readouterr().out


def test_torch_program(capsys):
    pytest.importorskip("torch")
    import typed_torch_program
    typed_torch_program.main()
    assert "True tensor([0, 1, 2, 3, 4])" in capsys.readouterr().out
