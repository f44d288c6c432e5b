"""Kept runs of bench/examples/receipts.py: tables."""

from beside import cpu_in_words, table


def seconds(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def kilobytes(size, time):
    rate = 1e-3 * size / time
    return f"{rate:.2g}" if rate < 100 else f"{rate:,.0f}"


class Run:

    def __init__(self, document):
        self.context, self.date = document["context"], document["date"]
        self.receipts = [result for result in document["results"] if result["kind"] == "receipt"]
        self.packed = [result for result in document["results"] if result["kind"] == "packed"]
        self.threads = sorted({result["threads"] for result in self.receipts})

    def heading(self):
        return f"{cpu_in_words(self.context)}, {self.date}."

    def by_length(self):
        """Results of all numbers of threads for each model and length."""
        found = {}
        for result in self.receipts:
            found.setdefault((result["model"], result["length"]), []).append(result)
        return found

    def receipt_rows(self):
        rows = []
        for (model, length), results in self.by_length().items():
            cells = [" / ".join(seconds(1e3 * result[key][0]) for result in results) for key in
                     ("written", "verified", "hash")]
            over = " / ".join(f"{result['over'][0]:.2g}" for result in results)
            rows.append([f"{model}, {length:,}", *cells[:2], over, cells[2]])
        return rows

    def receipt_table(self):
        counted = " / ".join("1 thread" if threads == 1 else f"{threads} threads" for threads in self.threads)
        return table([f"tokens written, {counted}", "written, ms", "verified, ms", "verified over written",
                      "hash of the file, ms"], self.receipt_rows())

    def packed_table(self):
        rows = []
        for result in sorted(self.packed, key=lambda result: result["text"]):
            size = result["bytes"]
            rows.append([f"{result['text']}, {size:,} bytes", result["by"], f"{result['packed']:,}",
                         f"{size / result['packed']:.2f}", kilobytes(size, result["pack"][0]),
                         kilobytes(size, result["unpack"][0])])
        return table(["text", "by", "bytes", "ratio", "packs, KB/s", "unpacks, KB/s"], rows)
