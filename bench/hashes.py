"""A table of a sentence's hashes with and without one_answer(), from a run of bench/peers/one_answer_hashes.py."""

from beside import table

ALONE = "torch"
SHOWN = 6  # digits of a hash


def ours(results):
    """The hashes of one_answer() and of the program in C."""
    return {result["sha256"] for result in results if result["way"] != ALONE}


def joined(found):
    return ", ".join(f"`{digits[:SHOWN]}`" for digits in dict.fromkeys(found))


def lines(document):
    """Markdown: a row for each instruction set and number of threads, a column for each batch."""
    results = document["results"]
    measured = [result for result in results if "set" in result]
    batches = sorted({result["batch"] for result in measured})
    rows = []
    for name, threads in dict.fromkeys((result["set"], result["threads"]) for result in measured):
        own = [result for result in measured if (result["set"], result["threads"]) == (name, threads)]
        alone = [joined(r["sha256"] for r in own if r["way"] == ALONE and r["batch"] == batch) for batch in batches]
        rows.append([f"{name}, {threads}", *alone, joined(r["sha256"] for r in own if r["way"] != ALONE)])
    count = len({result["sha256"] for result in measured if result["way"] == ALONE})
    in_c = [f"{result['way']}: {joined([result['sha256']])}" for result in results if "set" not in result]
    titles = ["instruction set, threads", *(f"PyTorch, batch {batch}" for batch in batches), "one_answer(), all batches"]
    return [*table(titles, rows), "", f"{count} different hashes by PyTorch alone, {len(ours(results))} by one_answer() "
            "and the same model in C" + (f" ({'; '.join(in_c)})." if in_c else ".")]
