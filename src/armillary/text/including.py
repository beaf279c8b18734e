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
from collections.abc import Callable, Mapping
from typing import Any

from armillary.errors import nearest
from armillary.text.building import Part
from armillary.text.checking import check_document
from armillary.text.documents import Document, read_document
from armillary.text.kinds import Kind
from armillary.text.kinds import known as listed
from armillary.text.sections import SECTIONS, TOP, verb_of

# Names in a text: those after a dot belong to what stands before it; back quotes hold one name.
_NAMES = re.compile(r"`([^`]+)`|(?<![\w.])([^\W\d]\w*)(?!\w)")
_DECLARING = ("parameters", "inputs", "memory", "tables", "functions", "expressions", "bodies", "attractors",
              "fmus", "loads", "constraints", "events", "outputs")  # fmt: skip
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
        for part in parts_of(inner, chain):
            found.append(_placed(part, document, label, entry))
    return found


def _placed(part: Part, outer: Document, label: str, entry: Mapping[str, Any]) -> Part:
    """A part under its prefix, on its body, with its parameters set."""
    prefix = entry.get("prefix", f"{label}_")
    share, values = entry.get("share", []), dict(entry.get("set", {}))
    declared = [name for section in _DECLARING for name in part.data.get(section, {})]
    for name in [*share, *values]:
        if name not in part.data.get("parameters", {}) and part.document.path == _included(outer, entry):
            hint = nearest(name, part.data.get("parameters", {})) or listed(part.data.get("parameters", {}))
            raise outer.error(f"'{name}' is not a parameter of '{entry['file']}'{hint}", "include", label)
    names = {name: f"{prefix}{name}" for name in declared if name not in share}
    if "on" in entry:
        names |= {"ground": entry["on"], "world": "ground"}
    rename = _renamer(names)
    data: dict[str, Any] = {}
    for section, content in part.data.items():
        if section in ("include", "name", "units", "armillary", "about"):
            continue
        kind = TOP.get(section)
        data[section] = kind.renamed(content, rename) if kind else _entries(section, content, rename, names)
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
    back = {new: part.names.get(old, old) for old, new in names.items()}
    return Part(part.document, data, {old: new for new, old in back.items()})


def _included(outer: Document, entry: Mapping[str, Any]) -> Any:
    return outer.path.parent / entry["file"]


def _entries(
    section: str, content: Mapping[str, Any], rename: Callable[[str], str], names: Mapping[str, str]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, entry in content.items():
        verb = verb_of(section, entry)
        assert verb is not None and section in SECTIONS
        fields: dict[str, Kind] = {**verb.fields, **verb.extra}
        changed = {key: fields[key].renamed(value, rename) for key, value in entry.items()}
        # The label of a strut's law: its length x and rate v are no names of the model.
        found[names.get(name, rename(name))] = changed
    return found


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
