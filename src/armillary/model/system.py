"""The description of a mechanical system: bodies, joints, loads, memory, outputs.

A ``System`` only records; ``derive`` hands the finished description to the mechanics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra import vectors as vec
from armillary.algebra.arguments import flag, text
from armillary.algebra.expression import UNIT, ZERO, Expr, number, symbol
from armillary.algebra.functions import CONDITIONS
from armillary.algebra.intermediate import Signed
from armillary.algebra.triples import Matrix, Triple
from armillary.algebra.units.dimension import ACCELERATION, FORCE, MOMENT, ONE, TIME, Dimension
from armillary.algebra.units.units import is_quantity, magnitude_in_si, parse_unit
from armillary.algebra.vectors import Frame, Vector
from armillary.errors import ModelError, UnitsError
from armillary.model import motion
from armillary.model.armature import Armatures
from armillary.model.body import Body, Point
from armillary.model.body_frames import build_frames
from armillary.model.constraints import refuse_equation
from armillary.model.contact import Contacts
from armillary.model.flexible.attachment import Flexible, Flexibles
from armillary.model.inertia_input import finite_number, read_inertia, read_mass
from armillary.model.joints import Assembly, Fixed, JointType, Maker
from armillary.model.journal import Telling, recorded
from armillary.model.judgement import Judgement
from armillary.model.line_force import line_variables
from armillary.model.orientation import orientation_matrix
from armillary.model.origins import Call, Identity, belongs
from armillary.model.reactions import Reactions
from armillary.model.records import Constraint, Event, Gravity, Load, Memory, Output, Prescription, State
from armillary.model.space import Space
from armillary.model.space.attraction import Attractor
from armillary.model.states import States
from armillary.model.text_functions import argument_range, stated_arguments
from armillary.model.unit_system import unit_system


class System(Armatures, Reactions, Contacts, Judgement, Space, Flexibles, States):
    """A mechanical system under description. SI units unless ``units`` names another system."""

    def __init__(self, name: str, units: str = "SI") -> None:
        self.name = text(name, "the name of a system", ModelError)
        self.telling = Telling()
        self.imported: Any = None  # what a loader of robot files leaves besides the system
        self.units = unit_system(units)
        self.identity = Identity(self)
        self.time = symbol("t", "time", dimension=TIME, owner=self.identity, units="s", about="time")
        self.parameters: dict[str, Expr] = {}
        self.bodies: dict[str, Body] = {}
        self.flexibles: dict[str, Flexible] = {}
        self.loads: dict[str, Load] = {}
        self.outputs: dict[str, Output] = {}
        self.memories: dict[str, Memory] = {}
        self.states: dict[str, State] = {}
        self.events: dict[str, Event] = {}
        self.prescriptions: dict[Expr, Prescription] = {}
        self.constraints: dict[str, Constraint] = {}
        self.locked: list[Expr] = []
        self.armatures: dict[Expr, Expr] = {}
        self.started: list[Expr] = []
        self.reactions: dict[str, tuple[Expr, ...]] = {}
        self.efforts: dict[Expr, Expr] = {}
        self.functions: dict[str, tuple[Callable[..., Any], Any]] = {}
        self.definitions: dict[str, Any] = {}
        self.calls: dict[Any, Call] = {}  # that made expressions and vectors, for saved models
        self.declared_only = False  # unknown names in texts are errors, not new parameters
        self.gravities: list[Gravity] = []
        self.attractors: dict[str, Attractor] = {}
        self.centres: dict[str, tuple[Triple, Triple]] = {}
        self.smallness: dict[Expr, int] = {}
        self.coordinates: list[Expr] = []
        self.speeds: list[Expr] = []
        self.initial: dict[Expr, float] = {}
        self.rates: dict[Expr, Expr] = {self.time: UNIT}
        self.accelerations: dict[Expr, Expr] = {}
        self.ground = self._make_ground()
        belongs(self.ground.frame, self)

    # ------------------------------------------------------------ quantities

    @recorded
    def parameter(
        self, name: str, default: float | None = None, *, units: str | None = None, about: str = ""
    ) -> Expr:
        """A constant that each run may set. ``default`` is in ``units`` (a Pint quantity brings its own)."""
        self._new_name(name, "parameter")
        text(about, f"the description of parameter '{name}'", ModelError)
        dimension = parse_unit(units).dimension if units is not None else None
        where = f"the default of parameter '{name}'"
        if is_quantity(default):
            value, own = magnitude_in_si(default)
            if dimension not in (None, own):
                raise UnitsError(f"{where} has dimension [{own}], but its units {units} have [{dimension}]")
            dimension, units = own, self.units.unit_text(own)
            default = value / self.units.scale(own)
        if default is not None:
            default = finite_number(default, where)
        return self._declare(name, dimension, about, default, units)

    @recorded
    def memory(
        self,
        name: str,
        initial: float = 0.0,
        *,
        update: Any = None,
        every: float | None = None,
        units: str | None = None,
        about: str = "",
    ) -> Expr:
        """A discrete state; ``initial`` is in ``units``. ``update`` (text or expression, may use the memory's
        own old value) is applied once per step, or with ``every`` once per so many seconds, first one period
        after the start of a run; events may change it too."""
        node, start, factor = self._variable("memory", name, initial, units, about)
        self.memories[name] = Memory(node, start, None, about, factor=factor)
        self.rates[node] = ZERO
        if every is not None:
            self._renew_periodically(node, update, every)
        elif update is not None:
            self.update(node, update)
        return node

    @recorded
    def input(self, name: str, default: float = 0.0, *, units: str | None = None, about: str = "") -> Expr:
        """A signal from outside: constant in a run by itself unless ``memory=`` sets it, an input of an FMU,
        an argument of exported code. It is a memory that nothing in the model renews."""
        node = self.memory(name, default, units=units, about=about)
        self.memories[name] = replace(self.memories[name], input=True)
        return node

    def _renew_periodically(self, memory: Expr, update: Any, every: float) -> None:
        """A clock memory that holds the time of the next update, and the event of reaching it."""
        name = memory.name
        period = finite_number(every, f"the period of memory '{name}'")
        if period <= 0:
            raise ModelError(f"memory '{name}': every={every!r} is not a positive number of seconds")
        if update is None:
            raise ModelError(f"memory '{name}' has a period but no update; say what it becomes with update=")
        clock, advanced = self._clock(name, period, f"next update of {name}")
        value = self.expression(update, f"update of memory '{name}'", memory.dimension)
        changes = {memory: value, **advanced}
        self.events[clock.name] = Event(clock.name, self.time - clock, 1, changes, False, "", hidden=True)

    def _clock(self, name: str, period: float, about: str) -> tuple[Expr, dict[Expr, Expr]]:
        """A memory of the time of the next tick, and what a tick makes of it.

        Ticks are counted, tₙ = t₀ + n·period: a sum of periods would drift away from them.
        """
        clock = symbol(f"{name} clock", "memory", dimension=TIME, owner=self.identity, units="s")
        start = symbol(f"{name} clock start", "memory", dimension=TIME, owner=self.identity, units="s")
        ticks = symbol(f"{name} clock ticks", "memory", dimension=ONE, owner=self.identity)
        self.memories[clock.name] = Memory(clock, 0.0, None, about, period)
        self.memories[start.name] = Memory(start, 0.0, None, f"start of the clock of {name}", 0.0)
        self.memories[ticks.name] = Memory(ticks, 1.0, None, f"ticks of the clock of {name}", hidden=True)
        self.rates |= {clock: ZERO, start: ZERO, ticks: ZERO}
        return clock, {clock: start + (ticks + 1) * number(period, TIME), ticks: ticks + 1}

    @recorded
    def update(self, memory: Any, expression: Any, *, every: float | None = None) -> None:
        """The expression that renews a memory once per step, or once per so many seconds; for memories that
        refer to each other, or to what is described after them."""
        node = self.expression(memory, "update")
        record = self.memories.get(node.name)
        if record is None or record.symbol is not node:
            raise ModelError(f"'{node}' is not a memory of this system; make one with memory(name, initial)")
        if f"{node.name} clock" in self.memories:
            raise ModelError(f"memory '{node}' is renewed periodically already; give one of both")
        if record.input:
            raise ModelError(f"'{node}' is an input, which is set from outside; make a memory to renew one")
        if every is not None:
            self._renew_periodically(node, expression, every)
            return
        value = self.expression(expression, f"update of memory '{node}'", node.dimension)
        self.memories[node.name] = replace(record, update=value)

    @recorded
    def event(
        self,
        name: str,
        expression: Any,
        *,
        direction: int = 0,
        set: Mapping[Any, Any] | None = None,
        lock: Any = (),
        unlock: Any = (),
        stop: bool = False,
        about: str = "",
    ) -> None:
        """What happens when ``expression`` passes zero (upwards +1, downwards −1, either 0): memories,
        coordinates, speeds and states named in ``set`` take new values, computed from the old ones; ``stop``
        ends the run.

        Joints named in ``lock`` (coordinates or speeds) stand still from then on: the impulse that stops them
        changes all other speeds too. ``unlock`` sets them free, with the speeds that they have.
        """
        if text(name, "the name of an event", ModelError) in self.events:
            raise ModelError(f"event '{name}' exists already; choose another name")
        if not isinstance(direction, int | float) or direction not in (-1, 0, 1):
            raise ModelError(f"event '{name}': direction={direction!r} is not −1, 0 or 1")
        where = f"event '{name}'"
        text(about, f"the description of {where}", ModelError)
        stop = flag(stop, f"{where}: stop=", ModelError)
        changes: dict[Expr, Expr] = {}
        if set is not None and not isinstance(set, Mapping):
            raise ModelError(f"{where}: set={set!r} must hold new values by name, {{'name': value, …}}")
        for target, value in (set or {}).items():
            node = self.expression(target, where)
            if node.kind != "symbol" or node.data.role not in ("memory", "coordinate", "speed", "state"):
                raise ModelError(
                    f"{where}: '{node}' cannot be set; memories, coordinates, speeds and states can"
                )
            if node.data.role == "memory" and self.memories[node.name].input:
                raise ModelError(f"{where}: '{node}' is an input, which is set from outside; set a memory")
            changes[node] = self.expression(value, f"{where}, new value of '{node}'", node.dimension)
        refuse_equation(expression, where, "give what passes zero")
        watched = self.expression(expression, where)
        if watched.kind == "call" and watched.data in CONDITIONS:
            raise ModelError(
                f"{where}: '{watched}' is a condition, which jumps between 0 and 1; give an expression that "
                "passes zero, e.g. 'bob.q1 - 0.5' with direction=1"
            )
        locked, freed = self._speeds_of(lock, where), self._speeds_of(unlock, where)
        if both := [u for u in locked if u in freed]:
            raise ModelError(f"{where}: '{both[0]}' cannot be locked and unlocked at once")
        if moved := [u for u in locked if u in changes]:
            raise ModelError(f"{where}: '{moved[0]}' is locked, so it stands still; it cannot be set too")
        self.events[name] = Event(name, watched, direction, changes, stop, about, lock=locked, unlock=freed)

    @recorded
    def function(
        self, name: str, function: Callable[..., Any], arity: int | None = None
    ) -> Callable[..., Any]:
        """A function for use in text expressions: a Python function of expressions (traced, so that it
        becomes part of the program), a lookup table or a foreign compiled function. Returned as it is, for
        use in Python."""
        self._new_name(name, "function")
        if not callable(function):
            raise ModelError(f"function '{name}': {function!r} cannot be called")
        self.functions[name] = (function, stated_arguments(function, arity, name))
        return function

    @recorded
    def output(self, name: str, expression: Any, *, units: str | None = None, about: str = "") -> None:
        """A quantity of interest, computed at each sample and labelled with units and description."""
        if text(name, "the name of an output", ModelError) in self.outputs:
            raise ModelError(f"output '{name}' exists already; choose another name")
        text(about, f"the description of output '{name}'", ModelError)
        states = [*self.moving(), *(m.symbol for m in self.memories.values())]
        if name in ("t", "time") or any(name == s.data.name for s in states):
            raise ModelError(f"output '{name}': every run has a column of that name; choose another name")
        value = self.expression(expression, f"output '{name}'")
        scale = 1.0
        if units is not None:
            unit = parse_unit(units)
            self._must_have(value, unit.dimension, f"output '{name}' in {units}")
            scale = 1.0 / self.units.factor(unit)
        self.outputs[name] = Output(
            name, value, units if units is not None else self.units.unit_text(value.dimension), about, scale
        )

    # ------------------------------------------------------------ bodies

    @recorded
    def body(
        self,
        name: str,
        parent: Body | str | None = None,
        joint: JointType | None = None,
        *,
        at: Any = (0, 0, 0),
        orient: Any = None,
        com: Any = (0, 0, 0),
        mass: Any = None,
        inertia: Any = None,
        check_inertia: bool = True,
    ) -> Body:
        """A body on a parent (the ground where none is given).

        ``at``: the joint's place in the parent's axes. ``orient``: how the child's axes are turned at zero
        coordinates: a 3×3 matrix with v_parent = R v_child, or a sequence with angles such as ("zx", 0.1,
        0.2). ``com``: mass centre in body axes. ``inertia`` about it: 0, three moments, six elements (11, 22,
        33, 12, 13, 23) or 3×3. Mass or inertia left out become parameters named after the body.
        """
        self._new_name(name, "body")
        base = self._find_body(parent, f"parent of body '{name}'") if parent is not None else self.ground
        kind = joint if joint is not None else Fixed()
        if not isinstance(kind, JointType):
            raise ModelError(f"body '{name}': joint={joint!r} is not a joint; give one such as Revolute('z')")
        place = self.triple(at, f"'at' of body '{name}'", "m")
        centre = self.triple(com, f"mass centre of body '{name}'", "m")
        turned = orientation_matrix(
            orient, f"body '{name}'", self._constant_reader(f"orient of body '{name}'", ONE)
        )
        where = f"body '{name}'"
        made_mass = read_mass(
            mass, name, lambda v, d: self._constant_reader(f"mass of {where}", d)(v), self._make_parameter
        )
        made_inertia = read_inertia(
            inertia,
            name,
            lambda v, d: self._constant_reader(f"inertia of {where}", d)(v),
            self._make_parameter,
            check=check_inertia,
        )
        assembly, q, u = self._assemble(name, base.name, kind, turned)
        frame, displacement, drift = build_frames(name, base.frame, place, assembly.steps, turned)
        body = Body(
            self,
            name,
            base,
            kind,
            assembly,
            frame,
            place,
            turned,
            made_mass,
            made_inertia,
            centre,
            displacement,
            drift,
            q,
            u,
            made_at=self.extent() + 1,
        )
        body.points["origin"] = Point("origin", body, (ZERO, ZERO, ZERO))
        body.points["com"] = Point("com", body, centre)
        self.bodies[name] = body
        return body

    def _assemble(
        self, body: str, parent: str, kind: JointType, orient: Matrix | None
    ) -> tuple[Assembly, tuple[Expr, ...], tuple[Expr, ...]]:
        made: dict[str, list[Expr]] = {"q": [], "u": []}

        def make(letter: str, dimension: Dimension, about: str, initial: float) -> Expr:
            role = "coordinate" if letter == "q" else "speed"
            label = f"{body}.{letter}{len(made[letter]) + 1}"
            units = "" if about.startswith("Euler parameter") else self.units.joint_text(dimension)
            node = symbol(label, role, dimension=dimension, owner=self.identity, units=units, about=about)
            made[letter].append(node)
            self.initial[node] = initial
            return node

        reader = self._constant_reader(f"joint of body '{body}'", None)
        assembly = kind.assemble(Maker(body, parent, make, reader, orient))
        q, u = tuple(made["q"]), tuple(made["u"])
        if kind.small:
            self._judge_joint(body, assembly, (*q, *u))
        self.coordinates += q
        self.speeds += u
        self.rates.update(zip(q, assembly.rates, strict=True))
        for node in u:
            self._make_acceleration(node)
        return assembly, q, u

    def moving(self) -> list[Expr]:
        """Symbols of all coordinates, speeds and states of the user's own: what has initial values."""
        return [*self.coordinates, *self.speeds, *(s.symbol for s in self.states.values())]

    def variables(self) -> list[Expr]:
        """Symbols that stand for quantities of the motion; those of all joints' reactions too."""
        forces = [c.force for c in self.constraints.values()]
        joints = [s for body in self.bodies.values() for s in self._reaction(body)]
        efforts = [self.effort(u) for u in self.speeds]
        memories = [m.symbol for m in self.memories.values()]
        return [
            *self.moving(),
            *self.accelerations.values(),
            *memories,
            *forces,
            *joints,
            *efforts,
        ]

    def extent(self) -> int:
        """How many things the description holds."""
        made: list[Sized] = [self.bodies, self.loads, self.outputs, self.memories, self.states, self.events]
        made += [self.constraints, self.prescriptions, self.reactions, self.efforts, self.armatures]
        return sum(len(things) for things in made)

    def _make_acceleration(self, speed: Expr) -> None:
        name = speed.data.name
        dimension = speed.dimension / TIME if speed.dimension is not None else None
        dot = symbol(
            f"{name}'", "acceleration", dimension=dimension, owner=self.identity, about=f"rate of {name}"
        )
        self.rates[speed] = dot
        self.accelerations[speed] = dot

    def _make_ground(self) -> Body:
        frame = Frame("ground")
        zero: Triple = (ZERO, ZERO, ZERO)
        none = Vector({})
        inertia: Matrix = (zero, zero, zero)
        ground = Body(
            self,
            "ground",
            None,
            Fixed(),
            Assembly((), ()),
            frame,
            zero,
            None,
            ZERO,
            inertia,
            zero,
            none,
            none,
        )
        ground.points["origin"] = Point("origin", ground, zero)
        ground.points["com"] = Point("com", ground, zero)
        return ground

    # ------------------------------------------------------------ loads

    @recorded
    def gravity(self, magnitude: Any, direction: Any) -> None:
        """A uniform gravity field: acceleration ``magnitude`` along ``direction``, fixed in the ground.

        Several fields add up.
        """
        value = self.expression(magnitude, "gravity", ACCELERATION)
        axis = self._direction(direction, "gravity")
        if any(frame is not self.ground.frame for frame, _ in axis.terms):
            raise ModelError(
                f"gravity: its direction {axis} must be fixed in the ground, e.g. -system.ground.y"
            )
        self.gravities.append(Gravity(value, axis))

    @recorded
    def force(self, name: str, magnitude: Any, direction: Any, *, at: Any, reaction: Any = None) -> Expr:
        """A force of this magnitude along a direction at a point; opposite at the reaction point, or on the
        reaction body along the same line of action. Without a reaction the ground takes it. ``at`` a body
        means at its origin.

        A text may use ``x``, the distance of ``at`` along the direction from the reaction (a body's origin
        where it is one, the ground's without one), ``x0``, its value with all coordinates zero, and ``v``,
        the relative velocity along the direction: "-k*(x - x0) - c*v". Names of the model's own go first.
        """
        self._new_name(name, "force")
        point = self._find_point(at, f"force '{name}'")
        axis = self._direction(direction, f"force '{name}'")
        other_point: Point | None = None
        other: Body | None = None
        found = (
            self._parse(reaction, f"reaction of force '{name}'", {})
            if isinstance(reaction, str)
            else reaction
        )
        if isinstance(found, Body):
            other = self._find_reaction(found, point.body, f"force '{name}'")
        elif found is not None:
            other_point = self._find_point(found, f"reaction of force '{name}'")
            other = other_point.body
        local = {}
        if isinstance(magnitude, str):
            far = other_point or (other or self.ground).origin
            local = line_variables(self, name, magnitude, (far, point), axis)
        value = self.expression(magnitude, f"force '{name}'", FORCE, local)
        return self._add_load(
            Load(
                name,
                "force",
                value,
                axis * self._load_value(value, name),
                point.body,
                point,
                other,
                other_point,
            )
        )

    @recorded
    def moment(
        self, name: str, magnitude: Any, direction: Any, *, on: Any = None, reaction: Any = None
    ) -> Expr:
        """A moment of this magnitude about a direction on a body; opposite on the reaction body, if given."""
        self._new_name(name, "moment")
        if on is None:
            raise ModelError(f"moment '{name}' acts on no body; say which with on=body")
        body = self._find_body(on, f"moment '{name}'")
        value = self.expression(magnitude, f"moment '{name}'", MOMENT)
        axis = self._direction(direction, f"moment '{name}'")
        other = None if reaction is None else self._find_reaction(reaction, body, f"moment '{name}'")
        return self._add_load(
            Load(name, "moment", value, axis * self._load_value(value, name), body, None, other)
        )

    @recorded
    def strut(self, name: str, law: Any, *, between: Sequence[Any]) -> Expr:
        """A force along the line between two points, by a law in their distance ``x`` and its rate ``v``,
        e.g. "-k*(x - x0) - c*v"; positive pushes the points apart. A function of (x, v) may be given in place
        of text."""
        self._new_name(name, "strut")
        if isinstance(between, str) or not hasattr(between, "__len__") or len(between) != 2:
            raise ModelError(
                f"strut '{name}': between={between!r} is not a pair of points, e.g. (A.origin, B.com)"
            )
        p, q = (self._find_point(end, f"strut '{name}'") for end in between)
        if p.body is q.body:
            raise ModelError(f"strut '{name}': both ends are on body '{p.body.name}', so it can do nothing")
        line = motion.position(q, p)
        if not line.terms:
            raise ModelError(f"strut '{name}': its two points always coincide, so it has no direction")
        length = fn.named(vec.length(line), f"{name}_length")
        along = line / length
        rate = fn.named(vec.dot(motion.velocity(q, p), along), Signed(f"{name}_rate"))
        if callable(law) and not isinstance(law, Expr):
            least, most = argument_range(law)
            if not least <= 2 <= most:
                raise ModelError(
                    f"strut '{name}': its law must be a function of two arguments, length x and its rate v"
                )
            value = self.expression(law(length, rate), f"strut '{name}'", FORCE)
        else:
            value = self.expression(law, f"strut '{name}'", FORCE, {"x": length, "v": rate})
        load = Load(
            name, "force", value, along * self._load_value(value, name), q.body, q, p.body, p, collinear=True
        )
        return self._add_load(load)

    @staticmethod
    def _load_value(value: Expr, name: str) -> Expr:
        return fn.named(value, Signed(name))

    def _add_load(self, load: Load) -> Expr:
        self.loads[load.name] = load
        return load.magnitude

    def __repr__(self) -> str:
        return f"System({self.name!r}: {len(self.bodies)} bodies, {len(self.speeds)} speeds)"
