"""Kinds of values in a text model, and the types of arguments with such values.

A kind states which values are allowed, in words for errors and as JSON schema for editors. Texts of some
kinds contain names of the model. These names change when the file is included in another model under a
prefix.

The types at the end of this file combine the Python type of an argument with the kind of its value in a text
model. Arguments of verbs and objects are annotated with them, or with ``Annotated[type, KIND]``. Readers and
writers of text models find the kinds in these annotations (``argument_kinds``), so the signature is the only
list of arguments.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections import ChainMap, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Annotated, SupportsFloat, TypeAlias, get_args, get_type_hints

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.units import Dimension
from armillary.algebra.vectors import Vector
from armillary.errors import shown, suggestion
from armillary.untyped import AnyFunction, DataMapping, DataTable, Given

Schema = DataTable


class Kind:
    """A kind of value."""

    words: str

    def fits(self, value: object) -> bool:
        """Return whether a value is of this kind; the meaning of its texts is checked when they are read."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """Return the kind as JSON schema."""
        raise NotImplementedError

    def rename_texts(self, value: object, rename: object) -> Given:
        """Return the value with the names in its texts changed."""
        return value

    def python(self, value: object) -> Given:
        """Return the Python value for a value in a file."""
        return tuples(value)


class Plain(Kind):
    """A number, a flag, or a text in the user's own words, which contains no names of the model."""

    def __init__(self, words: str, types: tuple[type, ...], choices: tuple[str, ...] = ()) -> None:
        self.words, self.types, self.choices = words, types, choices

    def fits(self, value: object) -> bool:
        if isinstance(value, bool) and bool not in self.types:
            return False
        return isinstance(value, self.types) and (not self.choices or value in self.choices)

    def schema(self) -> Schema:
        names = {bool: "boolean", int: "integer", float: "number", str: "string"}
        types = [names[t] for t in self.types if not (t is int and float in self.types)]
        made: Schema = {"type": types[0] if len(types) == 1 else types}
        return made | ({"enum": list(self.choices)} if self.choices else {})


class Described(Kind):
    """A kind with a description, examples and bounds in the words of JSON schema, for editors."""

    def __init__(self, of: Kind, about: str, examples: Sequence[Given] = (), **bounds: object) -> None:
        self.of, self.about, self.examples, self.bounds = of, about, examples, bounds
        self.words = of.words

    def fits(self, value: object) -> bool:
        return self.of.fits(value)

    def schema(self) -> Schema:
        examples = {"examples": list(self.examples)} if self.examples else {}
        return {**self.of.schema(), "description": self.about, **examples, **self.bounds}


class Tested(Kind):
    """Values that pass a test, ``fits``; words and a JSON schema describe these values."""

    def __init__(self, words: str, fits: Callable[[Given], bool], schema: Schema) -> None:
        self.words, self._fits, self._schema = words, fits, schema

    def fits(self, value: object) -> bool:
        return self._fits(value)

    def schema(self) -> Schema:
        return dict(self._schema)


