"""Golden files of 8-bit floating point: PyTorch's types float8_e4m3fn and float8_e5m2 (README.md)."""
import numpy as np
import torch
from golden import File


def main():
    for preset, kind in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)):
        file = File(preset, f"torch {torch.__version__}, {kind}", 256)
        codes = torch.arange(256, dtype=torch.int64).to(torch.uint8)
        numbers = codes.view(kind).to(torch.float32).numpy()
        file.case("codes", bytes=codes.numpy(), output=numbers)
        finite = np.unique(np.abs(numbers[np.isfinite(numbers)]))
        middle = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
        generator = np.random.default_rng(4)
        largest = finite[-1]
        x = np.concatenate([
            middle, -middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(np.inf)),
            np.array([0, -0.0, 1e-30, -1e-30, 1e-42, np.inf, -np.inf, np.nan, 3e38, -3e38], np.float32),
            np.array([1 + 1 / 32, 1 + 1 / 16, 1 + 1 / 16 + 1e-6, 1 + 1 / 8, 1 + 1 / 4, 2], np.float32) * largest,
            generator.standard_normal(40).astype(np.float32)])
        x = np.pad(x, (0, -len(x) % 256))
        for i in range(0, len(x), 256):
            stored = torch.from_numpy(x[i:i + 256].copy()).to(kind)
            file.case(f"numbers_{i // 256}", input=x[i:i + 256], bytes=stored.view(torch.uint8).numpy(),
                      output=stored.to(torch.float32).numpy())
        file.write()


main()
