#!/usr/bin/python3
"""An API page, in Markdown, from the comments of a public header.

    api.py HEADER           prints the page
    api.py HEADER --check   prints what has no comment, and fails if there is anything
"""

import os
import re
import sys

import header

# The headers that have a page of their own.
HEADERS = {
    "include/fovea/fovea.h": "docs/api.md",
    "include/fovea/types.h": "docs/api-types.md",
    "include/fovea/features.h": "docs/api-features.md",
    "include/fovea/terms.h": "docs/api-terms.md",
    "include/fovea/cache.h": "docs/api-caches.md",
    "include/fovea/rotary.h": "docs/api-rotary.md",
    "include/fovea/state.h": "docs/api-states.md",
    "include/fovea/pattern.h": "docs/api-patterns.md",
    "include/fovea/explain.h": "docs/api-explain.md",
    "include/fovea/format.h": "docs/api-formats.md",
    "include/fovea/rotary_scaling.h": "docs/api-rotary-scaling.md",
    "include/fovea/nn.h": "docs/api-layers.md",
    "include/fovea/embedding.h": "docs/api-embedding.md",
    "include/fovea/encoder.h": "docs/api-encoders.md",
    "include/fovea/stream.h": "docs/api-streams.md",
    "include/fovea/recurrent.h": "docs/api-recurrent.md",
    "include/fovea/weights.h": "docs/api-weights.md",
    "include/fovea/linear_attention.h": "docs/api-linear-attention.md",
    "include/fovea/performer.h": "docs/api-performer.md",
    "include/fovea/sparse_attention.h": "docs/api-sparse-attention.md",
    "include/fovea/latent_attention.h": "docs/api-latent-attention.md",
    "include/fovea/graph_attention.h": "docs/api-graph-attention.md",
}

ADVICE = "Each declaration, field and value needs a comment above it or behind it."
# Code as it is; a page; a name; what Markdown would take for its own.
WORD = re.compile(r"`[^`]*`|\bdocs/([\w-]+\.md)|(\w*_\w*\b(?:\(\))?)|([\\`*_<>\[\]#|])")


def page(path):
    introduction, sections = header.read(path)
    anchors = header_anchors(sections)
    of = "" if path.endswith("/fovea.h") else f": {'/'.join(path.split(os.sep)[-2:])}"
    lines = [f"# API reference{of}", "", f"From the comments of `{'/'.join(path.split(os.sep)[-2:])}`.", ""]
    lines += [markdown(introduction, anchors), ""]
    for section in sections:
        lines += [f"## {section.title or ('Declarations' if of else 'Version')}", ""]
        for entry in section.entries:
            text_alone = isinstance(entry, str)
            lines += [markdown(entry, anchors), ""] if text_alone else describe_group(entry, anchors)
    return "\n".join(lines).rstrip() + "\n"


def header_anchors(sections):
    """Where each name is: a declaration at its own, a value of an enum at its type's."""
    anchors = {}
    for group in header.groups(sections):
        for declaration in group.declarations:
            own = declaration.names[0]
            anchors[own] = own
            if declaration.kind == "enum":
                members = [member for group in header.member_groups(declaration) for member in group.declarations]
                anchors.update({name: own for member in members for name in member.names})
    return anchors


def describe_group(group, anchors):
    first, *others = group.declarations
    calls = ", ".join(f"`{each.names[0]}{'()' if each.kind == 'function' else ''}`" for each in group.declarations)
    lines = [f"### {calls} {{#{first.names[0]}}}", ""]
    lines += ["".join(f'<span id="{each.names[0]}"></span>' for each in others), ""] if others else []
    shown = [each.code for each in group.declarations if not each.members]
    lines += ["```c", *shown, "```", ""] if shown else []
    lines += [markdown(group.text, anchors), ""] if group.text else []
    for each in group.declarations:
        if each.text:
            lines += [(f"`{each.names[0]}`: " if others else "") + markdown(each.text, anchors), ""]
        lines += describe_members(each, anchors)
    return lines


def describe_members(declaration, anchors):
    lines, below_text = [], False
    for entry in declaration.members:
        text = entry if isinstance(entry, str) else entry.text
        if text:
            lines += ["", markdown(text, anchors), ""]
        elif below_text:
            lines += ["", "<!-- another list -->", ""]  # the text does not speak of what follows
        below_text = bool(text)
        for member in [] if isinstance(entry, str) else entry.declarations:
            about = " ".join(markdown(member.text, anchors).split())
            lines.append(f"- `{' '.join(member.code.split())}`" + (f": {about}" if about else ""))
    return [*lines, ""] if lines else []


def markdown(text, anchors):
    """Paragraphs as they are, with names as code and links; what is indented stays as it is laid out."""
    parts = []
    for indented, lines in runs(text.split("\n")):
        if indented:
            shift = min(len(line) - len(line.lstrip()) for line in lines if line)
            parts += ["", "```text", *"\n".join(line[shift:] for line in lines).rstrip().split("\n"), "```", ""]
        else:
            parts += [prose(line, anchors) for line in lines]
    return "\n".join(parts).strip()


def runs(lines):
    """Neighbouring lines that are indented or not; blank ones stay with those before them."""
    result = []
    for line in lines:
        indented = line.startswith("  ") if line else bool(result) and result[-1][0]
        if not result or result[-1][0] != indented:
            result.append((indented, []))
        result[-1][1].append(line)
    return result


def prose(line, anchors):
    def replace(match):
        whole, document, word = match[0], match[1], match[2]
        if document:
            return f"[{whole}]({document})"
        if word:
            name = word.removesuffix("()")
            return f"[`{word}`](#{anchors[name]})" if name in anchors else f"`{word}`"
        return whole if len(whole) > 1 else "\\" + whole

    return WORD.sub(replace, line)


def main(arguments):
    if len(arguments) == 1:
        sys.stdout.write(page(arguments[0]))
        return 0
    if len(arguments) != 2 or arguments[1] != "--check":
        sys.exit(__doc__)
    missing = header.undocumented(header.read(arguments[0])[1])
    for line, name in missing:
        print(f"{arguments[0]}:{line}: {name} has no comment")
    if missing:
        print(ADVICE)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
