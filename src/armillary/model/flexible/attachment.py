"""Flexible parts on the bodies of a system: their coordinates, speeds and nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from armillary.algebra.expression import ZERO, Expr, number, symbol
from armillary.algebra.triples import Matrix
from armillary.algebra.units.dimension import LENGTH
from armillary.algebra.vectors import Vector
from armillary.algebra.walk import symbols
from armillary.errors import ModelError, nearest
from armillary.model.body import Body, Point
from armillary.model.body_frames import build_frames
from armillary.model.flexible.kinematics import held_step, node_step
from armillary.model.flexible.part import FlexiblePart, Node
from armillary.model.joints import Assembly, JointType, Maker

if TYPE_CHECKING:
    from armillary.model.origins import Identity
    from armillary.model.records import Load, Output


@dataclass(frozen=True, eq=False)
class Flexible:
    """A flexible part as it sits on a body: its numbers, and the symbols of its modes."""

    part: FlexiblePart
    coordinates: tuple[Expr, ...]
    speeds: tuple[Expr, ...]
    held: str | None = None
    nodes: dict[Any, Body] = field(default_factory=dict)  # those that were asked for, by `Node.key`
    places: dict[str, Node] = field(default_factory=dict)  # and where they are, by their bodies' names


class Nodal(JointType):
    """What ties a node to its body: the modes alone."""

    def __init__(self, body: str, node: str) -> None:
        super().__init__()
        self.words = f"node {node} of {body}"

    def assemble(self, maker: Maker) -> Assembly:
        raise NotImplementedError("nodes are made by their flexible body")

    def describe(self) -> str:
        return self.words


class Flexibles:
    """Flexible bodies of a system; a part of ``System``."""

    identity: Identity
    bodies: dict[str, Body]
    flexibles: dict[str, Flexible]
    parameters: dict[str, Expr]
    coordinates: list[Expr]
    speeds: list[Expr]
    rates: dict[Expr, Expr]
    initial: dict[Expr, float]
    loads: dict[str, Load]
    outputs: dict[str, Output]

    def _make_flexible(
        self, body: Body, source: Any, held: str | None, options: dict[str, Any]
    ) -> FlexiblePart:
        from armillary.model.flexible.reading import flexible_part

        where = f"body '{body.name}'"
        if body.parent is None:
            raise ModelError("the ground is rigid: give a body of its own to what is flexible")
        if isinstance(body.joint, Nodal):
            raise ModelError(f"{where} is a node of a flexible body and has no modes of its own")
        if body.flex is not None:
            raise ModelError(f"{where} is flexible already; one body has one set of modes")
        if "coupling" in options and options.get("about") is None:
            options["about"] = _mass_centre(body)
        part = flexible_part(where, source, **options)
        if held is not None and not (isinstance(held, str) and held in part.nodes):
            raise ModelError(
                f"{where}: held={held!r} is not the name of one of its nodes{nearest(str(held), part.nodes)}"
            )
        if held is not None:
            self._check_untouched(body)
        eta = tuple(self._modal_symbol(body, "q", p) for p in range(part.modes))
        xi = tuple(self._modal_symbol(body, "u", p) for p in range(part.modes))
        self._without_defaults(body)
        self._insert(body, eta, xi)
        if held is not None:
            step = held_step(body.name, part.nodes[held], eta, xi)
            assembly = body.assembly
            steps = (*assembly.steps, step)
            frame, displacement, drift = build_frames(
                body.name, body.parent.frame, body.at, steps, body.orient
            )
            _set(body, assembly=Assembly(steps, assembly.rates, assembly.quaternions))
            _set(body, frame=frame, displacement=displacement, drift=drift)
        self.flexibles[body.name] = Flexible(part, eta, xi, held)
        return part

    def _modal_symbol(self, body: Body, letter: str, mode: int) -> Expr:
        role, series, noun = (
            ("coordinate", body.joint_coordinates, "amplitude")
            if letter == "q"
            else ("speed", body.joint_speeds, "rate")
        )
        label = f"{body.name}.{letter}{len(series) + mode + 1}"
        about = f"{noun} of mode {mode + 1} of {body.name}"
        return symbol(label, role, owner=self.identity, units="", about=about)

    def _insert(self, body: Body, eta: tuple[Expr, ...], xi: tuple[Expr, ...]) -> None:
        """The modes after the body's joint, whatever bodies were added since."""
        before = list(self.bodies.values())[: list(self.bodies).index(body.name) + 1]
        q, u = sum(len(b.coordinates) for b in before), sum(len(b.speeds) for b in before)
        self.coordinates[q:q] = eta
        self.speeds[u:u] = xi
        for amplitude, rate in zip(eta, xi, strict=True):
            self.initial[amplitude] = self.initial[rate] = 0.0
            self.rates[amplitude] = rate
            self._make_acceleration(rate)

    def _make_acceleration(self, speed: Expr) -> None:
        raise NotImplementedError

    def _without_defaults(self, body: Body) -> None:
        """Mass and inertia that were left out are the part's, not parameters."""
        mass = f"{body.name}.mass"
        moments = [f"{body.name}.I{i}{i}" for i in (1, 2, 3)]
        if self.parameters.get(mass) is body.mass:
            self._forget([mass], body)
            _set(body, mass=ZERO)
        if self.parameters.get(moments[0]) is body.inertia[0][0]:
            self._forget(moments, body)
            zero: Matrix = ((ZERO,) * 3,) * 3
            _set(body, inertia=zero)

    def _forget(self, names: list[str], body: Body) -> None:
        gone = {self.parameters[name] for name in names}
        asked = [load.magnitude for load in self.loads.values()]
        asked += [output.expression for output in self.outputs.values()]
        if used := gone & set(symbols(*asked)):
            raise ModelError(
                f"body '{body.name}': '{used.pop()}' was left out and has been used already; a flexible "
                "body has its part's mass: make it flexible right after it is made, or give its mass"
            )
        for name in names:
            del self.parameters[name]

    def _check_untouched(self, body: Body) -> None:
        points = [p for p in body.points if p not in ("origin", "com")]
        if points or self.extent() > body.made_at:
            raise ModelError(
                f"body '{body.name}': held= moves its origin, and it may have been used since it was made; "
                "make it flexible right after it is made, before anything else is added"
            )

    def extent(self) -> int:
        raise NotImplementedError

    def _node(self, body: Body, name: Any) -> Body:
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
            flex.nodes[node.key] = self._make_node(body, flex, node)
        return flex.nodes[node.key]

    def _deflection(self, body: Body, name: Any) -> Vector:
        node = self._node(body, name)
        assert body.flex is not None
        place = body.flex.places[node.name]
        undeformed = [number(float(x), LENGTH) for x in place.position]
        return node.displacement - body.frame.vector(undeformed)

    def _make_node(self, body: Body, flex: Flexible, place: Node) -> Body:
        label = place.name
        name = f"{body.name}_{label}"
        if name in self.bodies or name in self.parameters or name in self.loads:
            raise ModelError(
                f"the node '{label}' of body '{body.name}' would be body '{name}', a name that is taken "
                "already; rename the other"
            )
        step = node_step(body.name, place, flex.coordinates, flex.speeds)
        assembly = Assembly((step,), ())
        frame, displacement, drift = build_frames(name, body.frame, _ZERO, assembly.steps, None)
        zero: Matrix = (_ZERO, _ZERO, _ZERO)
        joint = Nodal(body.name, label)
        node = Body(
            body.system,
            name,
            body,
            joint,
            assembly,
            frame,
            _ZERO,
            None,
            ZERO,
            zero,
            _ZERO,
            displacement,
            drift,
        )
        node.points["origin"] = Point("origin", node, _ZERO)
        node.points["com"] = Point("com", node, _ZERO)
        self.bodies[name] = node
        flex.places[name] = place
        return node


_ZERO = (ZERO, ZERO, ZERO)


def _set(body: Body, **values: Any) -> None:
    """New values for what a body was made with, while nobody has used them."""
    for name, value in values.items():
        object.__setattr__(body, name, value)


def _mass_centre(body: Body) -> tuple[float, ...]:
    """The mass centre as numbers, about which coupling coefficients are taken."""
    for value in body.com_coordinates:
        if value.kind != "number":
            raise ModelError(
                f"body '{body.name}': coupling= is taken about the mass centre where about= is left out, but "
                f"com holds {value}; give about= in numbers, from the body's origin"
            )
    return tuple(float(c.data) for c in body.com_coordinates)
