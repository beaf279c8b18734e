"""terminalsAndIcons.xml of FMI 3.0: variables that belong together, for tools that connect them in one go.

A joint is a terminal with its coordinates and speeds, all inputs are one, and so are all outputs (FMI 3.0.1,
section 2.4.9).
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from armillary.export.fmi.description.variables import Interface


def terminals(interface: Interface) -> bytes:
    """The file; empty for a model without terminals."""
    joints: dict[str, dict[str, str]] = {}
    states = {v.name for v in interface.states}
    for body in interface.source.description.bodies:
        own = {v.rpartition(".")[2]: v for v in states if v.rpartition(".")[0] == body.name}
        if own:
            joints[body.name] = dict(sorted(own.items()))
    root = Element("fmiTerminalsAndIcons", {"fmiVersion": "3.0"})
    group = SubElement(root, "Terminals")
    taken: set[str] = set()
    for name, members in joints.items():
        _terminal(group, _free(name, taken), "joint", members)
    inputs = {v.name: v.name for v in interface.memory if v.causality == "input"}
    outputs = {v.name: v.name for v in interface.outputs if v.causality == "output"}
    for name, members in (("inputs", inputs), ("outputs", outputs)):
        if members:
            _terminal(group, _free(name, taken), name, members)
    if not len(group):
        return b""
    indent(root)
    found: bytes = tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"
    return found


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _terminal(group: Element, name: str, kind: str, members: Mapping[str, str]) -> None:
    """A terminal whose members are connected by their names."""
    found = SubElement(group, "Terminal", {
        "name": name, "matchingRule": "plug", "terminalKind": f"armillary.{kind}",
    })  # fmt: skip
    for member, variable in members.items():
        SubElement(found, "TerminalMemberVariable", {
            "variableName": variable, "memberName": member, "variableKind": "signal",
        })  # fmt: skip
