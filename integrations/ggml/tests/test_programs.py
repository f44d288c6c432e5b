"""The plugin in programs as packages have them: whisper.cpp with the model FOVEA_GGML_WHISPER; llama.cpp by texts.c, the
program FOVEA_GGML_TEXTS, with a made model and, if FOVEA_CONFORMANCE_DIR has its files, stories260K; and llama.cpp's
test-backend-ops, FOVEA_GGML_OPERATIONS."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[2] / "examples" / "llm"))
import make_gguf  # noqa: E402 (of examples)
from nodes import TYPES  # noqa: E402

PLUGIN = pathlib.Path(os.environ["FOVEA_GGML_PLUGIN"]).resolve()
STORY = ("Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she "
         "saw a big, red ball. She wanted to play with it, but it was too high.")
DATA = pathlib.Path(os.environ.get("FOVEA_CONFORMANCE_DIR", "/none")) / "models"
MODELS = ["made"] + ["stories260K"] * (DATA / "stories260K.bin").exists()
# How far the plugin's perplexity may be from ggml's, which rounds queries: to f16, and over quantised K to its blocks.
NEAR = {"f32": 1e-3, "f16": 1e-3, "q8_0": 0.02, "q4_0": 0.05}


def run(*words, way=None, **variables):
    """What a program says, and its log. Programs of llama.cpp load what GGML_BACKEND_PATH names."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("FOVEA_", "GGML_"))}
    chosen = {"FOVEA_GGML": way, "GGML_BACKEND_PATH": str(PLUGIN)} if way else {}
    done = subprocess.run(list(map(str, words)), env=clean | chosen | variables, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    log = done.stderr.decode(errors="replace")
    assert ("fovea: attention by Fovea" in log) == bool(way)
    return done.stdout.decode(errors="replace"), log


def computes(log):
    return "fovea: computes attention" in log


def test_whisper():
    words = [sys.executable, FOLDER / "speech.py", os.environ["FOVEA_GGML_WHISPER"]]
    heard = [run(*words, *(["--plugin", PLUGIN] if way else []), way=way) for way in (None, "device", "threads")]
    assert len({said for said, _ in heard}) == 1
    assert [computes(log) for _, log in heard] == [False, True, True]
    assert ["using FOVEA backend" in log for _, log in heard] == [False, True, False]


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    files = {name: folder / f"{name}.gguf" for name in MODELS}
    make_gguf.make(files["made"], "tiny", "q8_0")
    if "stories260K" in files:
        make_gguf.convert(DATA / "stories260K.bin", DATA / "tok512.bin", files["stories260K"], "f16")
    return files


def read(file, cache, threads, way, flash=1):
    """(perplexity, text, digest of all logits), and the log."""
    words = [os.environ["FOVEA_GGML_TEXTS"], file, threads, TYPES[cache], flash, "Once upon a time", 3 * STORY]
    said, log = run(*words, way=way)
    perplexity, text, digest = said.rstrip("\n").split("\n")
    return (float(perplexity), text, digest), log


@pytest.mark.parametrize("name, cache", [(name, cache) for name in MODELS for cache in NEAR
                                         if name == "made" or cache.startswith("f")])  # heads of 8 dims have no blocks
def test_a_text_has_one_answer_and_its_perplexity_is_ggmls(models, name, cache):
    """All logits are equal byte for byte, for each way and number of threads: in batches of equal sizes ggml's own
    products do not depend on threads either."""
    own, _ = read(models[name], cache, 2, None)
    found = [read(models[name], cache, threads, way) for way in ("alone", "threads") for threads in (1, 2, 3)]
    found.append(read(models[name], cache, 2, "device"))
    assert all(computes(log) for _, log in found)
    assert len({answer for answer, _ in found}) == 1
    (perplexity, text, digest), _ = found[0]
    assert digest != own[2]
    assert perplexity == pytest.approx(own[0], rel=NEAR[cache])
    if name == "stories260K":
        assert ("Once upon a time" + text).startswith(STORY)
        assert text == own[1]


def test_automatic_flash_attention_stays_on_in_ggmls_threads(models):
    """llama.cpp turns it off for attention on another device than the layer's. The attention of the model is small."""
    for way, stays in (("threads", True), ("device", True), ("alone", False)):
        assert computes(read(models["made"], "f16", 2, way, flash=-1)[1]) == stays, way


def test_ggmls_own_test_of_operations():
    """The attention of up to 256 keys: of more, ggml's reference takes minutes."""
    words = [os.environ["FOVEA_GGML_OPERATIONS"], "test", "-b", "FOVEA", "-o", "FLASH_ATTN_EXT", "-p",
             "kv=(17|64|96|113|128|256),"]
    said, log = run(*words, way="alone")
    passed, count = map(int, re.search(r"(\d+)/(\d+) tests passed", said).groups())
    assert passed == count > 1000 and "Backend FOVEA: " in said and computes(log)
