#!/usr/bin/env python3
"""Writes a text by llama.cpp at temperature 0.

    texts.py MODEL [--plugin FILE] [--threads N] [--cache TYPE] [--tokens N] [--prompt TEXT]

llama.cpp is the package llama-cpp-python. The text is on stdout, llama.cpp's log on stderr.
"""

import argparse
import ctypes
import pathlib

import llama_cpp

TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--plugin")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", choices=TYPES, default="f16")
    parser.add_argument("--tokens", type=int, default=120)
    parser.add_argument("--prompt", default="Once upon a time")
    arguments = parser.parse_args()
    if arguments.plugin:
        folder = pathlib.Path(llama_cpp.llama_cpp._base_path)
        load = ctypes.CDLL(str(folder / "libggml.so")).ggml_backend_load
        load.restype = ctypes.c_void_p
        load(arguments.plugin.encode())
    model = llama_cpp.Llama(arguments.model, n_ctx=512, n_threads=arguments.threads, n_threads_batch=arguments.threads,
                            flash_attn=True, type_k=TYPES[arguments.cache], type_v=TYPES[arguments.cache])
    done = model.create_completion(arguments.prompt, max_tokens=arguments.tokens, temperature=0)
    print(done["choices"][0]["text"])


if __name__ == "__main__":
    main()
