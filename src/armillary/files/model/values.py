"""Python values of a description as values of a text model: expressions and vectors become texts.

A subexpression that occurs several times, or that has a name in the equations, becomes a named expression of
the file. So the text grows in proportion to the graph, and reads back as the same graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from armillary.algebra.arguments import arguments_of
from armillary.algebra.expression import Expr
from armillary.algebra.node import number_text, text
from armillary.algebra.tables import Piecewise
from armillary.algebra.units import ONE, is_quantity, magnitude_in_si, si_text
from armillary.algebra.vectors import Vector
from armillary.algebra.walk import symbols
from armillary.errors import ModelError
from armillary.files.model.documents import object_form
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description
from armillary.model.joints import Joint
from armillary.model.reading.kinds import PATH
from armillary.untyped import DataTable, Given

_PLAIN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")
_SHORT = 400  # characters up to which a text repeats shared parts
_INLINE = 12  # characters up to which a shared part is always repeated


class Values:
    """Values of one system; ``definitions`` and ``tables`` collect the entries to which their texts refer.

    With ``calls`` the result of a recorded call, such as total_energy(), is written as this call, which is
    right if the call has the same result for the complete description. ``file`` returns the name by which the
    text names a file.
    """

    def __init__(
        self, system: Description, *, calls: bool = True, file: Callable[[Given], str] = str
    ) -> None:
        self.system, self.calls, self.file = system, calls, file
        self.definitions: DataTable = {}
        self.tables: dict[str, Piecewise] = {}
        self._names: dict[Expr, str] = {}
        self._busy: set[int] = set()
        self._axes = {body.frame: body.name for body in (system.ground, *system.bodies.values())}
        self._known = {f: name for name, (f, _) in system.functions.items() if isinstance(f, Piecewise)}

    def value(self, value: Given) -> Given:
        """Return a value for a file; raise an error if a text model cannot hold it."""
        if isinstance(value, bool | str | int):
            return value
        if isinstance(value, Expr):
            return self.expression(value)
        if isinstance(value, Vector):
            return self.vector(value)
        if isinstance(value, Body):
            return value.name
        if isinstance(value, Point):
            return f"{value.body.name}.{value.name}"
        if isinstance(value, np.ndarray):
            return value.tolist()
        if isinstance(value, Mapping):
            return {self._key(key): self.value(item) for key, item in value.items() if item is not None}
        if isinstance(value, list | tuple):
            return ["" if item is None else self.value(item) for item in value]
        if is_quantity(value):
            size, dimension = magnitude_in_si(value)
            return float(size / self.system.units.scale(dimension))
        if (form := object_form(value)) is not None:
            return self.object(value, form)
        try:
            return float(value)
        except (TypeError, ValueError):
            kind = type(value).__name__
            raise ModelError(
                f"an object of the Python class {kind} cannot be written in a text model; keep it in Python"
            ) from None

    def _key(self, key: object) -> str:
        return str(self.value(key))

    def object(self, value: Given, form: Given) -> DataTable:
        """Return a joint, beam or the like as the table that describes it."""
        given = arguments_of(value) or {}
        if isinstance(value, Joint) and type(value) is Joint and not value.translate:
            given.pop("translate", None)
        defaults = form.defaults()
        main = form.argument if form.argument is not None else form.key
        table: DataTable = {}
        if form.spread:
            listed = [given.pop(name) for name in [*given] if name not in form.fields]
            table[form.key] = self.value(listed if len(listed) > 1 else listed[0])
        elif main == "":
            table[form.key] = True
        elif form.fields[form.key] is PATH:
            table[form.key] = self.file(given[main])
        elif main in given or main in defaults:
            named = given.get(main, defaults.get(main))
            table[form.key] = True if named is None else self.value(named)
        for name, item in given.items():
            if name != main and not (name in defaults and _same(item, defaults[name])):
                table[name] = self.file(item) if form.fields.get(name) is PATH else self.value(item)
        return table

    # ------------------------------------------------------------ texts

    def expression(self, node: Expr, local: Mapping[Expr, str] | None = None) -> Given:
        """Return an expression as text, or a constant as a number; ``local`` has names for subexpressions."""
        if node.kind == "number":
            return float(node.data) if not float(node.data).is_integer() else int(node.data)
        names = {**self._names, **(local or {})}
        self._quote([node], names)
        order = self._nodes_in_text(node, names)
        whole = len(text(node, names, limit=_SHORT + 4)) > _SHORT
        uses: dict[Expr, int] = {}
        for part in order:
            for a in part.args:
                uses[a] = uses.get(a, 0) + 1
        for part in order:
            if part.kind == "call" and isinstance(part.data, Piecewise):
                self._table(part.data)
            if local:
                continue  # a named expression has no access to a function's arguments
            if part.kind == "let" or _hides_a_one(part):
                names[part] = self._define(self._intermediate(part, names), part)
            elif whole and uses.get(part, 0) > 1:
                shown = self._text(part, names)
                if len(shown) > _INLINE:
                    names[part] = self._define(shown if self.calls else self._add_units(shown, part), part)
        if not self.calls and not local and order:
            return self._define(self._add_units(self._text(node, names), node), node)
        return self._text(node, names)

    def _nodes_in_text(self, node: Expr, names: dict[Expr, str]) -> list[Expr]:
        """Return the nodes that the text of a node shows, operands first.

        The text does not show nodes inside a subexpression that has a name or was made by a recorded call.
        """
        order: list[Expr] = []
        seen: set[Expr] = set()
        stack: list[tuple[Expr, bool]] = [(node, False)]
        while stack:
            part, done = stack.pop()
            if done:
                order.append(part)
            elif part not in seen and part not in names and part.kind not in ("symbol", "number"):
                seen.add(part)
                if call := self._call(part):
                    names[part] = call
                else:
                    stack.append((part, True))
                    stack += [(a, False) for a in reversed(part.args)]
        return order

    def vector(self, vector: Vector) -> str:
        """Return a vector as a sum along axes of bodies."""
        if call := self._call(vector):
            return call
        terms = []
        for (frame, axis), size in vector.terms.items():
            if frame not in self._axes:
                raise ModelError(
                    f"the vector {vector} is along axes that no body has, so no text can express it; "
                    f"express it in a body"
                )
            unit = f"{self._axes[frame]}.{'xyz'[axis]}"
            factor = self.expression(size) if isinstance(size, Expr) else size
            shown = factor if isinstance(factor, str) else number_text(factor)
            terms.append(unit if shown == "1" else f"-{unit}" if shown == "-1" else f"({shown})*{unit}")
        return " + ".join(terms).replace("+ -", "- ") if terms else "0*ground.x"

    def _call(self, value: Given) -> str:
        """Return the call that made a value, as text; "" if none is known."""
        made_by = self.system.calls.get(value) if self.calls and id(value) not in self._busy else None
        if made_by is None:
            return ""
        self._busy.add(id(value))  # dot(c*A.x, A.x) is c itself: its argument must not call it again
        try:
            arguments = [self._argument(a) for a in made_by.arguments if a is not None]
        finally:
            self._busy.discard(id(value))
        return f"{made_by.function}({', '.join(arguments)})"

    def _argument(self, value: Given) -> str:
        shown = str(self.value(value))
        return f"`{shown}`" if isinstance(value, str) and not _PLAIN.match(value) else shown

    @staticmethod
    def _add_units(shown: str, part: Expr) -> Given:
        """Return a text with its units, which plain numbers in it may lack."""
        return {"value": shown, "units": "" if part.dimension is None else si_text(part.dimension) or "1"}

    def _intermediate(self, part: Expr, names: Mapping[Expr, str]) -> Given:
        """Return the entry of a named expression for an intermediate value, or for a product with a hidden 1.

        The entry states units if the operands do not imply them.
        """
        alone = part.kind == "let" or part.data == (1, (1,))
        inside = part.args[0] if alone else part
        label = {"label": str(part.data)} if part.kind == "let" else {}
        hidden = part.dimension is not None and not (alone and part.dimension is inside.dimension)
        units = {"units": si_text(part.dimension) or "1"} if hidden and part.dimension else {}
        shown = self._text(inside, names)
        if part.kind == "product" and not units:  # a bare 1, whose dimension is not known
            return f"1*({shown})"
        return {"value": shown, **label, **units} if label or units else shown

    def _text(self, node: Expr, names: Mapping[Expr, str]) -> str:
        return text(node, names)

    def _quote(self, nodes: list[Expr], names: dict[Expr, str]) -> None:
        for s in symbols(*nodes):
            if s not in names and (
                s.data.role in ("acceleration", "variable") or not _PLAIN.match(s.data.name)
            ):
                names[s] = f"`{s.data.name}`"

    def _define(self, entry: Given, node: Expr) -> str:
        taken = self.system
        count = len(self.definitions) + 1
        while any(f"z{count}" in names for names in (
            taken.parameters, taken.bodies, taken.memories, taken.states, taken.loads, taken.definitions,
            taken.functions, self.definitions,
        )):  # fmt: skip
            count += 1
        name = f"z{count}"
        self.definitions[name] = entry
        self._names[node] = name
        return name

    def _table(self, table: Piecewise) -> None:
        """Add a lookup table to the file, under its own name.

        Expressions call the table, or its derivative NAME_dx.
        """
        if table.source is not table:
            if table.name in self.system.functions:
                raise ModelError(
                    f"an expression holds the derivative of table '{table.source.name}', which texts call "
                    f"'{table.name}', but a function has that name; give it another one"
                )
            table = table.source
        if arguments_of(table) is None:
            raise ModelError(
                f"an expression calls '{table.name}', which was not made as a table; use arm.Table"
            )
        known = self.tables.setdefault(table.name, table)
        if known != table:
            raise ModelError(f"two different tables are called '{table.name}'; give them names of their own")


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a), np.asarray(b))
    return type(a) is type(b) and a == b if isinstance(a, Expr) or isinstance(b, Expr) else bool(a == b)


def _hides_a_one(part: Expr) -> bool:
    """Return whether a product has a factor ±1 that its text would not show, and that is not a pure number.

    The factor has units, or its dimension is unknown.
    """
    return part.kind == "product" and abs(part.data[0]) == 1 and part.unit is not ONE
