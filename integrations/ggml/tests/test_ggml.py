"""The plugin in ggml as packages have it, one process for each run. FOVEA_GGML_PLUGIN is the plugin,
FOVEA_GGML_LIBRARIES a folder with a folder of libraries for each version, FOVEA_GGML_ALLOCATIONS the library of
allocations.c."""

import ctypes
import os
import pathlib
import re
import struct
import subprocess
import sys

import numpy
import pytest

import nodes

PLUGIN = pathlib.Path(os.environ["FOVEA_GGML_PLUGIN"]).resolve()
VERSIONS = {path.name: path / "libggml" / "lib64"
            for path in sorted(pathlib.Path(os.environ["FOVEA_GGML_LIBRARIES"]).resolve().iterdir())}
NEWEST = max(VERSIONS, key=lambda name: [int(number) for number in name.split(".")[:3]])
LEFT = "falls_through", "wide"
TAKEN = [name for name in nodes.CASES if name not in LEFT]


def run(libraries, *words, **variables):
    """The lines of nodes.py, and the text of its log."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("FOVEA_GGML", "FOVEA_ISA"))}
    done = subprocess.run([sys.executable, nodes.__file__, libraries, *map(str, words)], env=clean | variables,
                          check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout.split("\n"), done.stderr


@pytest.fixture(scope="session")
def outputs(tmp_path_factory):
    """What nodes.py finds, by version, way and mode; each is computed once."""
    kept = {}

    def of(version, way="alone", mode="exact"):
        key = version, way, mode
        if key not in kept:
            file = tmp_path_factory.mktemp("nodes") / "out.npz"
            plugin = ["--plugin", PLUGIN] if way else []
            lines, log = run(VERSIONS[version], *plugin, "--threads", 1, 2, 5, "--out", file,
                             FOVEA_GGML=way or "alone", FOVEA_GGML_MODE=mode)
            assert not plugin or lines[1] == "loaded" and f"{way}, {mode}" in log
            kept[key] = dict(numpy.load(file))
        return kept[key]

    return of


def expected(name, found):
    """The formula of ggml in float64."""
    case = {**nodes.DEFAULTS, **nodes.CASES[name]}
    q, k, v = (found[f"{name}/{key}"].astype(numpy.float64) for key in "qkv")
    group = case["heads"] // case["kv_heads"]
    k, v = (numpy.repeat(tensor, group, 1) for tensor in (k, v))
    scores = q @ k.swapaxes(2, 3) * float(numpy.float32(case["qk"]**-0.5))
    if case["softcap"]:
        scores = case["softcap"] * numpy.tanh(scores / case["softcap"])
    if case["mask"]:
        mask = found[f"{name}/mask"].astype(numpy.float64)
        mask = numpy.tile(mask, (case["batch"] // mask.shape[0], case["heads"] // mask.shape[1], 1, 1))
        if case["max_bias"]:
            power = 1 << case["heads"].bit_length() - 1
            steps = [(h + 1) / power if h < power else (h - power + 0.5) / power for h in range(case["heads"])]
            mask = mask * (2.0 ** (-case["max_bias"] * numpy.array(steps)))[:, None, None]
        scores = scores + mask
    sinks = found[f"{name}/sinks"][:, None, None] if case["sinks"] else numpy.full((case["heads"], 1, 1), -numpy.inf)
    top = numpy.maximum(scores.max(-1, keepdims=True), sinks)
    top = numpy.where(numpy.isinf(top), 0, top)
    weights = numpy.exp(scores - top)
    total = weights.sum(-1, keepdims=True) + numpy.exp(sinks - top)
    return weights / numpy.where(total == 0, 1, total) @ v


def assert_close(name, found, bound):
    want = expected(name, found)
    assert numpy.abs(found[f"{name}/o2"] - want).max() <= bound * numpy.abs(found[f"{name}/v"]).max()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("way", ["alone", "threads"])
def test_right_in_every_version(outputs, version, way):
    found = outputs(version, way)
    for name in TAKEN:
        assert found[f"{name}/backend"] == ("FOVEA" if way == "alone" else "CPU")
        assert_close(name, found, 4e-6)
    assert found["falls_through/backend"] == "CPU"


@pytest.mark.parametrize("version", VERSIONS)
def test_one_answer_for_ways_and_threads(outputs, version):
    alone, threads = outputs(version), outputs(version, "threads")
    for name in TAKEN:
        answers = {found[f"{name}/o{count}"].tobytes() for found in (alone, threads) for count in (1, 2, 5)}
        assert len(answers) == 1, name


@pytest.mark.parametrize("version", ["0.9.4", NEWEST])
def test_the_device_leaves_small_nodes_to_ggmls_threads(outputs, version):
    """By multiply-adds. The bits are the same."""
    found, alone = outputs(version, "device"), outputs(version)
    large = {name for name in TAKEN if found[f"{name}/backend"] == "FOVEA"}
    assert large == {"large", "alibi_passes"}
    for name in TAKEN:
        answers = {found[f"{name}/o1"].tobytes(), found[f"{name}/o2"].tobytes(), alone[f"{name}/o2"].tobytes()}
        assert len(answers) == 1, name


def hide(file, symbol):
    """Makes a symbol of a library as it would be if it were not exported: others do not find it."""
    data = bytearray(file.read_bytes())
    at, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, at + i * size) for i in range(count)]
    symbols = next(header for header in headers if header[1] == 11)  # SHT_DYNSYM
    names = headers[symbols[6]][4]
    for place in range(symbols[4], symbols[4] + symbols[5], 24):
        begin = names + struct.unpack_from("<I", data, place)[0]
        if data[begin : data.index(0, begin)] == symbol:
            data[place + 5] = 2  # STV_HIDDEN
    file.write_bytes(data)


def test_a_ggml_that_hides_its_list_has_the_device_alone(tmp_path):
    for file in VERSIONS[NEWEST].glob("*.so*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    hide(tmp_path / "libggml-cpu.so", b"_Z39ggml_backend_cpu_get_extra_buffer_typesv")
    file = tmp_path / "out.npz"
    _, log = run(tmp_path, "--plugin", PLUGIN, "--cases", "f16", "--out", file)
    assert ", alone, exact" in log and numpy.load(file)["f16/backend"] == "FOVEA"
    assert "hides what FOVEA_GGML=threads needs" in refused(tmp_path, FOVEA_GGML="threads")


def test_one_answer_for_versions(outputs):
    first = outputs(NEWEST)
    for version in VERSIONS:
        other = outputs(version)
        for name in TAKEN:
            same = [first[f"{name}/{key}"].tobytes() == other[f"{name}/{key}"].tobytes() for key in "qkv"]
            assert not all(same) or first[f"{name}/o2"].tobytes() == other[f"{name}/o2"].tobytes(), (name, version)


def test_what_falls_through_is_ggmls(outputs):
    with_plugin, without = outputs(NEWEST, "threads"), outputs(NEWEST, None)
    assert with_plugin["falls_through/o2"].tobytes() == without["falls_through/o2"].tobytes()
    assert with_plugin["f16/o2"].tobytes() != without["f16/o2"].tobytes()


@pytest.mark.parametrize("mode, bound", [("int8", 0.05), ("bf16", 0.03)])
def test_modes(outputs, mode, bound):
    found, threads, exact = (outputs(NEWEST, way, kind) for way, kind in
                             (("alone", mode), ("threads", mode), ("alone", "exact")))
    for name in TAKEN:
        assert found[f"{name}/o2"].tobytes() == threads[f"{name}/o5"].tobytes()
        assert_close(name, found, bound)
    assert found["q8_0/o2"].tobytes() != exact["q8_0/o2"].tobytes()


def refused(libraries, plugin=PLUGIN, **variables):
    """The one line that says why; ggml then computes without the plugin."""
    lines, log = run(libraries, "--plugin", plugin, "--cases", "f16", **variables)
    assert lines[1] == "refused"
    said = [line for line in log.split("\n") if line.startswith("fovea: ")]
    assert len(said) == 1 and said[0].endswith("; ggml goes on without it")
    return said[0]


@pytest.mark.parametrize("variable, value", [("FOVEA_GGML", "gpu"), ("FOVEA_GGML_MODE", "fp8")])
def test_unknown_choices_are_refused(variable, value):
    assert f'{variable} is "{value}", not ' in refused(VERSIONS[NEWEST], **{variable: value})


def test_a_cpu_without_kernels_is_refused():
    assert "no kernels for this CPU" in refused(VERSIONS[NEWEST], FOVEA_ISA="scalar")


@pytest.mark.parametrize("other", ["1", "99"])
def test_unknown_versions_are_refused(tmp_path, other):
    """The same library with another number in it."""
    for file in VERSIONS[NEWEST].glob("*.so*"):
        number = NEWEST.split(".")
        other_number = ".".join([number[0], other.rjust(len(number[1]), "0"), number[2]])
        data = file.read_bytes()
        if file.name.startswith("libggml-base"):
            data = data.replace(b"\0" + ".".join(number[:3]).encode() + b"\0", b"\0" + other_number.encode() + b"\0")
        (tmp_path / file.name).write_bytes(data)
    assert f"ggml {other_number} is not known" in refused(tmp_path)


def test_a_program_without_ggml_is_refused(capfd):
    """ctypes calls the plugin here, and not a ggml."""
    library = ctypes.CDLL(str(PLUGIN))
    library.ggml_backend_init.restype = ctypes.c_void_p
    assert library.ggml_backend_init() is None
    assert "there is no ggml_log_internal" in capfd.readouterr().err


def test_a_second_ggml_of_the_process_is_refused():
    """0.9.4 names its libraries otherwise, so that a process may load both."""
    script = ("import sys, nodes; first, second = map(nodes.Ggml, sys.argv[1:3]);"
              "print([bool(ggml('ggml_backend_load', sys.argv[3].encode())) for ggml in (first, first, second)])")
    words = [str(word) for word in (VERSIONS["0.9.4"], VERSIONS[NEWEST], PLUGIN)]
    done = subprocess.run([sys.executable, "-c", script, *words], cwd=pathlib.Path(nodes.__file__).parent, check=True,
                          text=True, env=os.environ | {"FOVEA_GGML": "threads"}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    assert done.stdout == "[True, True, False]\n" and "another one has loaded it" in done.stderr


@pytest.mark.parametrize("way", ["device", "threads"])
def test_one_line_tells_what_is_left_to_ggml(way):
    cases = ["falls_through", "f16", "falls_through", "q8_0"]
    _, log = run(VERSIONS[NEWEST], "--plugin", PLUGIN, "--threads", 1, 2, "--cases", *cases, FOVEA_GGML=way)
    said = [line for line in log.split("\n") if line.startswith("fovea: ")][1:]
    assert sorted(said) == ["fovea: attention over K in q4_K and V in f16, of these shapes, is left to ggml",
                            "fovea: computes attention"]


@pytest.mark.parametrize("way", ["alone", "device", "threads"])
def test_what_a_mode_does_not_have_is_ggmls(tmp_path, way):
    """All of ggml's threads leave it. Repeated, since a thread that does not would fail at times, of three or more."""
    words = ["--threads", *[3] * 20, "--cases", "wide", "--out", tmp_path / "out.npz"]
    run(VERSIONS[NEWEST], *words)
    own = numpy.load(tmp_path / "out.npz")["wide/o3"]
    _, log = run(VERSIONS[NEWEST], "--plugin", PLUGIN, *words, FOVEA_GGML=way, FOVEA_GGML_MODE="int8")
    assert numpy.load(tmp_path / "out.npz")["wide/o3"].tobytes() == own.tobytes()
    said = [line for line in log.split("\n") if line.startswith("fovea: ")][1:]
    assert said == ["fovea: attention over K in f32 and V in f32, of these shapes, is left to ggml"]


