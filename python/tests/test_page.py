"""The programs of docs/python.md: each runs after those before it, and prints the text after it."""

import re

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
