"""The programs of docs/python.md: each runs after those before it, and prints the text after it."""

import ast
import importlib.util
import inspect
import re
import textwrap

import fovea
import page
import pytest


def test_page(tmp_path, monkeypatch):
    if not page.PAGE.exists():
        pytest.skip("a source archive of the module has no pages")
    found = list(page.sections())
    assert sum(bool(blocks) for _, blocks in found) > 5
    monkeypatch.chdir(tmp_path)
    page.run()
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.PAGE.read_text(encoding="utf-8"))
    assert pictures
    for picture in pictures:
        kept = page.PAGE.parent / picture
        assert 1000 < kept.stat().st_size < 100000
        if not any(page.missing(blocks) for _, blocks in found):
            assert (tmp_path / picture).stat().st_size > 1000


def unfinished_programs():
    """What stands indented, and lacks a model or tensors: as trees of what is Python."""
    for block in re.findall(r"^\n((?:    .*\n|\n)+)", page.PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        try:
            yield ast.parse(textwrap.dedent(block))
        except SyntaxError:
            pass  # commands


def named(node):
    """What the names of a tree say, as fovea.torch.pack; None if it does not begin with the module."""
    if isinstance(node, ast.Attribute):
        owner = named(node.value)
        return None if owner is None else getattr(owner, node.attr)
    return fovea if isinstance(node, ast.Name) and node.id == "fovea" else None


def test_names_of_unfinished_programs():
    """They cannot run; the functions that they call exist, and take these arguments."""
    if not page.PAGE.exists():
        pytest.skip("a source archive of the module has no pages")
    if not importlib.util.find_spec("torch"):
        pytest.skip("they are about PyTorch")
    import fovea.torch  # pylint: disable=redefined-outer-name
    calls = [(node, named(node.func)) for tree in unfinished_programs() for node in ast.walk(tree)
             if isinstance(node, ast.Call)]
    known = [(node, function) for node, function in calls if function is not None]
    assert len(known) > 8
    for node, function in known:
        if inspect.isfunction(function):
            inspect.signature(function).bind(*node.args, **{each.arg: each.value for each in node.keywords})
