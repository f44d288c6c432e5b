"""What bench/pages.py puts between markers in docs and README, from kept runs: a function for each name."""

import json
import re
from statistics import median

import formats as cache_formats
import hashes
import language_models
import measurements
import modes
import modules
import plugins
import report
import rings
import sdpas
import texts
import variants
from beside import (FRAMEWORKS, GGML, OPENBLAS, OPENVINO, PYTORCH, cpu_in_words, kept_runs, measured_runs, number,
                    slashed, span, table, without_marks)
from kept import RESULTS
from kinds import kind_of
from layer_modes import PANELS

# Problems on the page; the pages of the runs have all.
ATTENTION = (
    ("prefill/h8_s2048_d128/full", "f32"), ("prefill/h8_s2048_d64/causal", "f32"),
    ("prefill/h32_kv8_s4096_d128/causal", "f32"), ("prefill/h8_s8192_d128/window512", "f32"),
    ("prefill/b8_h12_s197_d64/full", "f32"),
    ("prefill/h8_s2048_d128/causal", "f16"), ("prefill/h8_s2048_d128/causal", "bf16"),
    ("decode/h32_kv8_s4096_d128/full", "f32"), ("decode/h32_kv8_s32768_d128/full", "f32"),
    ("decode/h32_kv8_s32768_d128/full", "f16"), ("decode/h32_kv8_s32768_d128/full", "bf16"),
)
CACHES = (
    ("decode/b8_h32_kv8_s4096_d128_page16/full", "f32"), ("decode/b8_h32_kv8_s4096_d128_page128/full", "bf16"),
    ("decode/b8_h32_kv8_s4096_d128_page128/full", "e4m3"), ("decode/b8_h32_kv8_s4096_d128/full", "f16"),
    ("decode/b8_h32_kv8_s4096_d128/full", "q8_0"), ("decode/b8_h32_kv8_s4096_d128/full", "q4_0"),
    ("prefill/h8_s2048_d128_page128/causal", "bf16"),
    ("prefill/h8_s2048_d128/causal", "f16"), ("prefill/h8_s2048_d128/causal", "q8_0"),
)
CACHE_WAYS = (("vLLM", "vllm/attention"), ("vLLM without AMX", "vllm/attention_without_amx"), ("zentorch", "zentorch/"),
              ("ggml", "ggml/"))
FORMATS = ("i8_rows_panels", "q8_0", "e4m3_panels", "q4_0", "ort_u4_panels")
MODE_SHAPES = (("prefill, S 2048, D 128", "h8_s2048_d128/full_{}"), ("causal, S 2048, D 64", "h8_s2048_d64/causal_{}"),
               ("batch 8, S 197, D 64", "b8_h12_s197_d64/full_{}"), ("64 rows, S 2048, D 64", "h8_q64_s2048_d64/full_{}"),
               ("decode, S 4096", "h32_kv8_s4096_d128/decode_{}"))
LINEAR = ("r16_i384_o1536", "r512_i384_o1536", "r4096_i384_o1536", "r16_i4096_o4096", "r4096_i4096_o4096")
LINEAR_MODES = ("r16_i768_o3072", "r128_i768_o3072", "r512_i768_o3072", "r128_i4096_o4096", "r512_i4096_o4096")
ONE_ROW = "row/i4096_o4096"
MODELS = ("minilm/b1_t16", "minilm/b1_t256", "minilm/b16_t64", "minilm/b16_t256")
# Of bf16 mode beside other libraries, where a run has it.
MODE_PROBLEMS = ("prefill/h8_s2048_d128/full", "prefill/h8_s2048_d128/causal", "prefill/b16_h12_s384_d64/full",
                 "decode/h32_kv8_s4096_d128/full")
