"""Reads a C header that keeps to a few habits: what it declares, and which comment says what.

A declaration's comment stands on the lines right above it or behind it on its last line. Declarations without a
blank line or comment between them are a group and share the comment above the first. The same holds of the fields of
a struct and the values of an enum. A comment of the form `---- Title ----` begins a section; any other comment with
blank lines around it is text between declarations.
"""

import dataclasses
import re

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
FOR_CPLUSPLUS = re.compile(r"^#ifdef __cplusplus\n.*?^#endif", re.MULTILINE | re.DOTALL)
DEFINE = re.compile(r"#define (\w+)(\([^)]*\))? +\S")
SECTION = re.compile(r"/\* -{2,} (.+?) -{2,} \*/")
FUNCTION_POINTER = re.compile(r"\(\*\s*(\w+)\)\s*\(")


@dataclasses.dataclass
class Declaration:
    """A function, type or macro, or one member of a type; a member of several names is `int64_t q_len, kv_len`."""

    kind: str  # "function", "struct", "enum", "type", "macro", "member"
    names: list
    code: str  # as written, without comments, bodies, FOVEA_API and FOVEA_NN_API
    text: str  # the comment behind it
    line: int
    members: list = dataclasses.field(default_factory=list)  # groups


@dataclasses.dataclass
class Group:
    text: str  # the comment above it
    declarations: list


@dataclasses.dataclass
class Section:
    title: str
    entries: list = dataclasses.field(default_factory=list)  # groups, and strings between them


def read(path):
    """The text at the top of the header, and its sections."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    comments = [match.span() for match in COMMENT.finditer(source)]
    code = blank(source, comments)
    code = blank(code, [match.span() for match in FOR_CPLUSPLUS.finditer(code)])
    directives = [match.span() for match in DIRECTIVE.finditer(code)]
    spans = [span for span in directives if is_public_macro(code[slice(*span)])]
    code_without_directives = blank(code, directives)
    spans += split(code_without_directives, 0, len(code), ";")
    entries = arrange(source, comments, sorted(spans), describe)

    introduction = entries.pop(0) if entries and isinstance(entries[0], str) else ""
    sections = [Section("")]
    for entry in entries:
        if isinstance(entry, Section):
            sections.append(entry)
        else:
            sections[-1].entries.append(entry)
    return introduction, [section for section in sections if section.entries]


def blank(source, spans):
    """The same text with spaces in place of the spans, line by line."""
    for start, end in spans:
        source = source[:start] + re.sub(r"[^\n]", " ", source[start:end]) + source[end:]
    return source


def is_public_macro(directive):
    match = DEFINE.match(directive)
    return bool(match) and match[1] not in ("FOVEA_API", "FOVEA_NN_API")


def split(code, start, end, separator):
    """Spans of what lies between the separators outside of braces; a function's body ends it, too."""
    spans, begin, depth, body = [], None, 0, False
    for at in range(start, end):
        character = code[at]
        if begin is None:
            if character.isspace():
                continue
            begin, body = at, False
        if character in "({":
            body = body or (character == "{" and depth == 0 and code[begin:at].rstrip().endswith(")"))
            depth += 1
        elif character in ")}":
            depth -= 1
        if depth == 0 and (character == separator or (body and character == "}")):
            spans.append((begin, at + 1))
            begin = None
    if begin is not None:
        spans.append((begin, len(code[:end].rstrip())))
    return spans


def arrange(source, comments, spans, describe_one):
    """Gives the comments to the declarations at these spans: groups, strings and sections in their order."""
    items = [(start, end, "code") for start, end in spans]
    inside = lambda comment: any(start < comment[0] < end for start, end in spans)
    items += [(start, end, "comment") for start, end in comments if not inside((start, end))]
    entries, previous = [], None  # previous: (end, what it was)
    for start, end, kind in sorted(items):
        lines = source[previous[0]:start].count("\n") if previous else 2
        if kind == "code":
            declaration = describe_one(source, comments, start, end)
            if lines == 1 and previous[1] == "comment above" and isinstance(entries[-1], str):
                entries.append(Group(entries.pop(), [declaration]))
            elif lines <= 1 and entries and isinstance(entries[-1], Group):
                entries[-1].declarations.append(declaration)
            else:
                entries.append(Group("", [declaration]))
            previous = (end, "code")
            continue
        title = SECTION.fullmatch(source[start:end])
        text = plain(source[start:end])
        if title:
            entries.append(Section(title[1]))
            previous = (end, "section")
        elif lines == 0 and previous and previous[1] == "code":
            entries[-1].declarations[-1].text = text
            previous = (end, "code")
        else:
            entries.append(text)
            previous = (end, "comment above")
    return entries


