"""The programs of docs/python.md: each block of Python runs after those before it, and prints the block of text after it."""

import contextlib
import importlib.util
import io
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"


def test_page(tmp_path, monkeypatch):
    if not PAGE.exists():
        pytest.skip("a source archive of the module has no pages")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    names, printed = {}, ""
    for kind, text in blocks:
        if "import fovea.transformers" in text and not importlib.util.find_spec("transformers"):
            break  # the last section needs what one of the tested environments has
        if kind == "text":
            assert printed == text
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(text, str(PAGE), "exec"), names)  # pylint: disable=exec-used
        printed = output.getvalue()
