"""`--trace` of `fovea attend` and `fovea explain`: one event for each task, none at the same time as another on its worker,
all rows and heads, and outputs with the same bits.

    test_trace.py COMMAND...    the words that start the program, an emulator among them
"""

import json
import os
import re
import sys
import unittest

import numpy as np

import command
from command import COMMAND, on_windows, run


class Traced(command.InDirectory):
    def check(self, path):
        """Returns the events of tasks."""
        with open(path, encoding="ascii") as file:
            events = json.load(file, parse_float=lambda text: int(text.replace(".", "")))["traceEvents"] # nanoseconds
        names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertEqual(list(names.values()), ["phases"] + [f"worker {i}" for i in range(len(names) - 1)])
        happened = [event for event in events if event["ph"] == "X"]
        phases = [event for event in happened if names[event["tid"]] == "phases"]
        tasks = [event for event in happened if names[event["tid"]] != "phases"]
        self.assertEqual([event["name"] for event in phases], [f"phase {i}" for i in range(len(phases))])
        for number, phase in enumerate(phases):
            of = [event for event in tasks if event["args"]["phase"] == number]
            self.assertEqual([event["args"]["task"] for event in of], list(range(phase["args"]["tasks"])))
            for event in of:
                self.assertLessEqual(phase["ts"], event["ts"])
                self.assertLessEqual(event["ts"] + event["dur"], phase["ts"] + phase["dur"])
        for row in [phases] + [[event for event in tasks if event["tid"] == tid] for tid in names]:
            row = sorted(row, key=lambda event: (event["ts"], event["ts"] + event["dur"]))
            for before, after in zip(row, row[1:]):
                self.assertLessEqual(before["ts"] + before["dur"], after["ts"])
        for event in tasks:
            name = re.fullmatch(r"(\S+|column sums|max logits): sequence (\d+), heads (\d+)\S*, rows (\d+)\S*, keys (\d+|none)\S*",
                                event["name"])
            self.assertIsNotNone(name, event)
            self.assertEqual(name[1], event["args"]["engine"] or event["args"]["work"])
            self.assertEqual([int(text) for text in name.groups()[1:4]],
                             [event["args"][key] for key in ("sequence", "first head", "first row")])
            self.assertEqual(event["cat"], event["args"]["work"])
        return tasks

    def rows(self, tasks, shape, work="attention"):
        """How many tasks have each (sequence, head, row)."""
        counts = np.zeros(shape, int)
        for event in tasks:
            args = event["args"]
            if args["work"] == work:
                counts[args["sequence"], args["first head"]:args["first head"] + args["heads"],
                       args["first row"]:args["first row"] + args["rows"]] += 1
        return counts


