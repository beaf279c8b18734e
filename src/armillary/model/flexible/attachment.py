"""Flexible parts on the bodies of a system: their coordinates, speeds and nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armillary.algebra.expression import ZERO, Expr, number, symbol
from armillary.algebra.triples import Matrix
from armillary.algebra.units import LENGTH
from armillary.algebra.vectors import Vector
from armillary.algebra.walk import symbols
from armillary.errors import ModelError, nearest
from armillary.model.bodies.bodies import make_acceleration
from armillary.model.bodies.body import Body, build_frames, massless_body
from armillary.model.description import Flexible
from armillary.model.flexible.deformation import held_step, node_step
from armillary.model.flexible.part import FlexibleNode, FlexiblePart
from armillary.model.joints import Assembly, JointType, Maker
from armillary.model.parameter_meanings import parameter_uses
from armillary.untyped import DataTable

if TYPE_CHECKING:
    from armillary.model.description import Description


class Nodal(JointType):
    """The joint between a node and its body: only the modes move the node."""

    def __init__(self, body: str, node: str) -> None:
        super().__init__()
        self.words = f"node {node} of {body}"

    def assemble(self, maker: Maker) -> Assembly:
        raise NotImplementedError("nodes are made by their flexible body")

    def describe(self) -> str:
        return self.words


def make_flexible(
    system: Description, body: Body, source: object, held: str | None, options: DataTable
) -> FlexiblePart:
    """Add modes to a body; see ``Body.flexible``."""

    where = f"body '{body.name}'"
    if body.parent is None:
        raise ModelError("the ground is rigid; add a body for the flexible part")
    if isinstance(body.joint, Nodal):
        raise ModelError(f"{where} is a node of a flexible body and has no modes of its own")
    if body.flex is not None:
        raise ModelError(f"{where} is flexible already; one body has one set of modes")
    if "coupling" in options and options.get("about") is None:
        options["about"] = _mass_centre(body)
    from armillary.model.flexible.modal_data import flexible_part

    part = flexible_part(where, source, **options)
    if held is not None and not (isinstance(held, str) and held in part.nodes):
        raise ModelError(
            f"{where}: held={held!r} is not the name of one of its nodes{nearest(str(held), part.nodes)}"
        )
    if held is not None:
        _check_unused(system, body)
    eta = tuple(_modal_symbol(system, body, "q", p) for p in range(part.modes))
    xi = tuple(_modal_symbol(system, body, "u", p) for p in range(part.modes))
    _remove_default_masses(system, body)
    _insert_modes(system, body, eta, xi)
    if held is not None:
        step = held_step(body.name, part.nodes[held], eta, xi)
        assembly = body.assembly
        steps = (*assembly.steps, step)
        frame, displacement, drift = build_frames(body.name, body.parent.frame, body.at, steps, body.orient)
        _set(body, assembly=Assembly(steps, assembly.rates, assembly.quaternions))
        _set(body, frame=frame, displacement=displacement, drift=drift)
    system.flexibles[body.name] = Flexible(part, eta, xi, held)
    return part


def _modal_symbol(system: Description, body: Body, letter: str, mode: int) -> Expr:
    role, series, noun = (
        ("coordinate", body.joint_coordinates, "amplitude")
        if letter == "q"
        else ("speed", body.joint_speeds, "rate")
    )
    label = f"{body.name}.{letter}{len(series) + mode + 1}"
    about = f"{noun} of mode {mode + 1} of {body.name}"
    return symbol(label, role, owner=system.identity, units="", about=about)


def _insert_modes(system: Description, body: Body, eta: tuple[Expr, ...], xi: tuple[Expr, ...]) -> None:
    """Insert the modes after the states of the body's joint, before the states of bodies added later."""
    before = list(system.bodies.values())[: list(system.bodies).index(body.name) + 1]
    q, u = sum(len(b.coordinates) for b in before), sum(len(b.speeds) for b in before)
    system.coordinates[q:q] = eta
    system.speeds[u:u] = xi
    for amplitude, rate in zip(eta, xi, strict=True):
        system.initial[amplitude] = system.initial[rate] = 0.0
        system.rates[amplitude] = rate
        make_acceleration(system, rate)