MODE_SETS = {"bf16": ("amx", "avx512_bf16", "avx512"), "int8": ("amx", "avx512.vnni", "avx2.rows")}
PATTERNS = (
    ("chunks512", "chunks of 512 rows, and the chunk before"), ("window512", "causal window of 512 keys"),
    ("blocks64", "a tenth of the blocks of 64 x 64, at random"), ("documents512", "causal within documents of 512 rows"),
    ("longformer", "window of 256 keys to both sides, 4 global keys"), ("window128", "causal window of 128 keys"),
    ("grid13", "13 x 13 neighbours on a grid, 64 wide"),
)
# Of scaled_dot_product_attention with and without Fovea, in f32.
SDPA = ("prefill/h8_s2048_d128/full", "prefill/h8_s2048_d128/causal", "prefill/h8_s2048_d64/causal",
        "prefill/h32_kv8_s4096_d128/causal", "prefill/b8_h12_s197_d64/full", "packed/b32_h8_s20to500_d64/full",
        "decode/h32_kv8_s4096_d128/full")
VARIANTS = ("exact", "window", "bigbird", "reformer", "linformer", "performer", "linear", "selected", "latent")


def joined(blocks):
    return "\n\n".join("\n".join(lines) for lines in blocks)


def is_prefill(types):
    return lambda name, own: own in types and not name.startswith("decode")


def is_decode(types):
    return lambda name, own: own in types and name.startswith("decode")


def of_kind(kind):
    """In f32."""
    return lambda name, own: own == "f32" and name.startswith(f"{kind}/")


def all_types():
    """Runs of attention in f32 and other types. A run of bf16 alone is for the table of bf16 mode."""
    return [run for run in kept_runs("peers") if any(own == "f32" for _, own, _ in run.results)]


def one_answer_hashes():
    return joined(hashes.lines(json.loads(path.read_text(encoding="utf-8")))
                  for path in sorted(RESULTS.glob("one_answer_hashes-peers-*.json")))


def short():
    """All problems in a few lines."""
    rows = []
    for run in all_types():
        where = cpu_in_words(run.context)
        for words, chosen in (("prefill, f32 and f16", is_prefill(("f32", "f16"))),
                              ("prefill, bf16, exact mode", is_prefill(("bf16",))),
                              ("decoding, f32, f16 and bf16", is_decode(("f32", "f16", "bf16")))):
            rows.append([words, *(span(run.all_ratios(way, chosen)) for _, way in FRAMEWORKS), where])
    for run in kept_runs("layers-peers"):
        where = cpu_in_words(run.context)
        for words, kind in (("linear layers, f32", "linear"), ("a whole model, MiniLM, f32", "minilm")):
            rows.append([words, *(span(run.all_ratios(way, of_kind(kind))) for _, way in FRAMEWORKS), where])
    for peers in pattern_peers():
        where = cpu_in_words(peers)
        rows.append(["patterns, f32", span(flex_ratios(peers)), "", "", where])
    return "\n".join(table(["", *(title for title, _ in FRAMEWORKS), "measured on"], rows))


def attention():
    blocks = []
    for run in all_types():
        rows = [[f"{report.label(f'{name}/-/t1')}, {own}", run.milliseconds(name, own, "fovea/plan"),
                 *(run.cell(name, own, way) for _, way in FRAMEWORKS)] for name, own in ATTENTION]
        plot = run.page.replace(".md", ".svg")
        blocks += [[f"![Times of other libraries over Fovea's]({plot})"], [run.heading()],
                   table(["1 thread / 2 threads", "Fovea, ms", *(title for title, _ in FRAMEWORKS)], rows)]
    blocks += [[of_the_limits(measurements.load(path))] for path in sorted(RESULTS.glob("*.json"))
               if not kind_of(path).prefix]
    return joined(blocks)


def of_the_limits(run):
    isa = run.context["fovea_isa"]

    def fractions(kind, counter):
        found = [run.median(name, counter) for name in run.benchmarks
                 if name.startswith(f"{kind}/") and name.endswith(f"/{isa}/t1") and "_q" not in name]
        found = [value for value in found if value is not None]
        return f"{100 * min(found):.0f} to {100 * max(found):.0f} %, median {100 * median(found):.0f} %"

    page = f"../bench/results/{run.cpu_slug}.md"
    return (f"Beside the limits of the machine ({without_marks(run.cpu)}, {run.date}, one thread, `{isa}`): prefill "
            f"reaches {fractions('prefill', 'peak_fraction')}, of the rate of multiply-adds; decoding reaches "
            f"{fractions('decode', 'bandwidth_fraction')}, of the rate of plain reading ([all shapes]({page})).")