def plain(comment):
    """What a comment says, without its stars."""
    lines = comment[2:-2].split("\n")
    rest = [re.sub(r"^\s*\* ?", "", line) if re.match(r"\s*\*", line) else line.strip() for line in lines[1:]]
    return "\n".join(line.rstrip() for line in [lines[0].strip(), *rest]).strip()


def describe(source, comments, start, end):
    """The declaration at a span."""
    text = blank(source, [comment for comment in comments if start < comment[0] < end])[start:end]
    line = source.count("\n", 0, start) + 1
    macro = DEFINE.match(text)
    if macro:
        return Declaration("macro", [macro[1]], text, "", line)
    kind = re.match(r"(?:typedef )?(enum|struct) (\w+) \{", text)
    if kind:
        body_start, body_end = start + text.index("{") + 1, start + text.rindex("}")
        separator = "," if kind[1] == "enum" else ";"
        code = blank(source, comments)
        members = arrange(
            source,
            [comment for comment in comments if body_start <= comment[0] < body_end],
            split(code, body_start, body_end, separator),
            describe_member,
        )
        return Declaration(kind[1], [kind[2]], without_blank_lines(text), "", line, members)
    pointer = FUNCTION_POINTER.search(text)
    if text.startswith("typedef"):
        name = pointer[1] if pointer else re.search(r"(\w+)\s*;", text)[1]
        return Declaration("type", [name], text, "", line)
    text = without_prefix(re.sub(r"\s*\{.*", ";", text, flags=re.DOTALL))
    return Declaration("function", [re.search(r"(\w+)\s*\(", text)[1]], text, "", line)


def describe_member(source, comments, start, end):
    text = blank(source, [comment for comment in comments if start < comment[0] < end])[start:end].rstrip(",;").rstrip()
    pointer = FUNCTION_POINTER.search(text)
    declarators = [pointer[1]] if pointer else [re.split(r"[=\[]", part)[0] for part in text.split(",")]
    names = [re.search(r"(\w+)\s*$", declarator)[1] for declarator in declarators]
    return Declaration("member", names, text, "", source.count("\n", 0, start) + 1)


def without_prefix(text):
    """The further lines keep their place below the first."""
    prefix = re.match(r"(static inline |FOVEA_API |FOVEA_NN_API )?", text).end()
    return text[prefix:].replace("\n" + " " * prefix, "\n")


def without_blank_lines(text):
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())


def undocumented(sections):
    """(line, name) of all that no comment speaks of. A member may also be named in its type's comment."""
    missing = []
    for group in groups(sections):
        for declaration in group.declarations:
            if not (group.text or declaration.text):
                missing.append((declaration.line, declaration.names[0]))
            said = set(re.findall(r"\w+", (group.text + " " + declaration.text).lower()))
            for members in member_groups(declaration):
                for member in [] if members.text else members.declarations:
                    unsaid = [name for name in member.names if not short_names(name) & said]
                    if not member.text and unsaid:
                        missing.append((member.line, f"{declaration.names[0]}.{unsaid[0]}"))
    return missing


def short_names(name):
    """How a comment may call a member: FOVEA_MASK_BITS is also BITS, FOVEA_FORMAT_Q8_0 also Q8_0."""
    words = name.lower().split("_")
    return {"_".join(words[i:]) for i in range(len(words) if name.isupper() else 1)}


def groups(sections):
    return [entry for section in sections for entry in section.entries if isinstance(entry, Group)]


def member_groups(declaration):
    return [entry for entry in declaration.members if isinstance(entry, Group)]
