"""The stubs: mypy accepts a program that uses them, and refuses what they do not have."""

import pathlib
import subprocess
import sys

import pytest
import typed_program

PROGRAM = pathlib.Path(__file__).parent / "typed_program.py"


def mypy(path, cache):
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", cache, path],
                         cwd=path.parent, capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


def test_stubs(tmp_path):
    pytest.importorskip("mypy")
    assert mypy(PROGRAM, tmp_path / "cache") == ""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import fovea\nfrom fovea import nn\nfovea.attention(1, casual=True)\nnn.Stream([], chunk='a')\n"
                     "nn.LayerNorm(8).dim\nfovea.Pattern(fovea.Rule.causal(), 3)\n")
    said = mypy(wrong, tmp_path / "cache")
    assert [line.split(":")[1] for line in said.splitlines() if " error: " in line] == ["3", "4", "5", "6"]


def test_program(capsys):
    typed_program.main()
    assert "[2]" in capsys.readouterr().out