def caches():
    blocks = []
    for run in kept_runs("caches-peers"):
        rows = []
        for name, own in CACHES:
            ways = [run.cell(name, own, way) for _, way in CACHE_WAYS]
            pages = ", pages of " + name.split("_page")[1].split("/")[0] if "_page" in name else ""
            words = report.label(re.sub(r"_page\d+", "", name) + "/-/t1")
            rows.append([f"{words}{pages}, {own}", run.milliseconds(name, own, "fovea/rows"), *ways])
        titles = ["1 thread / 2 threads", "Fovea, ms", *(title for title, _ in CACHE_WAYS)]
        blocks += [[run.heading()], table(titles, rows)]
    return joined(blocks)


def formats():
    blocks = []
    for page, run in measured_runs("formats"):
        isa = run.context["fovea_isa"]
        rows = []
        for cache in FORMATS:
            cells = []
            for keys in (32768, 4096):
                for counter in ("tokens_over_f32", "tokens_over_f16"):
                    cells.append(slashed([run.median(f"format/h32_kv8_s{keys}_d128/{cache}/{isa}/t{n}", counter)
                                          for n in (1, 2)]))
            rows.append([cache_formats.cache_in_words(cache), *cells])
        blocks += [[f"{without_marks(run.cpu)}, {run.date} ([all shapes]({page}))."],
                   table(["tokens a second, 1 thread / 2 threads", "32,768 keys, x f32", "x f16", "4,096 keys, x f32",
                          "x f16"], rows)]
    return joined(blocks)


def mode_rows(run):
    """A row for each mode and instruction set: how many times as fast as exact mode, one thread."""
    where = f"{without_marks(run.cpu)}, {run.date}"
    for mode in ("bf16", "int8"):
        found = {name.split("/")[3] for name in modes.names_of(run, mode)}
        for isa in (isa for isa in MODE_SETS[mode] if isa in found and not (isa == "avx512" and "amx" in found)):
            cells = []
            for _, shape in MODE_SHAPES:
                half = "int8_of_i8" if mode == "int8" and "decode" in shape else mode
                value = run.median(f"mode/{shape.format(half)}/{isa}/t1", "speed_over_exact")
                cells.append("" if value is None else number(value))
            yield [f"{mode} by {modes.set_in_words(isa)}", *cells, where]


def mode_speeds():
    rows = [row for _, run in measured_runs("modes") for row in mode_rows(run)]
    return "\n".join(table(["times as fast as exact mode", *(title for title, _ in MODE_SHAPES), "measured on"], rows))


def mode_peers():
    blocks = []
    for run in kept_runs("peers"):
        names = [name for name in MODE_PROBLEMS if any("fovea/bf16_mode" in run.results[place]["entries"]
                                                       for place in run.results if place[:2] == (name, "bf16"))]
        rows = [[report.label(f"{name}/-/t1"), run.milliseconds(name, "bf16", "fovea/bf16_mode"),
                 *(run.cell(name, "bf16", way, "ratio_to_mode") for _, way in (PYTORCH, OPENVINO))]
                for name in names]
        if rows:
            blocks += [[f"bf16 mode beside others in bf16: {run.heading()}"],
                       table(["1 thread / 2 threads", "Fovea, ms", PYTORCH[0], OPENVINO[0]], rows)]
    for run in kept_runs("modes-peers"):
        rows = []
        name = "prefill/h8_s2048_d128/full"
        for way, words in (("fovea/int8_of_q8_0_on_amx", "AMX"), ("fovea/int8_of_q8_0", "VNNI")):
            found = [run.results[name, "q8_0", n]["entries"].get(way) for n in run.threads]
            if all(found):
                rows.append([f"{report.label(f'{name}/-/t1')}, by {words}", run.milliseconds(name, "q8_0", way),
                             *(slashed([entry["over"][other][0] for entry in found])
                               for other in ("ggml/q8_0", "ggml/f16"))])
        blocks += [[f"int8 mode over a q8_0 cache, beside ggml: {run.heading()}"],
                   table(["1 thread / 2 threads", "Fovea, ms", "ggml over q8_0", "ggml over f16"], rows)]
    return joined(blocks)


