"""Reference numbers as a file that every language reads easily: a line with a name and a count, then the
values in the next line, unless there are none.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.export.text.selftest.reference import ABSOLUTE, RELATIVE, Reference


def reference_text(reference: Reference) -> str:
    """The file ``reference.txt``: the bound, the inputs and constants, the points, the end of a short run."""
    r = reference
    parts: list[tuple[str, Sequence[float]]] = [
        ("bound", (RELATIVE, ABSOLUTE)),
        ("parameters", r.parameters),
        ("constants", r.constants),
        ("initial", r.initial),
        ("memory", r.memory),
        ("points", (float(len(r.points)),)),
    ]
    for point in r.points:
        parts += [
            ("t", (point.t,)),
            ("state", point.state),
            ("stored", point.memory),
            ("derivatives", point.derivatives),
            ("outputs", point.outputs),
            ("events", point.events),
            ("update", point.update),
        ]
    run = r.trajectory
    parts.append(("run", (run.step, float(run.steps)) if run else ()))
    parts.append(("row", run.outputs if run else ()))
    lines = []
    for name, values in parts:
        lines.append(f"{name} {len(values)}")
        if values:
            lines.append(" ".join(repr(float(v)) for v in values))
    return "\n".join(lines) + "\n"
