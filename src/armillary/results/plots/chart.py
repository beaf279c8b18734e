"""Charts as data: which curves of which runs stand in which panel, for any way of drawing them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armillary.algebra.arguments import text
from armillary.errors import ArmillaryError
from armillary.results.record import TIME, UNKNOWN, conversion, label_units

if TYPE_CHECKING:
    from armillary.results.run import Run

_NAMED = 2  # parameters that a label names, where runs differ in more


class Curve(NamedTuple):
    """Samples `y` over `x`; `place` is its number among its like, from which colour and dashes follow."""

    label: str
    x: np.ndarray
    y: np.ndarray
    place: int


class Panel(NamedTuple):
    """Curves of one unit, on one vertical axis."""

    title: str
    units: str
    curves: tuple[Curve, ...]


class Chart(NamedTuple):
    """Panels over a common horizontal axis."""

    title: str
    x_name: str
    x_units: str
    panels: tuple[Panel, ...]


def chart_of(
    runs: Sequence[Run],
    names: Sequence[str],
    *,
    x: str | None = None,
    labels: Sequence[str] | None = None,
    title: str | None = None,
) -> Chart:
    """The chart of outputs, by name or pattern, over time or over output `x`.

    Without a name those that the model or a selection requested are drawn, or all where there are none.
    Of one run, outputs of equal units share a panel. Of several runs each output has a panel, and each run a
    colour; outputs that a run lacks are left out there. Units are those of the first run that has the output.
    """
    if not runs:
        raise ArmillaryError("there is no run to plot")
    if labels is not None and len(labels) != len(runs):
        raise ArmillaryError(f"{len(runs)} runs need as many labels, not {len(labels)}")
    wanted = _wanted(runs, names)
    if not wanted:
        raise ArmillaryError(f"run of '{runs[0].system}' has no outputs to plot")
    x_units = "s" if x is None else _units(runs, x)
    titles_of_runs = list(labels) if labels is not None else run_labels(runs)
    if len(runs) == 1:
        panels = _by_units(runs[0], wanted, x)
    else:
        panels = tuple(_by_output(runs, titles_of_runs, name, x, x_units) for name in wanted)
    titles = dict.fromkeys(str(run.info.get("title") or run.system) for run in runs)
    return Chart(title if title is not None else ", ".join(titles), x or TIME, x_units, panels)


def run_labels(runs: Sequence[Run]) -> list[str]:
    """Short texts that distinguish runs: their systems, else the parameters they differ in, else numbers."""
    systems = [run.system for run in runs]
    if len(set(systems)) == len(runs):
        return systems
    values = [
        {name: run.parameters.get(name) for name in {**runs[0].parameters, **run.parameters}} for run in runs
    ]
    differing = [name for name in values[0] if len({v.get(name) for v in values}) > 1]
    texts = [", ".join(_parameter(run, name) for name in differing[:_NAMED]) for run in runs]
    return texts if len(set(texts)) == len(runs) else [f"run {i}" for i in range(1, len(runs) + 1)]


def _parameter(run: Run, name: str) -> str:
    if name not in run.parameters:
        return f"no {name}"
    return f"{name} = {run.parameters[name]:.6g} {label_units(run.parameter_units[name])}".rstrip()


def _wanted(runs: Sequence[Run], patterns: Sequence[str]) -> list[str]:
    """Names in the order requested; a pattern must match in one run at least."""
    found: dict[str, None] = {}
    if not patterns:
        own = list(dict.fromkeys(name for run in runs for name in run.outputs))
        return own or list(dict.fromkeys(name for run in runs for name in run.names))
    for pattern in patterns:
        text(pattern, "the name of an output")
        matched = [
            name for run in runs for name in run.names if name == pattern or fnmatchcase(name, pattern)
        ]
        if not matched:
            runs[0].select(pattern)  # an error with the names that exist
        found |= dict.fromkeys([pattern] if pattern in matched else matched)
    return list(found)


def _by_units(run: Run, names: Sequence[str], x: str | None) -> tuple[Panel, ...]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(label_units(run.units[name]), []).append(name)
    over = run.time if x is None else run[x]
    return tuple(
        Panel(
            axis_label(group[0], units) if len(group) == 1 else units or _unitless(run, group[0]),
            units,
            tuple(Curve(name, over, run[name], place) for place, name in enumerate(group)),
        )
        for units, group in groups.items()
    )


def _by_output(runs: Sequence[Run], labels: Sequence[str], name: str, x: str | None, x_units: str) -> Panel:
    curves = []
    units = _units(runs, name)
    for place, (run, label) in enumerate(zip(runs, labels, strict=True)):
        if name not in run:
            continue
        over = run.time
        if x is not None:
            over = run[x] * conversion(x, run.units[x], x_units)
        curves.append(Curve(label, over, run[name] * conversion(name, run.units[name], units), place))
    return Panel(axis_label(name, units), units, tuple(curves))


def _units(runs: Sequence[Run], name: str) -> str:
    """The units of the first run that has the output and its units."""
    known = (run.units[name] for run in runs if name in run and run.units[name] != UNKNOWN)
    return label_units(next(known, ""))


def _unitless(run: Run, name: str) -> str:
    return "units not known" if run.units[name] == UNKNOWN else "dimensionless"


def axis_label(name: str, units: str) -> str:
    return f"{name} ({label_units(units)})" if label_units(units) else name
