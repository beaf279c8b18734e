"""Kinds of values in a text model: what each may be, in words for errors and as JSON schema for editors.

Texts of some kinds are written in the names of the model; those names change when a subsystem is included
under a prefix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]


class Kind:
    """A kind of value."""

    words: str

    def fits(self, value: Any) -> bool:
        """Whether a value is of this kind; what its texts mean is checked by whoever reads them."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """The kind as JSON schema."""
        raise NotImplementedError

    def renamed(self, value: Any, rename: Any) -> Any:
        """The value with the names in its texts changed."""
        return value


@dataclass(frozen=True)
class Plain(Kind):
    """A number, a flag, or a text of one's own words: nothing in it is a name of the model."""

    words: str
    types: tuple[type, ...]
    choices: tuple[str, ...] = ()

    def fits(self, value: Any) -> bool:
        if isinstance(value, bool) and bool not in self.types:
            return False
        return isinstance(value, self.types) and (not self.choices or value in self.choices)

    def schema(self) -> Schema:
        names = {bool: "boolean", int: "integer", float: "number", str: "string"}
        types = [names[t] for t in self.types if not (t is int and float in self.types)]
        made: Schema = {"type": types[0] if len(types) == 1 else types}
        return made | ({"enum": list(self.choices)} if self.choices else {})


@dataclass(frozen=True)
class Written(Kind):
    """A text in the model's names, or a number where ``number`` allows one."""

    words: str
    number: bool = True

    def fits(self, value: Any) -> bool:
        if isinstance(value, bool):
            return False
        return isinstance(value, str) or (self.number and isinstance(value, int | float))

    def schema(self) -> Schema:
        return {"type": ["number", "string"] if self.number else "string", "description": self.words}

    def renamed(self, value: Any, rename: Any) -> Any:
        return rename(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class ListOf(Kind):
    """Several values of one kind."""

    of: Kind
    count: int | None = None

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"a list of {self.count or 'values, each'} {'× ' if self.count else ''}{self.of.words}"

    def fits(self, value: Any) -> bool:
        right = isinstance(value, list) and self.count in (None, len(value))
        return right and all(self.of.fits(item) for item in value)

    def schema(self) -> Schema:
        made: Schema = {"type": "array", "items": self.of.schema()}
        return made | ({"minItems": self.count, "maxItems": self.count} if self.count else {})

    def renamed(self, value: Any, rename: Any) -> Any:
        return [self.of.renamed(item, rename) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Turned(Kind):
    """A sequence of axes and its angles, ["zx", 0.1, "tilt"]: the axes are no name of the model."""

    of: Kind
    words: str = 'axes and their angles such as ["zx", 0.1, "tilt"]'

    def fits(self, value: Any) -> bool:
        right = isinstance(value, list) and bool(value) and isinstance(value[0], str)
        return right and all(self.of.fits(item) for item in value[1:])

    def schema(self) -> Schema:
        return {
            "type": "array",
            "prefixItems": [{"type": "string"}],
            "items": self.of.schema(),
            "minItems": 1,
        }

    def renamed(self, value: Any, rename: Any) -> Any:
        return (
            [value[0], *(self.of.renamed(item, rename) for item in value[1:])] if self.fits(value) else value
        )


@dataclass(frozen=True)
class TableOf(Kind):
    """Values of one kind by name; ``keys`` tells whether the names are the model's own."""

    of: Kind
    keys: bool = True

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"a table of {self.of.words} by name"

    def fits(self, value: Any) -> bool:
        return isinstance(value, Mapping) and all(self.of.fits(item) for item in value.values())

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.of.schema()}

    def renamed(self, value: Any, rename: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        new = rename if self.keys else lambda key: key
        return {new(key): self.of.renamed(item, rename) for key, item in value.items()}


@dataclass(frozen=True)
class Either(Kind):
    """One of several kinds."""

    kinds: tuple[Kind, ...]
    called: str = ""

    @property
    def words(self) -> str:  # type: ignore[override]
        return self.called or ", or ".join(kind.words for kind in self.kinds)

    def fits(self, value: Any) -> bool:
        return any(kind.fits(value) for kind in self.kinds)

    def schema(self) -> Schema:
        return {"anyOf": [kind.schema() for kind in self.kinds]}

    def renamed(self, value: Any, rename: Any) -> Any:
        return next((k.renamed(value, rename) for k in self.kinds if k.fits(value)), value)


@dataclass(frozen=True)
class Form(Kind):
    """A table with known keys."""

    words: str
    fields: Mapping[str, Kind] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    def fits(self, value: Any) -> bool:
        return isinstance(value, Mapping) and not list(self.problems(value))

    def problems(self, value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """(key, what is wrong with it) of a table."""
        from armillary.errors import nearest

        for key, item in value.items():
            kind = self.fields.get(key)
            if kind is None:
                yield key, f"unknown key '{key}'{nearest(key, self.fields) or known(self.fields)}"
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

    def renamed(self, value: Any, rename: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {
            key: self.fields[key].renamed(item, rename) if key in self.fields else item
            for key, item in value.items()
        }


def known(keys: Any) -> str:
    """The end of a sentence about an unknown key: the ones there are."""
    return f"; there are {', '.join(keys)}"


def shown(value: Any, limit: int = 60) -> str:
    """A value in an error, short."""
    if isinstance(value, Mapping):
        return "a table"
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


NUMBER = Plain("a number", (int, float))
QUANTITY = Plain('a number, or a text with units such as "25 mm"', (int, float, str))
COUNT = Plain("a whole number", (int,))
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
    (NUMBERS, Form("an array in a file", {"file": PATH, "key": WORDS}, ("file",))),
    "an array of numbers, or { file, key }",
)


def choice(*values: str) -> Plain:
    """One of a few texts."""
    return Plain("one of " + ", ".join(f'"{v}"' for v in values), (str,), values)