def _remove_default_masses(system: Description, body: Body) -> None:
    """Remove the default parameters of a body's mass and inertia, which the flexible part replaces."""
    mass = f"{body.name}.mass"
    moments = [f"{body.name}.I{i}{i}" for i in (1, 2, 3)]
    if system.parameters.get(mass) is body.mass:
        _remove_parameters(system, [mass], body)
        _set(body, mass=ZERO)
    if system.parameters.get(moments[0]) is body.inertia[0][0]:
        _remove_parameters(system, moments, body)
        zero: Matrix = ((ZERO,) * 3,) * 3
        _set(body, inertia=zero)


def _remove_parameters(system: Description, names: list[str], body: Body) -> None:
    gone = {system.parameters[name] for name in names}
    expressions = [use.expression for use in parameter_uses(system, without=body)]
    expressions += [given[0] for given in system.definitions.values() if isinstance(given[0], Expr)]
    if used := gone & set(symbols(*expressions)):
        raise ModelError(
            f"body '{body.name}': its default parameter '{used.pop()}' has been used already; a flexible "
            "body has the mass of its part: make it flexible right after it is made, or give its mass"
        )
    for name in names:
        del system.parameters[name]


def _check_unused(system: Description, body: Body) -> None:
    points = [p for p in body.points if p not in ("origin", "com")]
    if points or system.extent() > body.made_at:
        raise ModelError(
            f"body '{body.name}': held= moves its origin, which may have been used already; "
            "make it flexible right after it is made, before anything else is added"
        )


def node_body(system: Description, body: Body, name: object) -> Body:
    """Return the massless body at a node of a flexible body; see ``Body.node``."""
    flex = body.flex
    if flex is None:
        raise ModelError(
            f"body '{body.name}' is rigid and has no nodes; make it flexible first, with "
            f"{body.name}.flexible(…)"
        )
    try:
        node = flex.part.node(name)
    except ModelError as error:
        raise ModelError(f"body '{body.name}': {error}") from None
    if node.key not in flex.nodes:
        flex.nodes[node.key] = _make_node(system, body, flex, node)
    return flex.nodes[node.key]


def deflection(system: Description, body: Body, name: object) -> Vector:
    """Return the displacement of a node from its undeformed position; see ``Body.deflection``."""
    node = node_body(system, body, name)
    assert body.flex is not None
    place = body.flex.places[node.name]
    undeformed = [number(float(x), LENGTH) for x in place.position]
    return node.displacement - body.frame.vector(undeformed)


def _make_node(system: Description, body: Body, flex: Flexible, place: FlexibleNode) -> Body:
    label = place.name
    name = f"{body.name}_{label}"
    if name in system.bodies or name in system.parameters or name in system.loads:
        raise ModelError(
            f"the node '{label}' of body '{body.name}' would be body '{name}', a name that is in use; "
            "rename the other object"
        )
    step = node_step(body.name, place, flex.coordinates, flex.speeds)
    assembly = Assembly((step,), ())
    frame, displacement, drift = build_frames(name, body.frame, _ZERO, assembly.steps, None)
    joint = Nodal(body.name, label)
    node = massless_body(body.system, name, body, joint, assembly, frame, displacement, drift)
    system.bodies[name] = node
    flex.places[name] = place
    return node


_ZERO = (ZERO, ZERO, ZERO)


def _set(body: Body, **values: object) -> None:
    """Set attributes of a body, which is a frozen dataclass; no other object may have used them before."""
    for name, value in values.items():
        object.__setattr__(body, name, value)


def _mass_centre(body: Body) -> tuple[float, ...]:
    """Return the mass centre as numbers; coupling coefficients refer to it by default."""
    for value in body.com_coordinates:
        if value.kind != "number":
            raise ModelError(
                f"body '{body.name}': without about=, coupling= refers to the mass centre, but com holds "
                f"{value}; give about= in numbers, from the body's origin"
            )
    return tuple(float(c.data) for c in body.com_coordinates)
