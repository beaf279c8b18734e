"""documentation/index.html: what the model is, and all its variables, for people."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.export.fmi.description.variables import FmiVariable, Interface
from armillary.program.print.documents import DocumentTable, html_page
from armillary.runtime.integrators.settings import IntegrationSettings


def documentation(interface: Interface, settings: IntegrationSettings) -> str:
    """The page of a model."""
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
        _table("Parameters", interface.parameters),
        _table("Inputs", [v for v in interface.memory if v.causality == "input"]),
        _table("Outputs", [v for v in interface.outputs if v.causality == "output"]),
        _table("States, which are outputs too", interface.states),
        _table("Discrete states", [v for v in interface.memory if v.causality != "input"]),
        _table("Loads and dependent quantities", [v for v in interface.outputs if v.causality != "output"]),
    ]
    return html_page(description.name, " ".join([about, *description.remarks]), tables)


def _table(title: str, variables: Sequence[FmiVariable]) -> DocumentTable:
    rows = [(v.name, "" if v.start is None else f"{v.start:.10g}", v.units, v.about) for v in variables]
    return DocumentTable(title, ("name", "start", "units", "description"), rows)
