"""PyTorch's OpenMP and the module's, which may be one runtime or two, in one process."""

import os
import pathlib
import subprocess
import sys

import fovea
import pytest

pytest.importorskip("torch")

# Prints the runtimes that the process has, then a hash. What is imported first decides whose runtime is loaded first.
SCRIPT = """
import hashlib, os, sys, threading
if sys.argv[1] == "torch": import torch
import fovea, fovea.torch, torch

random = torch.Generator().manual_seed(1)
q, k, v = torch.randn(3, 2, 4, 300, 32, generator=random)
x = torch.randn(300, 300, generator=random)
expected = fovea.attention(q, k, v, causal=True, threads=1)
product = x.double() @ x.double()

def work():
    for threads in (1, 2, 3, 2):
        torch.set_num_threads(threads)
        torch.testing.assert_close((x @ x).double(), product, atol=1e-3, rtol=1e-3)
        assert torch.equal(fovea.attention(q, k, v, causal=True, threads=threads), expected)
        leaf = q.clone().requires_grad_()
        o = torch.nn.functional.scaled_dot_product_attention(leaf, k, v, is_causal=True)
        assert torch.equal(o, expected)
        o.sum().backward()

fovea.torch.activate()
work()
failed = []
def guarded():
    try: work()
    except BaseException as error: failed.append(error)
threads = [threading.Thread(target=guarded) for _ in range(3)]
for each in threads: each.start()
for each in threads: each.join()
assert not failed, failed

wanted = expected.numpy().tobytes()
child = os.fork()  # OpenMP's threads do not survive it, so PyTorch's operators may wait for them for ever
if not child:
    os._exit(fovea.attention(q, k, v, causal=True, threads=2).numpy().tobytes() != wanted)
assert os.waitpid(child, 0)[1] == 0

with open("/proc/self/maps") as maps:
    print(*sorted({line.split("/")[-1].strip() for line in maps if "libgomp" in line or "libfomp" in line}))
print(hashlib.sha256(wanted).hexdigest())
"""


def run(first, **variables):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT, first], env={**os.environ, **variables},
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def copy_with_own_runtime(folder):
    """A copy of the module that has a runtime of its own, as wheels have that auditwheel makes: the same libgomp, by
    another name of the same length."""
    package = pathlib.Path(fovea.__file__).parent
    maps = pathlib.Path("/proc/self/maps").read_text()
    runtime = pathlib.Path(next(line.split()[-1] for line in maps.split("\n") if "libgomp" in line))
    (folder / "fovea").mkdir()
    for file in package.rglob("*"):
        if file.suffix in (".py", ".so"):
            to = folder / "fovea" / file.relative_to(package)
            to.parent.mkdir(exist_ok=True)
            to.write_bytes(file.read_bytes().replace(b"libgomp.so.1\0", b"libfomp.so.1\0"))
    (folder / "libfomp.so.1").write_bytes(runtime.read_bytes().replace(b"libgomp.so.1\0", b"libfomp.so.1\0"))
    return {"PYTHONPATH": str(folder), "LD_LIBRARY_PATH": str(folder)}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc and fork() are Linux's")
def test_one_runtime_and_two(tmp_path):
    if "libgomp" not in pathlib.Path("/proc/self/maps").read_text():
        pytest.skip("the module was built without libgomp")
    found = [run("fovea"), run("torch", **copy_with_own_runtime(tmp_path))]
    assert found[0][1] == found[1][1]
    assert "libfomp.so.1" in found[1][0] and "libgomp" in found[1][0]
