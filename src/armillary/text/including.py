"""Models within models: an axle described once and used twice, each time under a prefix of its own.

[include.front]
file = "axle.toml"
prefix = "front_"            # before every name that the axle declares; the entry's name and "_" by default
on = "chassis"               # the body that is the axle's ground; the real one is "world" to it
share = ["g"]                # names that both mean alike
set = { track = "1.6*w", k = 3e4 }   # its parameters: expressions of the whole, or other defaults
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from armillary.errors import nearest
from armillary.text.building import Part
from armillary.text.checking import check_document
from armillary.text.documents import Document, read_document
from armillary.text.kinds import Kind
from armillary.text.kinds import known as listed
from armillary.text.sections import FUNCTION, TOP, verb_of

# Names in a text: those after a dot belong to what stands before it; back quotes hold one name.
_NAMES = re.compile(r"`([^`]+)`|(?<![\w.])([^\W\d]\w*)(?!\w)")
# Sections whose entries texts can name, and those whose entries only have names.
_NAMED = ("parameters", "inputs", "memory", "tables", "functions", "expressions", "bodies", "attractors",
          "fmus", "loads")  # fmt: skip
_LABELLED = ("constraints", "events", "outputs")
_DEEPEST = 20


def parts_of(document: Document, above: tuple[str, ...] = ()) -> list[Part]:
    """A document and all that it includes, each in the names of the whole."""
    here = Part(document, document.data, {})
    found = [here]
    for label, entry in document.data.get("include", {}).items():
        path = document.path.parent / entry["file"]
        identity = str(path.resolve())
        chain = (*above, str(document.path.resolve()))
        if identity in chain:
            raise document.error(
                f"'{entry['file']}' includes itself, over {len(chain)} file(s)", "include", label
            )
        if len(chain) > _DEEPEST:
            raise document.error(f"includes are nested more than {_DEEPEST} deep", "include", label)
        inner = read_document(path)
        check_document(inner, part=True)
        own = inner.data.get("units")
        if own is not None and own != document.data.get("units", own):
            raise document.error(
                f"'{entry['file']}' is in units {own}, but this model in {document.data['units']}; "
                f"state the same",
                "include",
                label,
            )
        inside = parts_of(inner, chain)
        declared = {name for part in inside for section in _NAMED for name in part.data.get(section, {})}
        _check_parameters(document, label, entry, inside[0])
        found += [_placed(part, label, entry, declared) for part in inside]
    return found


def _check_parameters(outer: Document, label: str, entry: Mapping[str, Any], part: Part) -> None:
    """An error for a parameter that is shared or set, and that the included file does not have."""
    known = part.data.get("parameters", {})
    for name in [*entry.get("share", []), *entry.get("set", {})]:
        if name not in known:
            hint = nearest(name, known) or listed(known)
            raise outer.error(f"'{name}' is not a parameter of '{entry['file']}'{hint}", "include", label)


def _placed(part: Part, label: str, entry: Mapping[str, Any], declared: set[str]) -> Part:
    """A part under its prefix, on its body, with its parameters set; ``declared`` is what its whole names."""
    prefix = entry.get("prefix", f"{label}_")
    share, values = entry.get("share", []), entry.get("set", {})
    names = {name: f"{prefix}{name}" for name in declared if name not in share}
    if "on" in entry:
        names |= {"ground": entry["on"], "world": "ground"}
    rename = _renamer(names)
    data: dict[str, Any] = {}
    for section, content in part.data.items():
        if section in ("include", "name", "units", "armillary", "about"):
            continue
        if section == "functions":  # names of their arguments are their own
            data[section] = {rename(name): _function(given, names) for name, given in content.items()}
        elif section in TOP:
            data[section] = TOP[section].renamed(content, rename)
        else:
            key = rename if section not in _LABELLED else lambda name: f"{prefix}{name}"
            data[section] = {key(name): _entry(section, given, names) for name, given in content.items()}
    if "on" in entry:
        for body in data.get("bodies", {}).values():
            if not {"parent", "wheel_on", "gyro_on"} & body.keys():
                body["parent"] = entry["on"]
    parameters = {names.get(k, k): v for k, v in part.data.get("parameters", {}).items() if k not in share}
    # A parameter that is set is an expression of the whole under the parameter's name.
    taken: dict[str, Any] = {}
    for name, value in values.items():
        if names.get(name) not in parameters:
            continue
        if isinstance(value, str):
            taken[names[name]] = value
        else:  # a number is a new default, in the parameter's own units
            known = parameters[names[name]]
            parameters[names[name]] = {**(known if isinstance(known, Mapping) else {}), "value": value}
    data["parameters"] = {k: v for k, v in parameters.items() if k not in taken}
    data["expressions"] = {**data.get("expressions", {}), **taken}
    own = [name for section in (*_NAMED, *_LABELLED) for name in part.data.get(section, {})]
    original = {new: old for old, new in part.names.items()}
    now = {original.get(name, name): names.get(name, f"{prefix}{name}") for name in own}
    return Part(part.document, data, now)


def _function(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        **given,
        "value": FUNCTION.fields["value"].renamed(given["value"], _without(names, given["arguments"])),
    }


def _entry(section: str, given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    verb = verb_of(section, given)
    assert verb is not None  # the document was checked
    fields: dict[str, Kind] = {**verb.fields, **verb.extra}
    local = ("x", "v") if verb.method == "strut" else ()  # a strut's length and its rate
    return {
        key: fields[key].renamed(value, _without(names, local if key == "strut" else ()))
        for key, value in given.items()
    }


def _without(names: Mapping[str, str], local: Iterable[str]) -> Callable[[str], str]:
    """A renamer that leaves local names as they are."""
    return _renamer({**names, **{name: name for name in local}})


def _renamer(names: Mapping[str, str]) -> Callable[[str], str]:
    def new(name: str) -> str:
        """A name in the whole; boom_tip, the node of boom, goes with boom."""
        if name in names:
            return names[name]
        makers = [made for made in names if name.startswith(f"{made}_")]
        longest = max(makers, key=len, default="")
        return f"{names[longest]}{name[len(longest) :]}" if longest else name

    def rename(text: str) -> str:
        def one(found: re.Match[str]) -> str:
            if found[1] is not None:
                head, dot, tail = found[1].partition(".")
                return f"`{new(head)}{dot}{tail}`"
            return new(found[2])

        return _NAMES.sub(one, text)

    return rename