def whole_number(least: int) -> Tested:
    """Return the kind of whole numbers with a lower bound."""

    def fits(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= least

    return Tested(f"a whole number, at least {least}", fits, {"type": "integer", "minimum": least})


class Written(Kind):
    """A text with names of the model, or a number if ``number`` allows one.

    ``variables`` are names that have a meaning only in this text, such as the variables of a law, with their
    dimensions. In Python a function of these variables may replace the text.
    """

    def __init__(self, words: str, *, number: bool = True, **variables: Dimension) -> None:
        self.words, self.number, self.variables = words, number, variables

    def fits(self, value: object) -> bool:
        if isinstance(value, bool):
            return False
        return isinstance(value, str) or (self.number and isinstance(value, int | float))

    def schema(self) -> Schema:
        return {"type": ["number", "string"] if self.number else "string", "description": self.words}

    def rename_texts(self, value: Given, rename: Given) -> Given:
        return rename(value) if isinstance(value, str) else value


class ListOf(Kind):
    """Several values of one kind."""

    def __init__(self, of: Kind, count: int | None = None) -> None:
        self.of, self.count = of, count

    @property
    # mypy: a property overrides the attribute of other kinds.
    def words(self) -> str:  # type: ignore[override]
        return f"a list of {self.count or 'values, each'} {'× ' if self.count else ''}{self.of.words}"

    def fits(self, value: Given) -> bool:
        right = isinstance(value, list) and self.count in (None, len(value))
        return right and all(self.of.fits(item) for item in value)

    def schema(self) -> Schema:
        made: Schema = {"type": "array", "items": self.of.schema()}
        return made | ({"minItems": self.count, "maxItems": self.count} if self.count else {})

    def rename_texts(self, value: object, rename: object) -> Given:
        return [self.of.rename_texts(item, rename) for item in value] if isinstance(value, list) else value


class Turned(Kind):
    """A sequence of axes with its angles, ["zx", 0.1, "tilt"]; the axes are not names of the model."""

    words = 'axes and their angles such as ["zx", 0.1, "tilt"]'

    def __init__(self, of: Kind) -> None:
        self.of = of

    def fits(self, value: Given) -> bool:
        right = isinstance(value, list) and bool(value) and isinstance(value[0], str)
        return right and all(self.of.fits(item) for item in value[1:])

    def schema(self) -> Schema:
        return {
            "type": "array",
            "prefixItems": [{"type": "string"}],
            "items": self.of.schema(),
            "minItems": 1,
        }

    def rename_texts(self, value: Given, rename: Given) -> Given:
        return (
            [value[0], *(self.of.rename_texts(item, rename) for item in value[1:])]
            if self.fits(value)
            else value
        )


class TableOf(Kind):
    """Values of one kind by name; ``keys`` states whether the names are names of the model."""

    def __init__(self, of: Kind, keys: bool = True) -> None:
        self.of, self.keys = of, keys

    @property
    # mypy: a property in place of the attribute of other kinds.
    def words(self) -> str:  # type: ignore[override]
        return f"a table of {self.of.words} by name"

    def fits(self, value: object) -> bool:
        return isinstance(value, Mapping) and all(self.of.fits(item) for item in value.values())

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.of.schema()}

    def rename_texts(self, value: Given, rename: Given) -> Given:
        if not isinstance(value, Mapping):
            return value
        new = rename if self.keys else lambda key: key
        return {new(key): self.of.rename_texts(item, rename) for key, item in value.items()}


class Either(Kind):
    """One of several kinds."""

    def __init__(self, kinds: tuple[Kind, ...], called: str = "") -> None:
        self.kinds, self.called = kinds, called

    @property
    # mypy: a property in place of the attribute of other kinds.
    def words(self) -> str:  # type: ignore[override]
        return self.called or ", or ".join(kind.words for kind in self.kinds)

    def fits(self, value: object) -> bool:
        return any(kind.fits(value) for kind in self.kinds)

    def schema(self) -> Schema:
        return {"anyOf": [kind.schema() for kind in self.kinds]}

    def rename_texts(self, value: object, rename: object) -> Given:
        return next((k.rename_texts(value, rename) for k in self.kinds if k.fits(value)), value)

    def python(self, value: object) -> Given:
        return next((k.python(value) for k in self.kinds if k.fits(value)), value)


class KeyedTable(Kind):
    """A table with known keys."""

    def __init__(self, words: str, fields: Mapping[str, Kind], needs: tuple[str, ...] = ()) -> None:
        self.words, self.fields, self.needs = words, fields, needs

    def fits(self, value: object) -> bool:
        return isinstance(value, Mapping) and not list(self.problems(value))

    def problems(self, value: DataMapping) -> Iterator[tuple[str, str]]:
        """Yield (key, fault) for each fault of a table."""
        for key, item in value.items():
            kind = self.fields.get(key)
            if kind is None:
                yield key, f"unknown key '{key}'{suggestion(key, self.fields)}"
            elif not kind.fits(item):
                yield key, f"'{key}' must be {kind.words}, not {shown(item)}"
        for key in self.needs:
            if key not in value:
                yield "", f"'{key}' is missing: {self.fields[key].words}"

    def schema(self) -> Schema:
        made: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": {key: kind.schema() for key, kind in self.fields.items()},
        }
        return made | ({"required": list(self.needs)} if self.needs else {})

    def rename_texts(self, value: object, rename: object) -> Given:
        if not isinstance(value, Mapping):
            return value
        return {
            key: self.fields[key].rename_texts(item, rename) if key in self.fields else item
            for key, item in value.items()
        }