def shape_in_words(shape):
    rows, ins, outs = (int(part[1:]) for part in shape.split("_"))
    return f"{rows:,} rows, {ins:,} to {outs:,}"


def layers():
    blocks = []
    own = {run.cpu: run for _, run in measured_runs("layers")}
    for run in kept_runs("layers-peers"):
        alone = own.get(run.context["cpu"])
        rows = []
        for shape in LINEAR:
            name = f"linear/{shape}"
            openblas = [alone and alone.median(f"{name}/f32/{alone.context['fovea_isa']}/t{n}", "vs_openblas")
                        for n in run.threads]
            rows.append([f"linear, {shape_in_words(shape)}", run.milliseconds(name, "f32", "fovea/layers"),
                         run.cell(name, "f32", OPENBLAS[1]) or slashed(openblas),
                         *(run.cell(name, "f32", way) for _, way in FRAMEWORKS)])
        for name in MODELS:
            batch, tokens = (part[1:] for part in name.split("/")[1].split("_"))
            rows.append([f"MiniLM, {batch} text{'s' if batch != '1' else ''} of {tokens} tokens",
                         run.milliseconds(name, "f32", "fovea/layers"), "",
                         *(run.cell(name, "f32", way) for _, way in FRAMEWORKS)])
        blocks += [[run.heading()], table(["1 thread / 2 threads", "Fovea, ms", OPENBLAS[0],
                                           *(title for title, _ in FRAMEWORKS)], rows)]
    return joined(blocks)


def language_model():
    blocks = []
    for run in kept_runs("llm-peers"):
        blocks += [[run.heading()], language_models.lines(run)]
    return joined(blocks)


def ggml_plugin():
    blocks = []
    for run in kept_runs("ggml_plugin-peers"):
        blocks += [[run.heading()], plugins.lines(run)]
    return joined(blocks)


def layer_modes():
    """Of runs that have them: modes and quantised weights beside others, and each format beside f16. Older runs lack some columns."""
    blocks = []
    for run in kept_runs("layers-peers"):
        types = {own for _, own, _ in run.results}
        columns = (("exact mode", "fovea/exact"), ("exact mode, in f32", "fovea/f32"), *FRAMEWORKS, GGML)
        rows = [[f"{mode} mode, {shape_in_words(shape)}", run.milliseconds(f"linear/{shape}", mode, "fovea/layers"),
                 *(run.cell(f"linear/{shape}", mode, way) for _, way in columns)]
                for mode in ("bf16", "int8") if mode in types for shape in LINEAR_MODES]
        if rows:
            blocks += [[f"bf16 mode with all tensors in bf16, int8 mode with x and outputs in f32. {run.heading()}"],
                       table(["1 thread / 2 threads", "Fovea, ms", *(title for title, _ in columns)], rows)]
        columns = (("int8 mode", "fovea/int8"), ("Fovea over f16", "fovea/f16"), GGML, *FRAMEWORKS[1:])
        rows = [[f"one row, 4,096 to 4,096, {kind}", run.milliseconds(ONE_ROW, kind, "fovea/layers"),
                 *(run.cell(ONE_ROW, kind, way) for _, way in columns)] for kind in ("q8_0", "q4_0") if kind in types]
        if rows:
            blocks += [["Quantised weights that come from memory, in exact mode:"],
                       table(["1 thread / 2 threads", "Fovea, ms", *(title for title, _ in columns)], rows)]
    for page, run in measured_runs("layers"):
        rows = list(formats_of_weights(run))
        if rows:
            blocks += [[f"Times as fast as over f16, in exact mode. {without_marks(run.cpu)}, {run.date} ([all]({page}))."],
                       table(["1 thread / 2 threads", "one row", "16 rows", "128 rows"], rows)]
    return joined(blocks)


