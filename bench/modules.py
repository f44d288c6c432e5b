"""Kept runs of bench/python/module.py, in words."""

from beside import cpu_in_words, slashed, table

UNITS = {"us": "µs", "ms": "ms", "s": "s"}


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


class Run:

    def __init__(self, document):
        self.context, self.date, self.results = document["context"], document["date"], document["results"]

    def heading(self):
        versions = self.context["versions"]
        return (f"{cpu_in_words(self.context)}, {self.date}, Python {versions['python']}, PyTorch {versions['torch']}.")

    def costs(self):
        """Of what is no model."""
        rows = [[result["name"], f"{number(result['value'][0])} {UNITS[result['unit']]}"] for result in self.results
                if "torch" not in result]
        return table(["", "takes"], rows)

    def model(self):
        """A row for each list of texts: milliseconds, and times of PyTorch over them."""
        found = {}
        for result in self.results:
            if "torch" in result:
                found.setdefault(result["name"].rsplit(", t", 1)[0], []).append(result)
        rows = [[name, " / ".join(number(result["value"][0]) for result in results),
                 slashed([result["torch"][0] for result in results])] for name, results in found.items()]
        return table(["1 thread / 2 threads", "ms", "PyTorch alone"], rows)