def argument_kinds(function: AnyFunction) -> dict[str, Kind]:
    """Return the kinds in the annotations of a function or class, by argument."""
    own = getattr(inspect.unwrap(function), "__globals__", None) or vars(sys.modules[function.__module__])
    # Names that are imported only for type checkers are unknown here; they count as ``Given``, with no kind.
    names = ChainMap(own, vars(builtins), defaultdict(lambda: Given))
    found: dict[str, Kind] = {}
    given = {p.name: p.annotation for p in inspect.signature(function).parameters.values()}
    hints = get_type_hints(SimpleNamespace(__annotations__=given), {}, names, include_extras=True)
    for name, meant in hints.items():
        for part in (meant, *get_args(meant)):  # Words, or Words | None
            for mark in getattr(part, "__metadata__", ()):
                found[name] = mark
    return found


class ObjectForm:
    """The form of an object, such as a joint, as a table in a text model.

    The key ``key`` identifies the object, which ``make`` makes; the value of this key is the argument
    ``argument`` of ``make``. The other keys are the other arguments of ``make``, with the kinds in its
    annotations.

    If ``argument`` is None, the argument has the name of the key; if it is "", ``make`` has no arguments
    (``fixed = true``). With ``spread``, the value of the key is a list of all arguments that have no default,
    in order. Arguments in ``without`` cannot be keys.
    """

    def __init__(
        self,
        key: str,
        make: AnyFunction,
        argument: str | None = None,
        *,
        spread: bool = False,
        without: tuple[str, ...] = (),
    ) -> None:
        self.key, self.make, self.argument, self.spread, self.without = key, make, argument, spread, without

    @cached_property
    def fields(self) -> dict[str, Kind]:
        """The kind of value of each key."""
        if self.argument == "":
            return {self.key: FLAG}
        kinds = {name: kind for name, kind in argument_kinds(self.make).items() if name not in self.without}
        if self.spread:
            defaults = self.defaults()
            listed = [kinds.pop(name) for name in [*kinds] if name not in defaults]
            return {self.key: ListOf(listed[0], len(listed)) if len(listed) > 1 else listed[0], **kinds}
        return {self.key if name == self.argument else name: kind for name, kind in kinds.items()}

    @property
    def table(self) -> KeyedTable:
        """The table that describes the object."""
        return KeyedTable(f"a table with '{self.key}'", self.fields, (self.key, *self._needed_keys()))

    def _needed_keys(self) -> list[str]:
        """Return the keys of arguments that have no default."""
        if self.argument is not None or self.spread:
            return []
        parameters = inspect.signature(self.make).parameters.values()
        needed = [p.name for p in parameters if p.default is p.empty]
        return [name for name in needed if name in self.fields and name != self.key]

    def arguments(self, table: DataMapping) -> tuple[list[Given], DataTable]:
        """Return the arguments of ``make`` from a table."""
        rest = {key: value for key, value in table.items() if key != self.key}
        if self.spread:
            given = table[self.key]
            return (given if isinstance(given, list) else [given]), rest
        if self.argument == "" or table[self.key] is True:  # free = true: all arguments have their defaults
            return [], rest
        return [], {self.argument or self.key: table[self.key], **rest}

    def defaults(self) -> DataTable:
        """Return the defaults of the object's arguments, by argument."""
        parameters = inspect.signature(self.make).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}


