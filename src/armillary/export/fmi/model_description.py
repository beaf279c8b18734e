"""The XML files of an FMU (modelDescription.xml in both versions of FMI, and others) and its documentation.

Sources: FMI specification 2.0.4, sections 2.2, 3.3 and 4.3; 3.0.1, sections 2.4, 3.4 and 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from armillary.export.fmi.variables import FmiVariable, Interface, base_unit, unit_texts
from armillary.program.documents import DocumentTable, html_page
from armillary.runtime.integrators.settings import IntegrationSettings

_INTERFACES = (("ModelExchange", "exchange"), ("CoSimulation", "cosimulation"))


# Capabilities of co-simulation in version 3.0.
_THIRD_STEPS = (
    "hasEventMode", "providesIntermediateUpdate", "mightReturnEarlyFromDoStep",
    "canReturnEarlyAfterIntermediateUpdate",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts that a model description states."""

    interface: Interface
    identifier: str  # name of the library
    token: str  # identifier of the sources and options
    step: float  # seconds
    duration: float  # seconds
    tolerance: float
    exchange: bool
    cosimulation: bool
    sources: Sequence[str]


def model_description(facts: Facts, version: str) -> bytes:
    """Return modelDescription.xml in a version of FMI."""
    description = facts.interface.source.description
    token = "guid" if version == "2.0" else "instantiationToken"
    root = Element("fmiModelDescription", {
        "fmiVersion": version, "modelName": description.name, token: facts.token,
        "description": f"{description.name}: {description.freedom}, equations by {description.formalism}",
        "generationTool": f"Armillary {description.version}", "variableNamingConvention": "flat",
    })  # fmt: skip
    if version == "2.0":
        root.set("numberOfEventIndicators", str(len(facts.interface.indicators)))
    for name, offered in _INTERFACES:
        if getattr(facts, offered):
            _interface_type(root, name, facts, version)
    _units(root, facts.interface.listed)
    categories = SubElement(root, "LogCategories")
    SubElement(
        categories, "Category", {"name": "logStatusError", "description": "calls that failed, and why"}
    )
    SubElement(root, "DefaultExperiment", {
        "startTime": "0", "stopTime": repr(facts.duration), "tolerance": repr(facts.tolerance),
        "stepSize": repr(facts.step),
    })  # fmt: skip
    (_describe_version_2 if version == "2.0" else _describe_version_3)(root, facts)
    return _xml_bytes(root)


def _interface_type(root: Element, name: str, facts: Facts, version: str) -> None:
    spelling = "FMUstate" if version == "2.0" else "FMUState"
    plural = "" if version == "2.0" else "s"
    found = {
        "modelIdentifier": facts.identifier,
        f"canGetAndSet{spelling}": "true",
        f"canSerialize{spelling}": "true",
        f"providesDirectionalDerivative{plural}": "true",
    }
    if version == "3.0":
        found["providesAdjointDerivatives"] = "true"
        if name == "ModelExchange":
            found |= {"needsCompletedIntegratorStep": "true"}
        else:
            found |= dict.fromkeys(_THIRD_STEPS, "true")
    elif name == "CoSimulation":
        found["canInterpolateInputs"] = "true"
    if name == "CoSimulation":
        found |= {"canHandleVariableCommunicationStepSize": "true", "maxOutputDerivativeOrder": "1"}
    element = SubElement(root, name, found)
    if version == "2.0":
        files = SubElement(element, "SourceFiles")
        for source in facts.sources:
            SubElement(files, "File", {"name": source})


def _units(root: Element, variables: Sequence[FmiVariable]) -> None:
    texts = unit_texts(variables)
    if texts:
        definitions = SubElement(root, "UnitDefinitions")
        for text in texts:
            SubElement(SubElement(definitions, "Unit", {"name": text}), "BaseUnit", base_unit(text))


def _labels(variable: FmiVariable) -> dict[str, str]:
    found = {"name": variable.name, "valueReference": str(variable.reference)}
    if variable.about:
        found["description"] = variable.about
    found |= {"causality": variable.causality, "variability": variable.variability}
    return found | ({"initial": variable.initial} if variable.initial else {})


def _number_attributes(variable: FmiVariable) -> dict[str, str]:
    found = {"unit": variable.units} if variable.units else {}
    return found | ({} if variable.start is None else {"start": repr(variable.start)})


def _may_jump(interface: Interface) -> bool:
    """Return whether events may set continuous states."""
    program = interface.source.program
    return bool(interface.source.changing or program.fire or program.normalises)


# ---------------------------------------------------------------- version 2.0: variables by position


def _describe_version_2(root: Element, facts: Facts) -> None:
    interface = facts.interface
    listed = interface.listed
    position = {v.reference: str(i) for i, v in enumerate(listed, 1)}
    states = {v.reference for v in interface.states}
    variables = SubElement(root, "ModelVariables")
    for variable in listed:
        numbers = _number_attributes(variable)
        if variable.derivative_of is not None:
            numbers["derivative"] = position[variable.derivative_of]
        if variable.reference in states and _may_jump(interface):
            numbers["reinit"] = "true"
        SubElement(SubElement(variables, "ScalarVariable", _labels(variable)), "Real", numbers)
    # Known quantities in version 2.0 are the time, continuous states and inputs, but no discrete states.
    known = {0, *states, *(v.reference for v in interface.memory if v.causality == "input")}

    def unknowns(name: str, chosen: Sequence[FmiVariable]) -> None:
        if chosen:
            group = SubElement(structure, name)
            for v in chosen:
                depends = " ".join(position[r] for r in v.depends if r in known)
                SubElement(group, "Unknown", {"index": position[v.reference], "dependencies": depends})

    structure = SubElement(root, "ModelStructure")
    unknowns("Outputs", interface.results)
    unknowns("Derivatives", interface.rates)
    unknowns("InitialUnknowns", _initial_unknowns(interface))