def test_ggmls_threads_have_all_they_need(tmp_path):
    """With FOVEA_GGML=threads there is no thread but ggml's. A graph that runs again allocates nothing; the first run,
    which makes plans, shows that allocations are counted."""
    cases, file = ["one_row", "long", "large", "alibi_passes", "q8_0"], tmp_path / "out.npz"
    run(VERSIONS[NEWEST], "--threads", 2, "--cases", *cases, "--out", file)
    own = dict(numpy.load(file))
    for times in (1, 2):
        run(VERSIONS[NEWEST], "--plugin", PLUGIN, "--threads", *[2] * times, "--cases", *cases, "--out", file,
            FOVEA_GGML="threads", LD_PRELOAD=os.environ["FOVEA_GGML_ALLOCATIONS"])
        found = numpy.load(file)
        for name in cases:
            assert found[f"{name}/threads"] == own[f"{name}/threads"], name
            assert (found[f"{name}/allocations2"] > 0) == (times == 1), name


@pytest.mark.parametrize("way", ["device", "threads"])
def test_a_plugin_that_is_unloaded_stays_in_ggmls_threads(way):
    script = ("import sys, nodes; ggml = nodes.Ggml(sys.argv[1]);"
              "registry = nodes.pointer(ggml('ggml_backend_load', sys.argv[2].encode()));"
              "first = nodes.Run(ggml).compute('f16', [2])['o2'];"
              "ggml('ggml_backend_unload', registry, result=None);"
              "print((nodes.Run(ggml).compute('f16', [2])['o2'] == first).all())")
    done = subprocess.run([sys.executable, "-c", script, VERSIONS[NEWEST], PLUGIN], check=True, text=True,
                          cwd=pathlib.Path(nodes.__file__).parent, env=os.environ | {"FOVEA_GGML": way},
                          stdout=subprocess.PIPE)
    assert done.stdout == "True\n"


def test_is_short():
    """At most 600 lines that are more than comments."""
    lines = 0
    for file in (pathlib.Path(nodes.__file__).parents[1] / "src").iterdir():
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        lines += sum(bool(line.strip()) for line in code.splitlines())
    assert 400 < lines <= 600


def test_only_one_symbol_is_exported():
    told = subprocess.run(["nm", "-D", "--defined-only", PLUGIN], check=True, text=True, stdout=subprocess.PIPE).stdout
    assert [line.split()[-1] for line in told.splitlines()] == ["ggml_backend_init"]
