"""Ready parts of spacecraft: reaction wheels, control moment gyros and panels.

Ready rotors: reaction wheels and control moment gyros, balanced, on the joints that everyone uses.

A wheel with equal moments of inertia across its axis costs little: regrouping gives its mass and transverse
inertia to its carrier before anything is derived.

Arrays of hinged panels in one line: solar arrays that flex on springs, or unfold and latch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Annotated, NamedTuple

import numpy as np

from armillary.algebra.arguments import one_of
from armillary.algebra.expression import HALF, Expr, as_expr
from armillary.algebra.triples import SIX, Triple, is_zero, matrix_vector, sum_of_products
from armillary.algebra.units import INERTIA, LENGTH, MOMENT, ONE, RATE, TIME
from armillary.errors import ModelError, nearest, shown
from armillary.model import constraints
from armillary.model.bodies.bodies import INERTIA as INERTIA_KIND
from armillary.model.bodies.bodies import body
from armillary.model.bodies.body import Body, BodyLike
from armillary.model.constraints import prescribe, start
from armillary.model.description import Description
from armillary.model.joints import Revolute
from armillary.model.joints.base import UNIT_AXES
from armillary.model.loads.forces import moment
from armillary.model.loops import AXES
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import (
    EXPRESSION,
    AxisLike,
    Either,
    ExpressionLike,
    GivenScalar,
    ListOf,
    TripleLike,
    Words,
    tuples,
)
from armillary.model.reading.references import (
    bounded_constant,
    constant_reader,
    find_body,
    orientation_matrix,
    unit_triple,
)
from armillary.model.recording.verbs import EntryForm, all_or_nothing, verb
from armillary.model.signals.signals import event
from armillary.untyped import DataTable, Given


class GimbalAxes(Either):
    """An axis, or a list of the axes of two gimbals."""

    def python(self, value: object) -> Given:
        if not isinstance(value, list):
            return value
        several = any(isinstance(item, list) or item in ("x", "y", "z") for item in value)
        return [tuples(item) for item in value] if several else tuple(value)


class PerGimbal(Either):
    """One value, or a list of one for each gimbal; "" is none."""

    def python(self, value: object) -> Given:
        if not isinstance(value, list):
            return value
        return [None if item == "" else tuples(item) for item in value]


PER_GIMBAL = PerGimbal((EXPRESSION, ListOf(EXPRESSION)))
DRIVES = ("free", "torque", "constant")


class Gyro(NamedTuple):
    """A control moment gyro: its gimbals, outer one first, and its wheel."""

    gimbals: tuple[Body, ...]
    wheel: Body


@verb(EntryForm("bodies", key="wheel_on", argument="on", is_body=True))
def reaction_wheel(
    system: Description,
    name: str,
    *,
    on: BodyLike,
    axis: AxisLike,
    inertia: ExpressionLike,
    transverse: ExpressionLike | None = None,
    mass: ExpressionLike = 0,
    at: TripleLike = (0, 0, 0),
    drive: Words | None = None,
    torque: ExpressionLike | None = None,
    speed: ExpressionLike = 0,
) -> Body:
    """A balanced rotor that spins about an axis of its carrier, at its mass centre ``at``.

    ``inertia`` is about the axis, ``transverse`` across it: half of it, a thin disc's, where left out.
    ``drive``: "free"; "torque", a motor's ``torque`` on the wheel and against it on the carrier (load
    ``name_motor``); or "constant", spinning at ``speed`` relative to the carrier. Otherwise ``speed`` is
    the one at the start, in rad/s. Its angle is ``name.q1``, its relative speed ``name.u1``.
    """
    where = f"wheel '{name}'"
    chosen = drive if drive is not None else ("free" if torque is None else "torque")
    one_of(chosen, DRIVES, f"{where}: there is no drive ", ModelError)
    if (chosen == "torque") != (torque is not None):
        raise ModelError(f"{where}: torque= and drive='torque' go together")
    carrier = find_body(system, on, where)
    spin = bounded_constant(system, inertia, f"inertia of {where}", INERTIA, positive=True)
    across = (
        HALF * spin
        if transverse is None
        else bounded_constant(system, transverse, f"transverse inertia of {where}", INERTIA)
    )
    unit = unit_triple(system, axis, f"axis of {where}")
    wheel = body(system, name, carrier, Revolute(axis), at=at, mass=mass, inertia=_axial(spin, across, unit))
    if chosen == "constant":
        prescribe(system, wheel.u1, speed)
    else:
        start(system, {wheel.u1: speed})
    if torque is not None:
        moment(system, f"{name}_motor", torque, carrier.frame.vector(unit), on=wheel, reaction=carrier)
    return wheel


@verb(EntryForm("bodies", key="gyro_on", argument="on"))
def control_moment_gyro(
    system: Description,
    name: str,
    *,
    on: BodyLike,
    gimbal_axis: Annotated[AxisLike | Sequence[AxisLike], GimbalAxes(AXES.kinds)],
    spin_axis: AxisLike,
    wheel_inertia: ExpressionLike,
    wheel_speed: ExpressionLike,
    wheel_transverse: ExpressionLike | None = None,
    gimbal_inertia: Annotated[object, PerGimbal((INERTIA_KIND, ListOf(INERTIA_KIND)))] = 0,
    mass: ExpressionLike = 0,
    at: TripleLike = (0, 0, 0),
    gimbal_rate: Annotated[GivenScalar | Sequence[GivenScalar | None] | None, PER_GIMBAL] = None,
    gimbal_torque: Annotated[GivenScalar | Sequence[GivenScalar | None] | None, PER_GIMBAL] = None,
) -> Gyro:
    """A wheel at constant relative speed in one gimbal, or in two, whose mass centre is on all axes.

    ``gimbal_axis`` is an axis of the carrier; a list of two is that of the outer gimbal and that of the
    inner one in it. ``spin_axis`` is the wheel's at zero gimbal angles. ``gimbal_inertia``: 0, or that of
    a gimbal about the centre, in its axes. ``gimbal_rate`` is given in time, or ``gimbal_torque`` acts
    between a gimbal and what carries it (load ``name_gimbal_motor``); neither: the gimbal is free. With
    two gimbals these are lists of two, None for what is left out. Bodies: ``name_gimbal`` (or
    ``name_outer`` and ``name_inner``) and ``name_wheel``; ``mass`` is the wheel's.
    """
    where = f"control moment gyro '{name}'"
    axes = gimbal_axis if isinstance(gimbal_axis, list) else [gimbal_axis]
    if len(axes) not in (1, 2):
        raise ModelError(f"{where}: gimbal_axis= is one axis or a list of two, not of {len(axes)}")
    rates, torques, inertias = (
        _one_each(value, len(axes), f"{word} of {where}")
        for word, value in (
            ("gimbal_rate", gimbal_rate),
            ("gimbal_torque", gimbal_torque),
            ("gimbal_inertia", gimbal_inertia),
        )
    )
    spun, held = unit_triple(system, spin_axis, where), unit_triple(system, axes[-1], where)
    if not _at_right_angles(spun, held):
        raise ModelError(f"{where}: spin_axis= is not at right angles to the gimbal axis that carries it")
    names = [f"{name}_gimbal"] if len(axes) == 1 else [f"{name}_outer", f"{name}_inner"]
    gimbals: list[Body] = []
    carrier = find_body(system, on, where)
    for label, axis, rate, torque, inertia in zip(names, axes, rates, torques, inertias, strict=True):
        if rate is not None and torque is not None:
            raise ModelError(f"{where}: body '{label}' has both a rate and a torque; give one of them")
        place = (0, 0, 0) if gimbals else at
        gimbal = body(system, label, carrier, Revolute(axis), at=place, mass=0, inertia=inertia)
        if rate is not None:
            prescribe(system, gimbal.u1, rate)
        if torque is not None:
            unit = carrier.frame.vector(unit_triple(system, axis, where))
            moment(system, f"{label}_motor", torque, unit, on=gimbal, reaction=carrier)
        gimbals.append(gimbal)
        carrier = gimbal
    wheel = reaction_wheel(
        system,
        f"{name}_wheel",
        on=carrier,
        axis=spin_axis,
        inertia=wheel_inertia,
        transverse=wheel_transverse,
        mass=mass,
        drive="constant",
        speed=read_expression(system, wheel_speed, f"wheel_speed of {where}", RATE),
    )
    return Gyro(tuple(gimbals), wheel)


def _axial(spin: Expr, across: Expr, axis: Given) -> list[Given]:
    """The inertia of a rotor: I = t 1 + (s − t) a aᵀ, as three moments where a is a coordinate axis."""
    if any(axis == unit for unit in UNIT_AXES.values()):
        return [spin if x else across for x in axis]
    a = [as_expr(x) for x in axis]
    return [(spin - across) * (a[i] * a[j]) + (across if i == j else 0) for i, j in SIX]


def _at_right_angles(a: Given, b: Given) -> bool:
    cosine = as_expr(sum_of_products(zip(a, b, strict=True)))
    return cosine.kind != "number" or is_zero(cosine) or abs(float(cosine)) < 1e-9


def _one_each(value: object, count: int, where: str) -> list[Given]:
    """One value for each gimbal; a list is one by one."""
    nothing = value is None or (isinstance(value, int | float) and value == 0)
    values = value if isinstance(value, list) else [value] * (count if nothing else 1)
    if len(values) != count:
        raise ModelError(f"{where}: give a list of {count}, one for each gimbal, outer one first")
    return values


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
            constraints.start(system, {panel.q1: own["start"]})
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
