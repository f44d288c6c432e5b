"""The plugin in programs as packages have them. FOVEA_GGML_WHISPER is a model of whisper.cpp. FOVEA_GGML_LLAMA is a folder
with libllama.so, FOVEA_GGML_STORY a model in GGUF whose text is the one below: stories260K of examples/llm."""

import os
import pathlib
import subprocess
import sys

import pytest

PLUGIN = pathlib.Path(os.environ["FOVEA_GGML_PLUGIN"]).resolve()
FOLDER = pathlib.Path(__file__).resolve().parent
STORY = ("Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she "
         "saw a big, red ball. She wanted to play with it, but it was too high.")


def run(script, *words, way=None, **variables):
    """What a script says, and its log."""
    plugin, chosen = (["--plugin", PLUGIN], {"FOVEA_GGML": way}) if way else ([], {})
    done = subprocess.run([sys.executable, FOLDER / script, *map(str, [*words, *plugin])], env=os.environ | chosen | variables,
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    log = done.stderr.decode(errors="replace")
    assert ("fovea: attention by Fovea" in log) == bool(way)
    return done.stdout.decode(), log


@pytest.mark.skipif("FOVEA_GGML_WHISPER" not in os.environ, reason="FOVEA_GGML_WHISPER is not set")
def test_whisper():
    model = os.environ["FOVEA_GGML_WHISPER"]
    heard = [run("speech.py", model, way=way) for way in (None, "device", "threads")]
    assert len({said for said, _ in heard}) == 1
    assert ["using FOVEA backend" in log for _, log in heard] == [False, True, False]


@pytest.mark.skipif("FOVEA_GGML_LLAMA" not in os.environ, reason="FOVEA_GGML_LLAMA is not set")
@pytest.mark.parametrize("cache", ["f32", "f16"])
def test_llama(cache):
    """ggml's own products of matrices depend on threads and batch. They leave this text as it is, and so does attention."""
    words = [os.environ["FOVEA_GGML_STORY"], "--tokens", 60, "--cache", cache]
    variables = {"LLAMA_CPP_LIB_PATH": os.environ["FOVEA_GGML_LLAMA"]}
    for way, threads in ((None, 2), ("device", 2), ("threads", 2), ("threads", 1)):
        text, _ = run("texts.py", *words, "--threads", threads, way=way, **variables)
        assert ("Once upon a time" + text).startswith(STORY), (way, threads)
