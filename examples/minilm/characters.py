"""Writes characters.inc: what BERT's tokenizer (uncased) makes of every code point.

    python3 characters.py > characters.inc        needs `pip install tokenizers` (0.23.3 was used)

It asks the reference itself, code point by code point: the tables are the reference's own Unicode version, whichever
that is. The last line of the output is a digest of the answers, which tokenizer_test.c compares with the
answers of characters.c."""

from tokenizers import normalizers, pre_tokenizers

NORMALIZER = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
SPLITTER = pre_tokenizers.BertPreTokenizer()
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic in characters.c
LAST = 0x10FFFF


def code_points():
    return (c for c in range(LAST + 1) if not 0xD800 <= c < 0xE000)


def becomes(c):
    return [ord(x) for x in NORMALIZER.normalize_str("x" + chr(c) + "x")[1:-1]]


def is_split_off(c):
    return len(SPLITTER.pre_tokenize_str("x" + chr(c) + "x")) == 3


def spans(points):
    found = []
    for c in sorted(points):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def runs(mapping):
    """(first, last, to, step, growth): code points `step` apart whose images are `growth` apart."""
    found, done = [], set()
    for c in sorted(mapping):
        if c in done:
            continue
        best, way = [c], (1, 0)
        for step in (1, 2):
            for growth in (0, 1, 2):
                run = [c]
                while run[-1] + step not in done and mapping.get(run[-1] + step) == mapping[run[-1]] + growth:
                    run.append(run[-1] + step)
                if len(run) > len(best):
                    best, way = run, (step, growth)
        done |= set(best)
        found.append((c, best[-1], mapping[c], *way))
    return found


def table(declaration, rows, comment):
    print(f"\n/* {comment} */\nstatic const {declaration}[] = {{")
    line = "   "
    for row in rows:
        text = "{" + ",".join(f"{x:#x}" if x > 9 else str(x) for x in row) + "},"
        if len(line) + 1 + len(text) > 118:
            print(line)
            line = "   "
        line += " " + text
    print(line + "\n};")


def flat(declaration, numbers):
    print(f"static const {declaration}[] = {{")
    for i in range(0, len(numbers), 15):
        print("    " + "".join(f"{x:#x}," for x in numbers[i : i + 15]))
    print("};")


def fnv(digest, number):
    for byte in number.to_bytes(4, "little"):
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return digest


def main():
    image = {c: becomes(c) for c in code_points()}
    split = [c for c in code_points() if is_split_off(c)]
    changed = {c: to for c, to in image.items() if to != [c] and c not in HANGUL}
    ideographs = [c for c, to in changed.items() if len(to) == 3 and to[0] == to[2] == 32]
    single = {c: to[0] for c, to in changed.items() if len(to) == 1 and to != [32]}
    compatible = [c for c in ideographs if changed[c][1] != c]
    several = [(c, *(to + [0])[:3]) for c, to in changed.items() if len(to) > 1 and c not in set(ideographs)]
    print("/* Written by characters.py: what BERT's tokenizer (uncased) makes of code points. */")
    table("struct span dropped", spans(c for c, to in changed.items() if not to), "Accents and control characters.")
    table("struct span spaces", spans(c for c, to in changed.items() if to == [32]), "Become a space.")
    table("struct span ideographs", spans(ideographs), "Get a space on both sides.")
    table("struct span punctuation", spans(split), "Are words of their own.")
    table("struct run runs", runs(single), "Become another: first, last, image of the first, step, growth of images.")
    table("struct span compatible", spans(compatible), "Ideographs that become others: `unified`, in the same order.")
    flat("uint32_t unified", [changed[c][1] for c in compatible])
    table("struct several several", several, "Become two or three others.")
    digest = 0xCBF29CE484222325
    for c in code_points():
        for number in [c, len(image[c]), *image[c]]:
            digest = fnv(digest, number)
    for c in split:
        digest = fnv(digest, c)
    print(f"\n#define CHARACTERS_DIGEST UINT64_C({digest:#018x})")


main()
