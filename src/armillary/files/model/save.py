"""``system.save``: the journal of a description as a text model, and the proof that it reads back the
same.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from armillary.algebra.arguments import file_path
from armillary.algebra.call_record import arguments_of
from armillary.algebra.expression import Expr, as_expr, symbol
from armillary.algebra.foreign import ForeignFunction
from armillary.algebra.tables import Piecewise
from armillary.algebra.units.dimension import LENGTH, SPEED
from armillary.atomic import replacing
from armillary.errors import ArmillaryError, ModelError
from armillary.files.model.arrays import part_arrays
from armillary.files.model.build import TextFunction
from armillary.files.model.check import FORMAT
from armillary.files.model.documents import FileError
from armillary.files.model.equality import differences
from armillary.files.model.load import load_text
from armillary.files.model.sections import LAYOUT, SECTIONS, Verb, verb_of
from armillary.files.model.values import Values
from armillary.model.atomic_verbs import nothing_stays
from armillary.model.body import Body
from armillary.model.flexible.part import FlexiblePart
from armillary.model.journal import Entry
from armillary.model.system import System
from armillary.toml_text import toml_text

_VERBS: dict[str, tuple[str, Verb]] = {
    verb.method: (section, verb) for section, verbs in SECTIONS.items() for verb in verbs
}
_HEADERS = {
    **dict.fromkeys((*SECTIONS, "include", "tables"), 2),
    **dict.fromkeys(
        ("functions", "expressions", "parameters", "gravity", "prescribe", "armature", "start", "inputs"), 1
    ),
}
_INLINE = 200  # numbers in a file beside the model where a flexible part has more


def save(system: System, path: str | os.PathLike[str]) -> None:
    """A text model from which ``arm.load`` makes the same system; large arrays go to a .npz file beside it.

    The file is read back before it takes its place: what a text cannot say is an error, and no file.
    """
    target = file_path(path, "the model", ModelError)
    if target.suffix.lower() != ".toml":
        raise ModelError(f"a text model is saved as .toml, not as '{target.name}'")
    calls = True
    if wrong := _lost(system, target, calls=True):
        # What a call made then may not be what it would make of the whole: total_energy() before gravity().
        calls = False
        if _lost(system, target, calls=False):
            raise ModelError(f"system '{system.name}' cannot be written as a text model: {wrong}")
    writing = Writing(system, target.stem, calls=calls, folder=target.resolve().parent)
    _write(target, toml_text(writing.document(), _HEADERS), writing.files)


def _lost(system: System, target: Path, *, calls: bool) -> str:
    """What of a description its text does not give back, read in another folder; "" where it gives back
    all.
    """
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / target.name
        try:
            writing = Writing(system, target.stem, calls=calls)
            _write(trial, toml_text(writing.document(), _HEADERS), writing.files)
            different = differences(system, load_text(trial, type(system), trust=True))
        except FileError as error:
            return error.message
        except ModelError as error:
            return str(error)
    return f"{different[0]} would not read back as it is" if different else ""


def _write(path: Path, written: str, arrays: Mapping[str, Mapping[str, Any]]) -> None:
    """A model and the arrays beside it: all files, or none."""
    with ExitStack() as files:
        files.enter_context(replacing(path)).write_text(written, encoding="utf-8")
        for name, content in arrays.items():
            plain: dict[str, Any] = {key: np.asarray(value, dtype=float) for key, value in content.items()}
            with files.enter_context(replacing(path.parent / name)).open("wb") as file:
                np.savez(file, **plain)


class Writing:
    """The tables of a text model under construction."""

    def __init__(self, system: System, stem: str, *, calls: bool = True, folder: Path | None = None) -> None:
        self.system, self.stem = system, stem
        self.folder = folder  # files below it are named from there, others by their whole path
        self.values = Values(system, calls=calls)
        self.data: dict[str, Any] = {}
        self.files: dict[str, dict[str, Any]] = {}

    def document(self) -> dict[str, Any]:
        """All tables, in the order of a file."""
        self._parameters()
        for entry in self.system.telling.entries:
            try:
                self._tell(entry)
            except ModelError as error:
                name = entry.arguments.get("name") or entry.owner
                raise ModelError(f"{entry.verb} '{name}' of system '{self.system.name}': {error}") from None
        self._nodes()
        for name, table in self.values.tables.items():
            self._table(name, table)
        if self.values.definitions:
            self.data["expressions"] = {**self.data.get("expressions", {}), **self.values.definitions}
        self.data |= {"armillary": FORMAT, "name": self.system.name, "units": self.system.units.name}
        if "bodies" in self.data:
            order = {body: i for i, body in enumerate(self.system.bodies)}
            self.data["bodies"] = dict(sorted(self.data["bodies"].items(), key=lambda e: _made(order, e[0])))
        for section in SECTIONS.keys() & self.data.keys():
            entries = self.data[section]
            self.data[section] = {name: _in_order(section, entry) for name, entry in entries.items()}
        return {key: self.data[key] for key in LAYOUT if key in self.data}

    def _file(self, path: Any) -> str:
        """A file by its name in the text."""
        place = Path(path).resolve()
        below = self.folder is not None and place.is_relative_to(self.folder)
        return place.relative_to(self.folder).as_posix() if below and self.folder else str(place)

    def _tell(self, entry: Entry) -> None:
        special = getattr(self, f"tell_{entry.verb}", None)
        if special is not None:
            special(entry)
        else:
            section, verb = _VERBS[entry.verb]
            name = self._name(entry, verb)
            if name in self._section(section):
                raise ModelError(f"two things in [{section}] would be called '{name}'; rename one of them")
            self._section(section)[name] = self._fields(verb, entry)

    def _section(self, name: str) -> dict[str, Any]:
        return self.data.setdefault(name, {})

    def _name(self, entry: Entry, verb: Verb) -> str:
        given = entry.arguments.get(verb.names)
        if isinstance(given, Body):
            return given.name
        if given is None:  # a constraint that was not named has the name that it was given
            first = entry.made[0] if isinstance(entry.made, tuple) else entry.made
            return first.name if entry.verb == "constrain" else first.name.split(" ")[0]
        return str(given)

    def _fields(self, verb: Verb, entry: Entry) -> dict[str, Any]:
        """The arguments that are not as they are by default, by their keys in the file."""
        signature = inspect.signature(getattr(type(self.system), verb.method)).parameters
        given = {k: v for k, v in entry.arguments.items() if k != verb.names and v is not None}
        if verb.method in ("close_loop", "close_joint"):
            ends = [given.pop("p"), given.pop("q")]
            given = {("p" if verb.method == "close_loop" else "between"): ends, **given}
        if verb.method == "event":  # one joint, or several
            one = {k: [v] for k, v in given.items() if k in ("lock", "unlock") and isinstance(v, str | Expr)}
            given |= one
        found: dict[str, Any] = {}
        for argument, value in given.items():
            known = signature.get(argument)
            if known is not None and known.default is not known.empty and _plainly(value, known.default):
                continue
            found[verb.key if argument == verb.argument and verb.key else argument] = self.values.value(value)
        return found

    # ------------------------------------------------------------ verbs of their own kind

    def _parameters(self) -> None:
        for name, node in self.system.parameters.items():
            if "." in name:  # of a body that was given none
                continue
            data = node.data
            table = {"value": data.default, "units": data.units, "about": data.about or None}
            self._section("parameters")[name] = {k: v for k, v in table.items() if v is not None}

    def tell_parameter(self, entry: Entry) -> None:
        """All parameters were told already, those that texts made too."""

    def tell_define(self, entry: Entry) -> None:
        given = entry.arguments
        kept = {k: v for k, v in given.items() if v is not None and k != "name" and (k, v) != ("label", "")}
        table = {key: self.values.value(v) for key, v in kept.items()}
        self._section("expressions")[given["name"]] = table if len(table) > 1 else table["value"]

    def tell_memory(self, entry: Entry) -> None:
        given = {k: v for k, v in entry.arguments.items() if v is not None and k != "name"}
        if not given.get("about"):
            given.pop("about", None)
        self._section("memory")[entry.arguments["name"]] = {k: self.values.value(v) for k, v in given.items()}

    def tell_update(self, entry: Entry) -> None:
        name = str(self.values.value(entry.arguments["memory"]))
        if name not in self._section("memory"):
            raise ModelError(f"memory '{name}' was made by another verb, so no text can renew it")
        memory = self._section("memory")[name]
        memory["update"] = self.values.value(entry.arguments["expression"])
        if entry.arguments.get("every") is not None:
            memory["every"] = self.values.value(entry.arguments["every"])

    def tell_rate(self, entry: Entry) -> None:
        name = str(self.values.value(entry.arguments["state"]))
        self._section("states")[name]["rate"] = self.values.value(entry.arguments["expression"])

    def tell_function(self, entry: Entry) -> None:
        name, function = entry.arguments["name"], entry.arguments["function"]
        if isinstance(function, Piecewise):
            self._table(name, function)
        elif isinstance(function, TextFunction):
            self._section("functions")[name] = {"arguments": function.arguments, "value": function.given}
        elif isinstance(function, ForeignFunction):
            raise ModelError(
                "a function of foreign machine code is an address in this process, which no file can hold"
            )
        else:
            places = [
                p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD
            ]
            if any(p.kind is p.VAR_POSITIONAL for p in places):
                raise ModelError("it takes any number of arguments, which a text cannot say")
            arguments = [symbol(p.name) for p in places]
            names = [p.name for p in places]
            self._section("functions")[name] = {
                "arguments": names,
                "value": self._traced(function, arguments),
            }

    def _traced(self, function: Any, arguments: list[Expr]) -> Any:
        """The text of a Python function's value, in the names of its arguments."""
        # A function may use the system that it was described with, even where a snapshot of that is saved.
        with nothing_stays(self.system.identity.system or self.system) as changed:
            try:
                value = function(*arguments)
            except ArmillaryError as error:
                raise ModelError(
                    f"its function cannot be called again, to be written down: {error}"
                ) from None
        if changed:
            raise ModelError(
                "its function makes memories of its own; make them before, and name them in texts"
            )
        return self.values.expression(as_expr(value), {s: s.data.name for s in arguments})

    def _table(self, name: str, table: Piecewise) -> None:
        said = (arguments_of(table) or {}).items()
        given = {k: v for k, v in said if k != "name" and not (isinstance(v, str) and v == "")}
        numbers = {k: np.asarray(v, dtype=float).tolist() if k in "xyz" else v for k, v in given.items()}
        label = {"label": table.name} if table.name != name else {}
        self._section("tables").setdefault(name, {**numbers, **label})

    def tell_gravity(self, entry: Entry) -> None:
        field = {key: self.values.value(value) for key, value in entry.arguments.items()}
        known = self.data.get("gravity")
        self.data["gravity"] = (
            field if known is None else [*(known if isinstance(known, list) else [known]), field]
        )

    def tell_strut(self, entry: Entry) -> None:
        given = dict(entry.arguments)
        name, law = given["name"], given["law"]
        if callable(law) and not isinstance(law, Expr):
            given["law"] = self._traced(law, [symbol("x", dimension=LENGTH), symbol("v", dimension=SPEED)])
        self._section("loads")[name] = self._fields(_VERBS["strut"][1], Entry("strut", given))

    def tell_output(self, entry: Entry) -> None:
        """An output, with its units where only the numbers in its expression told them."""
        given = dict(entry.arguments)
        if not self.values.calls and isinstance(given["expression"], Expr):
            given["units"] = self.system.outputs[given["name"]].units or None
        section, verb = _VERBS["output"]
        self._section(section)[given["name"]] = self._fields(verb, Entry("output", given))

    def tell_fmu(self, entry: Entry) -> None:
        """An FMU by the path of its file."""
        source = entry.arguments["source"]
        path = self._file(getattr(source, "path", source))
        section, verb = _VERBS["fmu"]
        given = {**entry.arguments, "source": path}
        self._section(section)[given["name"]] = self._fields(verb, Entry("fmu", given))

    def tell_prescribe(self, entry: Entry) -> None:
        key = str(self.values.value(entry.arguments["variable"]))
        self._section("prescribe")[key] = self.values.value(entry.arguments["value"])

    def tell_armature(self, entry: Entry) -> None:
        key = str(self.values.value(entry.arguments["coordinate"]))
        self._section("armature")[key] = self.values.value(entry.arguments["value"])

    def tell_start(self, entry: Entry) -> None:
        self._section("start").update(self.values.value(entry.arguments["values"]))

    def tell_lock(self, entry: Entry) -> None:
        self._extend("lock", entry.arguments.get("variables", ()))

    def tell_small(self, entry: Entry) -> None:
        self._extend("small", entry.arguments.get("things", ()))

    def tell_large(self, entry: Entry) -> None:
        self._extend("large", entry.arguments.get("things", ()))

    def _extend(self, key: str, things: Iterable[Any]) -> None:
        self.data.setdefault(key, []).extend(self.values.value(list(things)))

    # ------------------------------------------------------------ bodies

    def tell_point(self, entry: Entry) -> None:
        if entry.made.name not in self._body(entry.owner).get("points", {}):
            where = entry.arguments.get("where", ())
            if len(where) == 1 and isinstance(where[0], str):
                return  # a known point, by name
            place = where if len(where) == 3 else where[-1]
            self._body(entry.owner).setdefault("points", {})[entry.made.name] = self.values.value(list(place))

    def _body(self, name: str) -> dict[str, Any]:
        return self._section("bodies").setdefault(name, {})

    def tell_flexible(self, entry: Entry) -> None:
        given = {k: v for k, v in entry.arguments.items() if v is not None}
        source = given.pop("source", None)
        table: dict[str, Any] = {}
        if isinstance(source, FlexiblePart):
            file = f"{self.stem}.{entry.owner}.npz"
            asked = self.system.flexibles[entry.owner].places.values()
            self.files[file] = part_arrays(source, {node.name: node for node in asked})
            table["part"] = file
        elif source is not None:
            table[type(source).__name__.lower()] = self.values.value(source)
        for key, value in given.items():
            table[key] = self._array(entry.owner, key, value)
        self._body(entry.owner)["flexible"] = table

    def _array(self, body: str, key: str, value: Any) -> Any:
        """A value as it is, or its place in a file where it has many numbers."""
        if hasattr(value, "toarray"):
            value = value.toarray()
        if isinstance(value, str | Path) and key in ("mass_matrix", "stiffness_matrix"):
            return self._file(value)
        if key in ("coupling", "complex_shapes"):
            return [self._array(body, f"{key}{i}", item) for i, item in enumerate(value)]
        plain = not isinstance(value, str | Mapping) and key not in ("fixed", "interface")
        if plain and np.size(value) > _INLINE:
            file = f"{self.stem}.{body}.npz"
            self.files.setdefault(file, {})[key] = np.asarray(value, dtype=float)
            return {"file": file, "key": key}
        return self.values.value(value)

    def _nodes(self) -> None:
        for body, flex in self.system.flexibles.items():
            if flex.nodes:
                # In the file of a ready part every node has a name.
                ready = "part" in self._body(body).get("flexible", {})
                asked = [n.name for n in flex.places.values()] if ready else list(flex.nodes)
                self._body(body)["nodes"] = [list(n) if isinstance(n, tuple) else n for n in asked]


def _made(order: Mapping[str, int], name: str) -> tuple[int, int]:
    """When the body of an entry was made, or the first of a gyro's, before what is added to that one."""
    if name in order:
        return order[name], len(name)
    first = next((body for body in (f"{name}_gimbal", f"{name}_outer") if body in order), "")
    return order.get(first, -1), len(name)


def _in_order(section: str, entry: dict[str, Any]) -> dict[str, Any]:
    """An entry with its keys in the order of the reference."""
    verb = verb_of(section, entry)
    keys = [] if verb is None else [verb.key, *verb.fields, *verb.extra]
    return {key: entry[key] for key in dict.fromkeys([*keys, *entry]) if key in entry}


def _plainly(value: Any, default: Any) -> bool:
    """Whether a value is the default itself; an expression that equals a number is not."""
    plain = (int, float, str, bool, tuple, type(None))
    if not isinstance(value, plain) or isinstance(value, Expr):
        return False
    if isinstance(value, tuple) and any(isinstance(item, Expr) for item in value):
        return False
    return type(value) is type(default) and value == default
