"""Arrays of hinged panels in one line: solar arrays that flex on springs, or unfold and latch."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.triples import Triple, matrix_vector
from armillary.algebra.units import LENGTH, MOMENT, ONE, TIME
from armillary.errors import ModelError, nearest, shown
from armillary.model.bodies.bodies import body
from armillary.model.bodies.body import Body
from armillary.model.constraints import given_motion
from armillary.model.description import Description
from armillary.model.joints import Revolute
from armillary.model.loads.forces import moment
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.orientation import orientation_matrix
from armillary.model.reading.references import bounded_constant, constant_reader, find_body, unit_triple
from armillary.model.recording.recorder import all_or_nothing
from armillary.model.signals.events import event
from armillary.untyped import DataTable, Given

_MOST = 10_000


@all_or_nothing
def panels(
    system: Description,
    parent: Body,
    n: int,
    *,
    length: object,
    mass: object,
    inertia: object,
    com: object = None,
    at: Given = (0, 0, 0),
    orient: Given = None,
    axis: object = "y",
    along: object = "x",
    stiffness: object = 0,
    damping: object = 0,
    rest: object = 0,
    start: object = None,
    latch: object = None,
    name: str = "panel",
    first: int = 1,
) -> list[Body]:
    """A chain of ``n`` panels from a parent outwards: bodies ``panel1``, ``panel2``, … (``first`` is the
    number of the first), each on a hinge at the end of the one before. Returns them in that order.

    Any value that differs from panel to panel is a list of ``n`` (or an array, except for ``inertia``);
    anything else holds for all of them.

    ``length`` is that from hinge to hinge along the direction ``along`` of the panel's axes, ``com`` the
    distance of the mass centre from the inner hinge (half the length where left out), ``inertia`` about it.
    ``axis`` is that of the hinges in the panels' axes; ``at`` and ``orient`` are the place of the first hinge
    on the parent and how the panels' axes are turned there at zero angles.

    A hinge has the moment −k (q − rest) − c q̇ (load ``panel1_hinge``) where it has ``stiffness`` or
    ``damping``. ``start`` are angles at the start, or "folded": the first panel a quarter turn from its
    deployed direction, the others folded on it like an accordion. ``latch`` is the angle at which a hinge
    locks for good when it first passes there (event ``panel1 latches``); None leaves it free.
    """
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= _MOST:
        raise ModelError(f"panels: n={shown(n)} is not a number of panels, from 1 to {_MOST}")
    base = find_body(system, parent, "parent of panels")
    table = {
        word: _each(value, n, word)
        for word, value in (
            ("length", length), ("mass", mass), ("inertia", inertia), ("com", com), ("stiffness", stiffness),
            ("damping", damping), ("rest", rest), ("start", _angles(system, start, n)),
            ("latch", latch),
        )
    }  # fmt: skip
    unit: Triple = unit_triple(system, axis, "axis of panels")
    outwards: Triple = unit_triple(system, along, "direction of panels")
    turned = orientation_matrix(orient, "panels", constant_reader(system, "orient of panels", ONE))
    made: list[Body] = []
    place = at
    for i in range(n):
        label, own = f"{name}{first + i}", {word: values[i] for word, values in table.items()}
        where = f"panel '{label}'"
        size = bounded_constant(system, own["length"], f"length of {where}", LENGTH, positive=True)
        arm = (
            size * 0.5
            if own["com"] is None
            else bounded_constant(system, own["com"], f"com of {where}", LENGTH)
        )
        hinge = unit if turned is None or made else matrix_vector(turned, unit)
        panel = body(
            system,
            label,
            made[-1] if made else base,
            Revolute(hinge),
            at=place,
            orient=None if made else orient,
            com=tuple(arm * x for x in outwards),
            mass=own["mass"],
            inertia=own["inertia"],
        )
        _spring(system, panel, own, unit)
        if own["start"] is not None:
            given_motion.start(system, {panel.q1: own["start"]})
        if own["latch"] is not None:
            angle = constant_reader(system, f"latch of {where}", ONE)(own["latch"])
            event(system, f"{label} latches", panel.q1 - angle, lock=[panel.q1])
        made.append(panel)
        place = tuple(size * x for x in outwards)
    return made


def _spring(system: Description, panel: Body, own: DataTable, axis: Triple) -> None:
    """The moment of a hinge's spring and damper."""
    where = f"hinge of panel '{panel.name}'"
    stiffness = bounded_constant(system, own["stiffness"], f"stiffness of {where}", MOMENT)
    damping = bounded_constant(system, own["damping"], f"damping of {where}", MOMENT * TIME)
    angle = constant_reader(system, f"rest angle of {where}", ONE)(own["rest"])
    torque: Expr = -stiffness * (panel.q1 - angle) - damping * panel.u1
    if torque.kind == "number":
        return
    moment(system, f"{panel.name}_hinge", torque, panel.frame.vector(axis), on=panel, reaction=panel.parent)


def _angles(system: Description, start: object, n: int) -> Given:
    """Angles at the start, from the word for a folded array or as they are given."""
    if not isinstance(start, str):
        return start
    if start == "folded":
        return [(pi / 2 if i == 0 else pi) * (-1) ** i for i in range(n)]
    angle = read_expression(system, start, "start of panels", ONE)
    if angle.kind != "number":
        hint = nearest(start, ["folded"])
        raise ModelError(f"panels: start={start!r} is neither an angle nor 'folded'{hint}")
    return angle


def _each(value: object, n: int, word: str) -> Sequence[Given]:
    """One value per panel: a list one by one, anything else for all. Three moments of one inertia may be an
    array or tuple too; for all else these are lists."""
    if word != "inertia" and isinstance(value, tuple | np.ndarray):
        value = list(value) if np.ndim(value) else value
    if not isinstance(value, list):
        return [value] * n
    if len(value) != n:
        raise ModelError(f"panels: {word}= is a list of {len(value)}, but there are {n} panels")
    return value