def _initial_unknowns(interface: Interface) -> list[FmiVariable]:
    """Return the unknowns of the initialization, in the order of the variables."""
    return [
        v for v in (*interface.rates, *interface.outputs) if v in interface.rates or v.causality == "output"
    ]


# ---------------------------------------------------------------- version 3.0: variables by reference


def _describe_version_3(root: Element, facts: Facts) -> None:
    interface = facts.interface
    states = {v.reference for v in interface.states}
    clocks = {_clock_reference(interface, c.place) for c in interface.clocks.values()}
    variables = SubElement(root, "ModelVariables")
    for variable in interface.listed:
        found = _labels(variable) | _number_attributes(variable)
        if variable.derivative_of is not None:
            found["derivative"] = str(variable.derivative_of)
        if variable.reference in states and _may_jump(interface):
            found["reinit"] = "true"
        SubElement(variables, "Float64", found)
    for tick in interface.ticks:
        SubElement(variables, "Clock", _labels(tick) | {"intervalVariability": "triggered"})

    def unknowns(name: str, chosen: Sequence[FmiVariable]) -> None:
        for v in chosen:
            depends = " ".join(str(r) for r in v.depends if r not in clocks)
            SubElement(structure, name, {"valueReference": str(v.reference), "dependencies": depends})

    structure = SubElement(root, "ModelStructure")
    unknowns("Output", [*interface.results, *interface.ticks])
    unknowns("ContinuousStateDerivative", interface.rates)
    unknowns("InitialUnknown", [*_initial_unknowns(interface), *interface.ticks])
    unknowns("EventIndicator", interface.indicators)


def _clock_reference(interface: Interface, place: int) -> int:
    return 1 + len(interface.parameters) + place


def build_description(identifier: str, sources: Sequence[str]) -> bytes:
    """Return buildDescription.xml of version 3.0: how to build the library from the sources."""
    root = Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    build = SubElement(root, "BuildConfiguration", {"modelIdentifier": identifier})
    files = SubElement(build, "SourceFileSet", {"language": "C99"})
    for source in sources:
        SubElement(files, "SourceFile", {"name": source})
    return _xml_bytes(root)


def _xml_bytes(root: Element) -> bytes:
    indent(root)
    found: bytes = tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"
    return found


# documentation/index.html: a page about the model, with tables of all variables.


def documentation(interface: Interface, settings: IntegrationSettings) -> str:
    """Return the page about a model."""
    description = interface.source.description
    steps = f"relative tolerance {settings.rtol:g}, absolute {settings.atol:g}"
    if not settings.integrator.adaptive:
        steps = f"steps of at most {settings.step:g} s"
    about = (
        f"{description.freedom}, equations by {description.formalism} ({description.operations}), generated "
        f"by Armillary {description.version}. Co-simulation integrates by {settings.integrator.name}: "
        f"{settings.integrator.description}; {steps}. Inputs are constant in a communication step, unless "
        "the importer gives their derivatives or sets them between inner steps."
    )
    bodies = [(b.name, b.parent, b.joint, ", ".join(b.coordinates)) for b in description.bodies]
    tables = [
        DocumentTable("Bodies", ("body", "parent", "joint", "coordinates"), bodies),
        _document_table("Parameters", interface.parameters),
        _document_table("Inputs", [v for v in interface.memory if v.causality == "input"]),
        _document_table("Outputs", [v for v in interface.outputs if v.causality == "output"]),
        _document_table("States, which are outputs too", interface.states),
        _document_table("Discrete states", [v for v in interface.memory if v.causality != "input"]),
        _document_table(
            "Loads and dependent quantities", [v for v in interface.outputs if v.causality != "output"]
        ),
    ]
    return html_page(description.name, " ".join([about, *description.remarks]), tables)


def _document_table(title: str, variables: Sequence[FmiVariable]) -> DocumentTable:
    rows = [(v.name, "" if v.start is None else f"{v.start:.10g}", v.units, v.about) for v in variables]
    return DocumentTable(title, ("name", "start", "units", "description"), rows)


# terminalsAndIcons.xml of FMI 3.0: groups of variables, which tools connect together.
#
# Each joint is a terminal with its coordinates and speeds; all inputs are one terminal, and all outputs are
# one (FMI 3.0.1, section 2.4.9).


def terminals(interface: Interface) -> bytes:
    """Return terminalsAndIcons.xml; empty for a model without terminals."""
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
        _terminal(group, _free_name(name, taken), "joint", members)
    inputs = {v.name: v.name for v in interface.memory if v.causality == "input"}
    outputs = {v.name: v.name for v in interface.outputs if v.causality == "output"}
    for name, members in (("inputs", inputs), ("outputs", outputs)):
        if members:
            _terminal(group, _free_name(name, taken), name, members)
    if not len(group):
        return b""
    indent(root)
    found: bytes = tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"
    return found


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _terminal(group: Element, name: str, kind: str, members: Mapping[str, str]) -> None:
    """Add a terminal; tools connect its members by their names."""
    found = SubElement(group, "Terminal", {
        "name": name, "matchingRule": "plug", "terminalKind": f"armillary.{kind}",
    })  # fmt: skip
    for member, variable in members.items():
        SubElement(found, "TerminalMemberVariable", {
            "variableName": variable, "memberName": member, "variableKind": "signal",
        })  # fmt: skip
