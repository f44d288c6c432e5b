"""The golden file of ik_llama.cpp's q8_KV, by the Python package ik-llama-cpp-python (README.md)."""
import ctypes
import importlib.metadata

import numpy as np
from golden import DIM, File, rows


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def main():
    package = importlib.metadata.distribution("ik-llama-cpp-python")
    library = ctypes.CDLL(str(package.locate_file("ik_llama_cpp/lib/libggml.so")))
    file = File("q8_kv", f"ik-llama-cpp-python {package.version}, quantize_row_q8_KV_ref, dequantize_row_q8_KV", DIM)
    for case, x in rows():
        stored = np.zeros(8 + DIM, np.uint8)
        output = np.zeros(DIM, np.float32)
        library.quantize_row_q8_KV_ref(pointer(x), pointer(stored), ctypes.c_int64(DIM))
        library.dequantize_row_q8_KV(pointer(stored), pointer(output), ctypes.c_int64(DIM))
        file.case(case, input=x, bytes=stored, output=output)
    file.write()


main()
