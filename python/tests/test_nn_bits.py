"""Every layer of fovea.nn has the same bits on every instruction set and for any number of threads."""

import os
import pathlib
import subprocess
import sys

import fovea
from fovea import nn

PROGRAM = pathlib.Path(__file__).parent / "layer_bits.py"


def printed(isa, threads):
    run = subprocess.run([sys.executable, PROGRAM, str(threads)], env={**os.environ, "FOVEA_ISA": isa}, check=True,
                         capture_output=True, text=True)
    return dict(line.rsplit(" ", 1) for line in run.stdout.splitlines())


def test_one_answer():
    usable = [each.name for each in fovea.info().sets if each.usable]
    expected = printed("scalar", 1)
    assert len(expected) > 25 and "scalar" in usable
    for isa in usable:
        assert printed(isa, 2) == expected, isa
    assert printed(usable[0], 3) == expected


def test_names_have_docstrings():
    assert "Stream" in nn.__all__
    for name in nn.__all__:
        assert getattr(nn, name).__doc__, name
