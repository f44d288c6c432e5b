"""What is installed: version, names, stubs, docstrings."""

import ast
import importlib.metadata
import pathlib
import subprocess
import sys
import sysconfig

import fovea
from fovea import _fovea

PACKAGE = pathlib.Path(fovea.__file__).parent


def test_version():
    assert importlib.metadata.version("fovea-attention") == fovea.__version__


def test_wheel():
    """From Python 3.12 on one wheel is for all later versions; a free-threaded Python has its own."""
    lines = importlib.metadata.distribution("fovea-attention").read_text("WHEEL").splitlines()
    (tag,) = (line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: "))
    python, abi, _ = tag.split("-", 2)
    own = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    stable = sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert (python, abi) == ("cp312", "abi3") if stable else python == own and abi.startswith(own)
    assert (".abi3." in pathlib.Path(_fovea.__file__).name) == stable


def test_names_have_docstrings():
    assert "attention" in fovea.__all__
    for name in fovea.__all__:
        assert getattr(fovea, name).__doc__, name


def test_stubs():
    stub = ast.parse((PACKAGE / "_fovea.pyi").read_text())
    functions = {each.name: each for each in stub.body if isinstance(each, ast.FunctionDef)}
    names = {argument.arg for argument in functions["attention"].args.kwonlyargs}
    assert {"causal", "window", "mask", "lse", "threads"} <= names
    classes = {each.name for each in stub.body if isinstance(each, ast.ClassDef)}
    assert {name for name in fovea.__all__} <= set(functions) | classes
    assert (PACKAGE / "py.typed").exists()
    for name in names:
        assert f"    {name}: " in fovea.attention.__doc__


def test_import_needs_no_numpy():
    """NumPy is imported by the first call that makes an array, since it takes longer than everything else."""
    code = "import sys, fovea; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
