"""An example of a run file, with every value a user may change and what it means."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from armillary.export.text.files.heading import note
from armillary.export.text.files.settings import run_keys
from armillary.export.text.source import Source
from armillary.runtime.solver.methods import exported_methods
from armillary.settings import RUN_TABLE
from armillary.toml_text import toml_key, toml_value

_STEPS = 200


def example_timing(source: Source) -> tuple[float, float]:
    """Duration and step of an example run: as many steps as suit a first look at the system, and whole
    numbers of them in the periods of its clocks.
    """
    run = source.reference.trajectory
    step = run.step if run else 1e-3
    periods = [Fraction(repr(m.period)) for m in source.description.memory if m.period]
    if periods:
        below = math.lcm(*(p.denominator for p in periods))
        common = math.gcd(*(int(p * below) for p in periods)) / below
        step = common / math.ceil(common / step) if common > 1e-3 * step else step
    return _STEPS * step, step


def example_run(source: Source, adaptive: bool = True) -> str:
    """The run file of an example, with all defaults; ``adaptive``: of a program with methods of that kind."""
    d = source.description
    duration, step = example_timing(source)
    parameters = zip(d.parameters, source.values, strict=True)
    lines = [f"# A run of {d.name}. What is left out keeps its default.", ""]
    first, *others = [f'"{m.name}"' for m in exported_methods(adaptive, source.stiff)]
    method = f"method = {first}  # or {', '.join(others[:-1])}{', or ' if others[1:] else ''}{others[-1]}"
    lines += ["[run]", f"duration = {duration!r}", f"step = {step!r}", method]
    lines.append("# sample = …   seconds between rows; left out: a row at the end of each step")
    if adaptive:
        known = {key.key: key.default for key in run_keys()}
        helps = {key: setting.help for key, setting in RUN_TABLE.items()}
        for name in ("rtol", "atol", "max_step", "max_steps"):
            about = helps[name].partition(":")[0].rstrip(".")
            lines.append(f"# {name} = {known[name]:g}   {about[0].lower()}{about[1:]}")
    lines += _group("parameters", ((p.name, v, note(p.units, p.about)) for p, v in parameters))
    placed = source.start.placed if source.start is not None else {}
    own = [s for i, s in enumerate(d.starts) if i not in placed]
    states = _group("initial", ((s.name, s.initial / s.factor, note(s.units, s.about)) for s in own))
    lines += [*states[:2], *(f"# {remark}" for remark in d.remarks), *states[2:]]
    lines += _group("inputs", ((m.name, m.initial / m.factor, note(m.units, m.about)) for m in d.inputs))
    rest = [m for m in d.memory if not m.input and m.plain]
    lines += _group("memory", ((m.name, m.initial / m.factor, note(m.units, m.about)) for m in rest))
    return "\n".join(lines) + "\n"


def _group(title: str, entries: Iterable[tuple[str, float, str]]) -> list[str]:
    lines = [
        f"{toml_key(name)} = {toml_value(float(value))}" + (f"  # {about}" if about else "")
        for name, value, about in entries
    ]
    return ["", f"[{title}]", *lines] if lines else []
