"""Reading of what users write: texts, numbers, names, points, bodies and directions, each checked."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from armillary.algebra import functions as fn
from armillary.algebra import vectors as vec
from armillary.algebra.expression import Expr, number, symbol
from armillary.algebra.functions import BY_NAME, RESERVED
from armillary.algebra.intermediate import measured
from armillary.algebra.notation.parsing import parse
from armillary.algebra.triples import Triple
from armillary.algebra.units.deduction import holds_bare_numbers
from armillary.algebra.units.dimension import LENGTH, ONE, Dimension
from armillary.algebra.units.units import is_quantity, magnitude_in_si, parse_unit
from armillary.algebra.vectors import Dyadic, Vector
from armillary.algebra.walk import symbols
from armillary.errors import ExpressionError, ModelError, UnitsError, nearest, shown
from armillary.model.body import Body, Point
from armillary.model.inertia_input import dimensioned, finite_number
from armillary.model.joints import JointType
from armillary.model.journal import recorded
from armillary.model.text_functions import MODEL_FUNCTIONS, SYSTEM_FUNCTIONS, giving_nodes

if TYPE_CHECKING:
    from armillary.model.origins import Identity
    from armillary.model.records import Load, Memory, State
    from armillary.model.unit_system import UnitSystem

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_PLAIN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")


class Reading:
    """How a system understands its user; a part of ``System``."""

    name: str
    identity: Identity
    units: UnitSystem
    time: Expr
    ground: Body
    parameters: dict[str, Expr]
    bodies: dict[str, Body]
    loads: dict[str, Load]
    memories: dict[str, Memory]
    states: dict[str, State]
    functions: dict[str, tuple[Callable[..., Any], Any]]
    definitions: dict[str, Any]
    declared_only: bool

    def _declare(
        self,
        name: str,
        dimension: Dimension | None,
        about: str,
        default: float | None = None,
        units: str | None = None,
    ) -> Expr:
        node = symbol(
            name,
            "parameter",
            dimension=dimension,
            owner=self.identity,
            units=units,
            about=about,
            default=default,
            undeclared=dimension is None,
        )
        self.parameters[name] = node
        return node

    def expression(
        self,
        value: Any,
        where: str = "",
        dimension: Dimension | None = None,
        local: Mapping[str, Expr] | None = None,
    ) -> Expr:
        """A scalar from text, a number or an expression; checked for its dimension where one is asked for."""
        known = len(self.parameters)
        try:
            return self._read_scalar(value, where, dimension, local or {})
        except BaseException:
            while len(self.parameters) > known:  # those that a text has made, which is refused
                self.parameters.popitem()
            raise

    def _read_scalar(
        self, value: Any, where: str, dimension: Dimension | None, local: Mapping[str, Expr]
    ) -> Expr:
        if isinstance(value, str):
            node = self._parse(value, where, local)
        elif isinstance(value, Expr):
            node = value
            self._check_own(node, where)
        elif isinstance(value, Vector):
            node = value
        else:
            node = self._number(value, where, dimension)
        if not isinstance(node, Expr):
            hint = "; take a component with dot(), or magnitude()" if isinstance(node, Vector) else ""
            raise ExpressionError(
                f"{where}: '{value}' is a {type(node).__name__.lower()}, a scalar is needed here{hint}"
            )
        self._must_have(node, dimension, where)
        return node

    def _number(self, value: Any, where: str, dimension: Dimension | None) -> Expr:
        if is_quantity(value):
            size, own = magnitude_in_si(value)
            return number(size / self.units.scale(own), own)
        try:
            plain = float(value)
        except (TypeError, ValueError, OverflowError):
            raise ExpressionError(f"{where}: {shown(value)} is not a number, text or expression") from None
        return dimensioned(finite_number(plain, where), dimension or ONE)

    def _check_own(self, node: Expr, where: str) -> None:
        for s in symbols(node):
            if s.data.owner not in (None, self.identity):
                raise ModelError(
                    f"{where}: '{s}' belongs to system '{s.data.owner.name}', not to '{self.name}'"
                )

    def _must_have(self, node: Expr, dimension: Dimension | None, where: str) -> None:
        if (
            dimension is None
            or node.dimension is None
            or node.dimension is dimension
            or holds_bare_numbers(node)
        ):
            return
        unit = self.units.unit_text(dimension) or "no unit"
        bare = f"1*({node})" if node.kind in ("sum", "product") else f"1*{node}"
        amplitude = f", or write its amplitude as a number in {unit}, {bare}" if node.dimension is ONE else ""
        raise UnitsError(
            f"{where}: '{node}' has dimension [{node.dimension}], but [{dimension}] ({unit}) is needed; "
            f"multiply it with a parameter that has the missing units{amplitude}"
        )

    def _parse(self, text: str, where: str, local: Mapping[str, Expr], *, checked: bool = True) -> Any:
        verbs = {name: (getattr(self, name), count) for name, count in SYSTEM_FUNCTIONS.items()}
        own = {**MODEL_FUNCTIONS, **verbs, **self.functions}
        table = {
            **BY_NAME,
            **{name: (giving_nodes(function), count) for name, (function, count) in own.items()},
        }

        def known(name: str) -> Any:
            try:
                return local[name] if name in local else self.lookup(name)
            except ModelError as error:  # as an ExpressionError it gets the place in the text
                raise ExpressionError(str(error)) from None

        try:
            return parse(text, known, table, checked=checked)
        except ExpressionError as error:
            raise ExpressionError(
                f"{where}: {error.message}" if where else error.message, error.text, error.column
            ) from None
        except UnitsError as error:
            raise UnitsError(f"{where}: {error}" if where else str(error)) from None
        except ModelError as error:
            raise ModelError(f"{where}: {error}" if where else str(error)) from None

    def lookup(self, name: str) -> Any:
        """What a name in a text stands for; an undeclared plain one becomes a parameter without a default."""
        if not _PLAIN.match(name):
            return self._quoted(name)
        head, _, tail = name.partition(".")
        if not tail:
            for table in (self.parameters, self.bodies):
                if name in table:
                    return table[name]
            if name in self.memories:
                return self.memories[name].symbol
            if name in self.states:
                return self.states[name].symbol
            if name in self.loads:
                return self.loads[name].magnitude
            if name in self.definitions:
                return self._defined(name)
            if name == "t":
                return self.time
            if name == "pi":
                return number(math.pi)
            if name in ("ground", "world"):
                return self.ground
            if self.declared_only:
                named = [*self.parameters, *self.bodies, *self.memories, *self.states]
                named += [*self.loads, *self.definitions]
                hint = nearest(name, named) or "; declare it in [parameters]"
                raise ModelError(f"there is nothing called '{name}'{hint}")
            return self._declare(name, None, "")
        if name in self.parameters:
            return self.parameters[name]
        body = self.bodies.get(head, self.ground if head in ("ground", "world") else None)
        if body is None:
            raise ModelError(f"there is no body '{head}'{nearest(head, [*self.bodies, 'ground'])}")
        return body.part(tail)

    @recorded
    def define(self, name: str, value: Any, *, label: str = "", units: str | None = None) -> None:
        """A name for an expression or vector in texts, read when a text first uses it. Text models need it;
        in Python a variable does the same. ``label`` keeps the value whole in the equations, under that name;
        ``units`` are those of an expression whose numbers hide them, "" where they are not known."""
        self._new_name(name, "expression")
        if not isinstance(value, str | Expr | Vector | Dyadic | Body | Point):
            self._number(value, f"expression '{name}'", None)
        dimension = parse_unit(units).dimension if units else None
        self.definitions[name] = (value, label, dimension, units is None)

    def _defined(self, name: str) -> Any:
        found = self.definitions[name]
        if not isinstance(found, tuple):
            return found
        value, label, dimension, checked = found
        if value is None:
            raise ModelError(f"expression '{name}' refers to itself")
        self.definitions[name] = (None, label, dimension, checked)
        try:
            where = f"expression '{name}'"
            read = value
            if isinstance(
                value, str
            ):  # where units are stated, numbers hide them, and sums cannot be checked
                read = self._parse(value, where, {}, checked=checked)
            made = (
                self._intermediate(self.expression(read, where), label, dimension)
                if label or dimension
                else read
            )
        except BaseException:
            self.definitions[name] = found
            raise
        self.definitions[name] = made
        return made

    @staticmethod
    def _intermediate(node: Expr, label: str, dimension: Dimension | None) -> Expr:
        if dimension in (None, node.dimension):
            return fn.named(node, label) if label else node
        if label:
            return measured(node, dimension, label)
        return node * number(1, dimension if node.dimension is None else dimension / node.dimension)

    @contextmanager
    def declared_names(self) -> Iterator[None]:
        """Meanwhile an unknown name in a text is an error, as in text models."""
        before, self.declared_only = self.declared_only, True
        try:
            yield
        finally:
            self.declared_only = before

    def _quoted(self, name: str) -> Any:
        """A variable by a name that is no plain one: a rate such as A.u1', the force of a constraint."""
        if name == "mass centre":  # what energy and momentum may be taken about
            return name
        known = {s.data.name: s for s in self.variables()}
        if name not in known:
            raise ModelError(f"there is no variable '{name}'{nearest(name, known)}")
        return known[name]

    def variables(self) -> list[Expr]:
        """Symbols that stand for quantities of the motion, those that only outputs may use too."""
        raise NotImplementedError

    def triple(self, values: Any, where: str, units: str = "m") -> Triple:
        """Three constant scalars with the dimension of ``units``."""
        if isinstance(values, str | Expr) or not hasattr(values, "__len__") or len(values) != 3:
            raise ModelError(f"{where}: three values are needed, e.g. (0, 0, 1), not {values!r}")
        reader = self._constant_reader(where, LENGTH if units == "m" else parse_unit(units).dimension)
        return tuple(reader(v) for v in values)  # type: ignore[return-value]

    def _constant_reader(self, where: str, dimension: Dimension | None) -> Callable[[Any], Expr]:
        def read(value: Any) -> Expr:
            node = self.expression(value, where, dimension)
            if not node.constant:
                raise ModelError(
                    f"{where}: '{node}' varies with the motion or time; a constant is needed here"
                )
            return node

        return read

    def _make_parameter(self, name: str, dimension: Dimension, about: str) -> Expr:
        return self._declare(name, dimension, about, units=self.units.unit_text(dimension))

    def _direction(self, value: Any, where: str) -> Vector:
        vector = self._parse(value, where, {}) if isinstance(value, str) else value
        if not isinstance(vector, Vector):
            raise ModelError(
                f"{where}: its direction {value!r} is not a vector; give one such as body.x or '-ground.y'"
            )
        if not vector.terms:
            raise ModelError(f"{where}: its direction is the zero vector")
        # Numbers of a text are numbers of Python here, so that both give the same unit vector.
        vector = vector.map(lambda c: c.data if isinstance(c, Expr) and c.kind == "number" else c)
        for (frame, _), size in vector.terms.items():
            if self.ground.frame not in vec.ancestors(frame):
                raise ModelError(
                    f"{where}: its direction {vector} is not fixed in a body of system '{self.name}'"
                )
            if isinstance(size, Expr):
                self._check_own(size, where)
            else:
                finite_number(size, f"{where}: a component of its direction")
        return vec.direction(vector)

    def _find_body(self, body: Any, where: str) -> Body:
        if isinstance(body, str):
            if body in ("ground", "world") and body not in self.bodies:
                return self.ground
            owner, _, node = body.partition(".")
            if node and owner in self.bodies:
                return self.bodies[owner].node(node)
            if body not in self.bodies:
                raise ModelError(
                    f"{where}: there is no body '{body}'{nearest(body, [*self.bodies, 'ground'])}"
                )
            return self.bodies[body]
        if isinstance(body, JointType):
            raise ModelError(
                f"{where}: a joint is not a body; give it by name, joint={type(body).__name__}(…)"
            )
        if not isinstance(body, Body):
            raise ModelError(f"{where}: {body!r} is not a body")
        if body.system is not self and body.system.identity is self.identity:
            return self._find_body(body.name, where)  # the one of a snapshot
        if body.system is not self:
            raise ModelError(
                f"{where}: body '{body.name}' belongs to system '{body.system.name}', not to '{self.name}'"
            )
        return body

    def _find_reaction(self, body: Any, first: Body, where: str) -> Body:
        other = self._find_body(body, f"reaction of {where}")
        if other is first:
            raise ModelError(
                f"{where}: its reaction is on the same body '{first.name}', so it can do nothing"
            )
        return other

    def _find_point(self, point: Any, where: str) -> Point:
        found = self._parse(point, where, {}) if isinstance(point, str) else point
        if isinstance(found, Body):
            found = found.origin
        if not isinstance(found, Point):
            raise ModelError(
                f"{where}: {point!r} is not a point; give one such as body.origin or body.point((0, 1, 0))"
            )
        self._find_body(found.body, where)
        return found

    def _new_name(self, name: str, kind: str) -> None:
        if not isinstance(name, str) or not _NAME.match(name):
            raise ModelError(
                f"{kind} name {name!r} is not a name: letters, digits and underscores, a digit not first"
            )
        taken: dict[str, Mapping[str, Any]] = {
            "parameter": self.parameters,
            "body": self.bodies,
            "memory": self.memories,
            "state": self.states,
            "load": self.loads,
            "function": self.functions,
            "named expression": self.definitions,
        }
        for what, table in taken.items():
            if name in table:
                late = what == "parameter" and kind in ("parameter", "memory", "state")
                hint = "declare it before the first text that uses it, or " if late else ""
                raise ModelError(
                    f"{kind} '{name}': the name is taken by a {what} already; {hint}choose another"
                )
        if name in {"t", "pi", "ground", *RESERVED, *MODEL_FUNCTIONS} or keyword.iskeyword(name):
            raise ModelError(f"{kind} '{name}': the name is reserved; choose another")
