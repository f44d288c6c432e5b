#!/usr/bin/env python3
"""Prints varied copies of a target's kept inputs as lines of hex, the same ones on every machine: vary.py <target> <count>

libFuzzer chooses its inputs by what they reach, so other CPUs see others. These depend on the corpus alone.
"""

import random
import sys

import corpus

LONGEST = 256
EDGES = (0x00, 0x01, 0x7F, 0x80, 0xFF)


def overwrite(dice, data, _):
    at = dice.randrange(len(data))
    data[at] = dice.choice(EDGES) if dice.random() < 0.3 else dice.randrange(256)


def count_on(dice, data, _):
    at = dice.randrange(len(data))
    data[at] = (data[at] + dice.choice((-1, 1))) % 256


def repeat(dice, data, _):
    at = dice.randrange(len(data))
    data[at:at] = bytes([dice.choice((data[at], dice.randrange(256)))]) * dice.randint(1, 8)


def remove(dice, data, _):
    at = dice.randrange(len(data))
    del data[at : at + dice.randint(1, 8)]


def splice(dice, data, other):
    at = dice.randrange(len(data))
    data[at:] = other[dice.randrange(len(other)) :]


def insert(dice, data, other):
    at, start = dice.randrange(len(data)), dice.randrange(len(other))
    data[at:at] = other[start : start + dice.randint(1, 32)]


def vary(dice, inputs):
    data, other = bytearray(dice.choice(inputs)), dice.choice(inputs)
    for _ in range(dice.randint(1, 5)):
        if data:
            dice.choice((overwrite, overwrite, count_on, repeat, remove, splice, insert))(dice, data, other)
    return data[:LONGEST]


def main():
    target, count = sys.argv[1], int(sys.argv[2])
    inputs = [data for data in corpus.read(target) if data]
    dice = random.Random(1)
    for _ in range(count):
        print(vary(dice, inputs).hex())


if __name__ == "__main__":
    main()
