"""Kept runs of bench/python/ring.py: tables, and what their rates make of the cost model of docs/states.md."""

from beside import cpu_in_words, table

# The example on paper of docs/states.md.
KEYS, RANKS, HEADS, KV_HEADS, DIM, BYTES = 10**8, 1000, 32, 8, 128, 2


def in_words(ranks):
    return "1 rank" if ranks == 1 else f"{ranks} ranks"


def duration(seconds):
    for length, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} seconds"


class Run:

    def __init__(self, document):
        self.context, self.date = document["context"], document["date"]
        self.shape = self.context["shape"]
        self.results = {result["ranks"]: result for result in document["results"]}
        self.ranks = [ranks for ranks in self.results if ranks > 0]

    def seconds(self, ranks, what="seconds"):
        return self.results[ranks][what][0]

    @property
    def flops_per_second(self):
        """Of one thread, in one call over all keys: half of the pairs are visible."""
        return 2 * self.shape["dim"] * self.shape["heads"] * self.shape["keys"] ** 2 / self.seconds(0)

    @property
    def bytes_per_second(self):
        """That a rank of two sends while it receives as many, and nothing computes."""
        return self.results[2]["bytes"] / self.seconds(2, "transfers")

    def over_model(self, ranks):
        """The time over what the products take on as many CPUs as there are ranks, or on all."""
        return self.seconds(ranks) / (self.seconds(0) / min(ranks, self.context["num_cpus"]))

    def heading(self):
        shape = self.shape
        return (f"{cpu_in_words(self.context)}, {self.date}, PyTorch {self.context['versions']['torch']}, gloo over "
                f"loopback; {shape['keys']:,} keys, {shape['heads']} heads over {shape['kv_heads']}, D {shape['dim']}, "
                f"f32, causal. Each rank is a process with one thread; one call in one process takes "
                f"{self.seconds(0):.3g} s.")

    def table(self):
        rows = [[str(ranks), f"{self.seconds(ranks):.3g}", f"{self.seconds(0) / self.seconds(ranks):.2f}",
                 f"{self.over_model(ranks):.2f}", f"{1e-6 * self.results[ranks]['bytes']:.3g}",
                 f"{1e3 * self.seconds(ranks, 'transfers'):.3g}", f"{1e3 * self.seconds(ranks, 'waited'):.3g}"]
                for ranks in self.ranks]
        return table(["ranks", "seconds", "x one call", "over the products' time", "MB sent by a rank",
                      "transfers alone, ms", "waited for them in the ring, ms"], rows)

    def rates(self):
        flops, link = self.flops_per_second, self.bytes_per_second
        least = KV_HEADS / HEADS * BYTES * flops / link
        computing = 2 * DIM * HEADS * KEYS**2 / RANKS / flops
        sending = 2 * DIM * BYTES * KV_HEADS * KEYS / RANKS * (RANKS - 1) / link
        return (f"So F is {flops:.2g} and W is {link:.2g}. With these rates S_min of the example on paper is {least:.0f} "
                f"keys, and 1,000 such ranks would compute for {duration(computing)} and send for {duration(sending)}.")