def formats_of_weights(run):
    """Of a run of fovea_bench: a row for each format, 4,096 to 4,096."""
    isa = run.context["fovea_isa"]
    names = [name.split("/")[2] for name in run.benchmarks if name.startswith(ONE_ROW) and name.endswith("/t1")]
    for weights in (name for name in names if name not in PANELS and not name.endswith("_mode")):
        cells = [slashed([run.median(f"{shape}/{weights}/{isa}/t{n}", "speed_over_f16") for n in (1, 2)])
                 for shape in (ONE_ROW, "linear/r16_i4096_o4096", "linear/r128_i4096_o4096")]
        yield [weights, *cells]


def layer_errors():
    """Of formats and modes, over normal numbers: bench/accuracy/weights.py."""
    run = json.loads((RESULTS / "accuracy-weights.json").read_text(encoding="utf-8"))
    rows = [[name, *(f"{100 * errors[mode]:.2g} %" if mode in errors else "" for mode in ("exact", "bf16", "int8"))]
            for name, errors in run["rms"].items()]
    return "\n".join(table(["weights", "exact mode", "bf16 mode", "int8 mode"], rows))


def pattern_peers():
    """Runs of bench/peers/patterns.py."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("patterns-peers-*.json"))]


def flex_ratios(peers):
    others = ("weights/", "graph/")
    return [result["ratio"][0] for result in peers["results"] if not result["name"].startswith(others)]


def patterns():
    blocks = []
    beside = {peers["cpu"]: {result["name"]: result["ratio"][0] for result in peers["results"]}
              for peers in pattern_peers()}
    for page, run in measured_runs("patterns"):
        isa, others = run.context["fovea_isa"], beside.get(run.cpu, {})
        rows = []
        for pattern, words in PATTERNS:
            speed = run.median(f"paired/h4_s4096_d64/{pattern}/{isa}/t1", "speed_over_dense")
            flex = others.get(f"{pattern}/d64")
            rows.append([words, f"{100 * speed:.0f} %", number(flex) if flex else ""])
        blocks += [[f"{without_marks(run.cpu)}, {run.date}, 4 heads, S 4096, D 64, one thread ([all]({page}))."],
                   table(["", "speed of dense attention", "FlexAttention, compiled"], rows),
                   [of_graphs(run, others)]]
    return joined(blocks)


def of_graphs(run, others):
    texts = []
    for degree in (8, 64):
        name = f"graph/n16384_e{degree}_d64/edges/{run.context['fovea_isa']}/t1"
        geometric, passes = others.get(f"graph/e{degree}_d64"), run.median(name, "vs_three_passes")
        if geometric and passes:
            texts.append(f"{degree} edges a node: PyTorch Geometric {number(geometric)}, three passes of plain C "
                         f"{number(passes)}")
    return f"Graph attention over random edges: {'; '.join(texts)}."


def variant_times():
    blocks = []
    for page, run in measured_runs("variants"):
        found = variants.curves(run, 1)
        path = RESULTS / f"variants-peers-{run.cpu_slug}.json"
        peers = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else ()
        others = {result["name"].split("/")[0]: result for result in peers if result["name"].endswith("/t1")}
        rows = []
        for variant in VARIANTS:
            times, other = variants.medians(found[variant], "time_ns"), others.get(variant)
            ratios = variants.medians(found[variant], "exact_over_variant")
            rows.append([variant.replace("_", " "), *(f"{times[keys] * 1e-6:,.3g}" for keys in (512, 4096)),
                         f"{times[65536] * 1e-6:,.0f}", variants.in_words(variants.crossover(ratios)) if ratios else "",
                         f"{number(other['ratio'][0])}, {other['peer']}" if other else ""])
        blocks += [[f"![Time and memory against length]({page.replace('.md', '.svg')})"],
                   [f"{without_marks(run.cpu)}, {run.date}, one head of 64 dims, f32, one thread ([all]({page}))."],
                   table(["", "ms, 512 keys", "4,096", "65,536", "faster than exact from", "beside another's"], rows)]
    return joined(blocks)


def documents(prefix):
    """Runs of bench/python and bench/examples, and their pages."""
    for path in sorted(RESULTS.glob(f"{prefix}-*.json")):
        yield json.loads(path.read_text(encoding="utf-8")), f"../bench/results/{path.with_suffix('.md').name}"


def ring():
    blocks = []
    for document, _ in documents("ring"):
        run = rings.Run(document)
        blocks += [[run.heading()], run.table(), [run.rates()]]
    return joined(blocks)


def sdpa():
    blocks = []
    for document, page in documents("sdpa"):
        run = sdpas.Run(document)
        ratios = {number_type: run.ratios(number_type) for number_type in run.types()}
        ratios["bf16 in bf16 mode"] = run.ratios("bf16", sdpas.MODE)
        spans = "; ".join(f"{words} {span(found)}" for words, found in ratios.items() if found)
        blocks += [["`x` says how many times as long PyTorch takes alone; below 1, in bold, PyTorch is faster. "
                    f"{run.heading()[:-1]} ([all]({page}))."], run.table("f32", SDPA),
                   [f"Median, least and most over all calls: {spans}."]]
    return joined(blocks)


def receipts():
    blocks = []
    for document, page in documents("receipts"):
        run = texts.Run(document)
        blocks += [[f"{run.heading()[:-1]} ([all]({page}))."], run.receipt_table(), run.packed_table()]
    return joined(blocks)


def python_model():
    blocks = []
    for document, page in documents("module"):
        run = modules.Run(document)
        blocks += [["How long `embed()` takes within `one_answer()`, and how many times as long without; below 1, in bold, "
                    f"PyTorch is faster. {run.heading()[:-1]} ([all]({page}))."], run.model()]
    return joined(blocks)


def python_costs():
    blocks = []
    for document, _ in documents("module"):
        run = modules.Run(document)
        blocks += [["Installation is without a compiler's cache. Calls have one row and one key, so what they take is the "
                    f"way there and back. {run.heading()}"], run.costs()]
    return joined(blocks)


def prefill_speeds(mode, isa):
    """Times as fast as exact mode, of all prefills with the mode in both halves and tensors in f32, one thread."""
    found = []
    for _, run in measured_runs("modes"):
        for name in modes.names_of(run, mode):
            _, _, what, own, threads = name.split("/")
            if (own, threads) == (isa, "t1") and what.endswith(f"_{mode}") and not what.startswith("decode"):
                found.append(run.median(name, "speed_over_exact"))
    return found


def readme():
    """Five lines: what a user gains, and where others are faster."""
    def of(run, chosen):
        found = {title: run.all_ratios(way, chosen) for title, way in FRAMEWORKS}
        return ", ".join(f"{title} {span(ratios)}" for title, ratios in found.items() if ratios)

    lines = []
    for run in all_types():
        lines += [f"- Prefill in f32 and f16: {of(run, is_prefill(('f32', 'f16')))} ({cpu_in_words(run.context)}).",
                  f"- Decoding in f32, f16 and bf16: {of(run, is_decode(('f32', 'f16', 'bf16')))}.",
                  "- Prefill in bf16, which they multiply on AMX, as exact mode does not: "
                  f"{of(run, is_prefill(('bf16',)))}."]
    lines += [f"- A whole sentence model in f32: {of(run, of_kind('minilm'))} ({cpu_in_words(run.context)})."
              for run in kept_runs("layers-peers")]
    lines += ["- In prefill, times as fast as exact mode: int8 mode by VNNI "
              f"{span(prefill_speeds('int8', 'avx512.vnni'))}, bf16 mode on AMX {span(prefill_speeds('bf16', 'amx'))}."]
    return "\n".join(lines)
