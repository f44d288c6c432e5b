"""What differs between two descriptions of abi_text.py, and whether programs that know the old one still work."""

import dataclasses
import re

from abi_text import split, without_name

# Structs without `struct_size` that lie in arrays, and the field that has the bytes of one element.
ELEMENTS = {
    "fovea_segment": ("fovea_sequence", "segment_size"),
    "fovea_rule": ("fovea_pattern_options", "rule_size"),
    "fovea_position_term": ("fovea_problem_terms", "size"),
}


@dataclasses.dataclass
class Change:
    breaks: bool
    text: str


def changes(old, new):
    """The changes from one description to another."""
    found = []
    for key in sorted(old.keys() | new.keys()):
        library, kind, name = key
        what = f"{library}: {kind} {name}"
        if key not in new:
            found.append(Change(True, f"{what} is gone"))
        elif key not in old:
            found.append(Change(False, f"{what} is new"))
        elif kind == "struct":
            found += struct_changes(what, old[key], new[key], says_its_size(name, old))
        elif kind == "enum":
            found += enum_changes(what, old[key], new[key])
        elif kind in ("function", "inline"):
            found += signature_changes(what, old[key].detail, new[key].detail)
        elif old[key].detail != new[key].detail:
            found.append(Change(kind != "library", f"{what} was {old[key].detail}, and is {new[key].detail}"))
    return found


def signature_changes(what, old, new):
    """Arguments may get other names, but not other types or places."""
    if old == new:
        return []
    (old_result, old_types, old_names), (new_result, new_types, new_names) = signature(old), signature(new)
    if (old_result, old_types) != (new_result, new_types):
        return [Change(True, f"{what} was {old}, and is {new}")]
    if sorted(old_names) == sorted(new_names):
        return [Change(True, f"{what} has its arguments in another order: it was {old}, and is {new}")]
    return [Change(False, f"{what} names its arguments {', '.join(new_names)}, not {', '.join(old_names)}")]


def signature(detail):
    """The type of the result, the types of the arguments, their names."""
    result, parameters = detail[:-1].split(" (", 1)
    each = [parameter.strip() for parameter in split(parameters)]
    names = [(re.search(r"\(\*(\w+)\)", text) or re.search(r"(\w+)(?:\[[^]]*\])*$", text))[1] for text in each]
    return result, [without_name(text) for text in each], names


def says_its_size(name, items):
    """Whether a library learns how large the struct is in a program."""
    if name in ELEMENTS:
        struct, field = ELEMENTS[name]
        return any(key[1:] == ("struct", struct) and field in item.members for key, item in items.items())
    return any(key[1:] == ("struct", name) and next(iter(item.members)) == "struct_size" for key, item in items.items())


def struct_changes(what, old, new, says_size):
    """Fields may be added at or after the old end, if a library can tell by the size which of them a program has."""
    old_end, new_end = bytes_of(old.detail), bytes_of(new.detail)
    found = member_changes(what, "field", old, new)
    for name, detail in new.members.items():
        if name in old.members:
            continue
        at = int(re.match(r"at (\d+)", detail)[1])
        if not says_size:
            found.append(Change(True, f"{what} has a new field {name}, and no size that tells whether a program has it"))
        elif at < old_end:
            found.append(Change(True, f"{what} has a new field {name} at {at}, within its old {old_end} bytes"))
        else:
            found.append(Change(False, f"{what} has a new field {name} at its end"))
    if new_end < old_end or new_end != old_end and not any(not change.breaks for change in found):
        found.append(Change(True, f"{what} had {old_end} bytes, and has {new_end}"))
    return found


def enum_changes(what, old, new):
    """Values may be added after the last."""
    found = member_changes(what, "value", old, new)
    last = max(map(int, old.members.values()))
    for name, value in new.members.items():
        if name not in old.members:
            where = "after the last" if int(value) > last else f"which is not after the last, {last}"
            found.append(Change(int(value) <= last, f"{what} has a new value {name} = {value}, {where}"))
    if old.detail != new.detail:
        found.append(Change(True, f"{what} had {old.detail}, and has {new.detail}"))
    return found


def member_changes(what, kind, old, new):
    """Members that are gone or differ."""
    found = []
    for name, detail in old.members.items():
        if name not in new.members:
            found.append(Change(True, f"{what} lacks {kind} {name}, which was {detail}"))
        elif new.members[name] != detail:
            found.append(Change(True, f"{what}: {kind} {name} was {detail}, and is {new.members[name]}"))
    return found


def bytes_of(detail):
    return int(re.match(r"\d+", detail)[0])


def report(found):
    """The changes as lines of text, and what they need."""
    breaks = sum(change.breaks for change in found)
    lines = [f"{'breaks' if change.breaks else 'ok    '}  {change.text}" for change in found]
    if found and not breaks:
        lines.append("Programs still work: a new minor version may have these changes, a patch may not.")
    if breaks:
        lines.append(f"{breaks} of {len(found)} changes break programs, compiled ones or their sources.")
        lines.append(
            "The SONAME has changed, as they need."
            if any(": library " in change.text for change in found)
            else "They need another SONAME: before 1.0 a new minor version, from 1.0 on a new major version."
        )
    return lines