class OneOf(Either):
    """A table that describes one of several objects."""

    def __init__(self, forms: Sequence[ObjectForm]) -> None:
        self.forms = forms
        self.called = f"a table with one of the keys {', '.join(form.key for form in forms)}"

    @cached_property
    # mypy: a property overrides the attribute.
    def kinds(self) -> tuple[Kind, ...]:  # type: ignore[override]
        return tuple(form.table for form in self.forms)

    def python(self, value: Given) -> Given:
        """Return the object that a table describes, with tuples for the lists in the table."""
        form = next(m for m in self.forms if m.table.fits(value))
        args, options = form.arguments(value)
        return form.make(*map(tuples, args), **{key: tuples(item) for key, item in options.items()})


class ObjectName(Plain):
    """An object that needs no arguments, given by its key as a text in place of a table, such as "fixed"."""

    def __init__(self, forms: Sequence[ObjectForm], *keys: str) -> None:
        plain = choice(*keys)
        super().__init__(plain.words, plain.types, plain.choices)
        self.forms = forms

    def python(self, value: object) -> Given:
        return next(m for m in self.forms if m.key == value).make()


def tuples(value: object) -> Given:
    """Return a value with its lists, also nested ones, converted to tuples."""
    return tuple(tuples(item) for item in value) if isinstance(value, list) else value


NUMBER = Plain("a number", (int, float))
QUANTITY = Plain('a number, or a text with units such as "25 mm"', (int, float, str))
COUNT = Plain("a whole number", (int,))
ANY_TABLE = Tested("a table", lambda value: isinstance(value, Mapping), {"type": "object"})
FLAG = Plain("true or false", (bool,))
WORDS = Plain("a text", (str,))
UNITS = Plain('units such as "N*m/rad"', (str,))
PATH = Plain("the name of a file", (str,))
EXPRESSION = Written("an expression")
VECTOR = Written('a vector such as "A.x" or "-ground.y"', number=False)
POINT = Written('a point such as "A.com" or "ground.origin"', number=False)
BODY = Written("the name of a body", number=False)
NAME = Written("the name of a variable", number=False)
TRIPLE = ListOf(EXPRESSION, 3)
MATRIX = ListOf(TRIPLE, 3)
NUMBERS: Kind = Either(
    (NUMBER, ListOf(NUMBER), ListOf(ListOf(NUMBER)), ListOf(ListOf(ListOf(NUMBER)))), "an array of numbers"
)
ARRAY = Either(
    (NUMBERS, KeyedTable("an array in a file", {"file": PATH, "key": WORDS}, ("file",))),
    "an array of numbers, or { file, key }",
)


def choice(*values: str) -> Plain:
    """Return the kind of texts that are one of these values."""
    return Plain("one of " + ", ".join(f'"{v}"' for v in values), (str,), values)


AXIS = Either((choice("x", "y", "z", "-x", "-y", "-z"), TRIPLE))


Number = Annotated[float, NUMBER]
Count = Annotated[int, COUNT]
Flag = Annotated[bool, FLAG]
Words = Annotated[str, WORDS]
UnitText = Annotated[str, UNITS]
# A text, or the value that the text means. Quantities of Pint have ``__float__``, too.
GivenScalar: TypeAlias = Expr | SupportsFloat | str
GivenTriple: TypeAlias = Sequence[GivenScalar] | np.ndarray
GivenMatrix: TypeAlias = Sequence[GivenTriple] | np.ndarray
ExpressionLike = Annotated[GivenScalar, EXPRESSION]
ExpressionsLike = Annotated[Sequence[GivenScalar], ListOf(EXPRESSION)]
VectorLike = Annotated[Vector | str, VECTOR]
VariableLike = Annotated[Expr | str, NAME]
AxisLike = Annotated[str | GivenTriple, AXIS]
TripleLike = Annotated[GivenTriple, TRIPLE]
OrientationLike = Annotated[GivenMatrix | Sequence[GivenScalar], Either((MATRIX, Turned(EXPRESSION)))]
GivenValues: TypeAlias = (
    Mapping[str, GivenScalar] | Mapping[Expr, GivenScalar] | Mapping[Expr | str, GivenScalar]
)