class Attend(Traced):
    def attend(self, *options):
        """The bytes of all outputs, which are removed."""
        names = "ol" if "--arithmetic" in options else "olc" # sums are of exact scores
        outputs = [word for name, option in zip(names, ("--out", "--lse", "--column-sums"))
                   for word in (option, self.path(name + ".npy"))]
        inputs = [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]
        done = run("attend", *inputs, *outputs, *options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), (options, done.stderr))
        contents = []
        for name in names:
            with open(self.path(name + ".npy"), "rb") as file:
                contents.append(file.read())
            os.remove(self.path(name + ".npy"))
        return contents

    def save(self, q_shape, k_shape):
        random = np.random.default_rng(5)
        for name, shape in zip("qkv", (q_shape, k_shape, k_shape)):
            np.save(self.path(name + ".npy"), random.standard_normal(shape, dtype=np.float32))

    def test_same_bits(self):
        self.save((2, 4, 300, 32), (2, 2, 350, 32))
        for options in (("--causal",), ("--threads", "1"), ("--threads", "3", "--window", "20,0"),
                        ("--arithmetic", "bf16"), ("--q-lens", "300,1", "--kv-lens", "11,350")):
            plain = self.attend(*options)
            self.assertEqual(self.attend(*options, "--trace", self.path("t.json")), plain, options)
            tasks = self.check(self.path("t.json"))
            self.assertTrue((self.rows(tasks, (2, 4, 300)) >= 1).all(), options)
            if "--arithmetic" not in options:
                self.assertTrue((self.rows(tasks, (2, 4, 300), "column sums") >= 1).all())

    def test_split_keys(self):
        self.save((1, 1, 1, 64), (1, 1, 60000, 64))
        plain = self.attend()
        self.assertEqual(self.attend("--trace", self.path("t.json")), plain)
        tasks = [event["args"] for event in self.check(self.path("t.json"))]
        keys = sorted((args["first key"], args["keys"]) for args in tasks if args["work"] == "attention")
        self.assertEqual(keys[0][0], 0)
        self.assertTrue(all(first + count == after for (first, count), (after, _) in zip(keys, keys[1:])), keys)
        self.assertEqual(sum(keys[-1]), 60000)
        self.assertEqual({args["engine"] for args in tasks if args["work"] == "attention"}, {"decoded"})

    def test_no_tasks(self):
        self.save((1, 2, 0, 8), (1, 2, 3, 8))
        inputs = [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]
        done = run("attend", *inputs, "--out", self.path("o.npy"), "--trace", self.path("t.json"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.check(self.path("t.json")), [])

    def test_refusals(self):
        self.save((1, 2, 3, 8), (1, 2, 3, 8))
        inputs = [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]
        for trace, text in (("o.npy", "--out and --trace name the same file"), ("q.npy", "the command reads this file"),
                            ("no/t.json", "cannot write")):
            self.assert_refused(run("attend", *inputs, "--out", self.path("o.npy"), "--trace", self.path(trace)), text)
        self.assertEqual(self.files(), ["k.npy", "q.npy", "v.npy"])
        if os.path.exists("/dev/full") and not on_windows():
            done = run("attend", *inputs, "--out", self.path("o.npy"), "--trace", "/dev/full")
            self.assert_refused(done, "/dev/full: cannot write")
            self.assertEqual(self.files(), ["k.npy", "q.npy", "v.npy"])


class Explain(Traced):
    def explain(self, *options):
        done = run("explain", *options)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stderr)
        return done.stdout

    def test_table_stays(self):
        np.save(self.path("m.npy"), np.random.default_rng(1).random((400, 400)) < 0.5)
        for options in (("--causal", "--heads", "3", "--batch", "2"), ("--type", "bf16", "--arithmetic", "int8"),
                        ("--mask", self.path("m.npy")), ("--pattern", "causal & window 30", "--sinks", "zero")):
            plain = self.explain("--rows", "400", *options)
            self.assertEqual(self.explain("--rows", "400", *options, "--trace", self.path("t.json")), plain)
            tasks = self.check(self.path("t.json"))
            shape = (2, 3, 400) if "--batch" in options else (1, 1, 400)
            self.assertTrue((self.rows(tasks, shape) == 1).all(), options)
            self.assertEqual(int(re.search(rb"^tasks +(\d+)", plain, re.MULTILINE)[1]), len(tasks))

    def test_threads(self):
        self.explain("--rows", "1000", "--heads", "8", "--threads", "1", "--trace", self.path("t.json"))
        self.assertEqual({event["tid"] for event in self.check(self.path("t.json"))}, {1})

    def test_refusals(self):
        path = self.path("t.json")
        self.assert_refused(run("explain", "--rows", "3", "--out", path, "--trace", path),
                            "--out and --trace name the same file")
        self.assert_refused(run("explain", "--rows", "3", "--trace", self.path("no/t.json")), "cannot write")
        done = run("explain", "--rows", "1", "--keys", str(1 << 46), "--trace", path)
        self.assert_refused(done, "--trace: out of memory")
        self.assertEqual((done.stdout, self.files()), (b"", []))


if __name__ == "__main__":
    COMMAND[:] = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
