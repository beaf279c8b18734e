"""Systems as text models: saved files, which are read back before they are kept, and pickles.

A pickle of a system holds the files of its text model: only data, no code.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from armillary.algebra.arguments import arguments_of, file_path
from armillary.algebra.block_functions import ForeignFunction
from armillary.algebra.expression import Expr, as_expr, symbol
from armillary.algebra.tables import Piecewise
from armillary.errors import ArmillaryError, ModelError
from armillary.files.model.build import TextFunction, part_arrays
from armillary.files.model.documents import (
    FORMAT,
    LAYOUT,
    SECTIONS,
    FileError,
    entry_form,
    entry_kind,
    verb_of,
)
from armillary.files.model.load import load_text
from armillary.files.model.values import Values
from armillary.limited_files import replacing
from armillary.model.bodies.body import Body
from armillary.model.description import Description, SystemType
from armillary.model.flexible.part import FlexiblePart
from armillary.model.reading.kinds import PATH, Kind, ListOf, Written
from armillary.model.snapshot import find_differences
from armillary.model.verbs import (
    VERBS,
    EntryForm,
    LaterForm,
    ListForm,
    PairForm,
    Record,
    TableForm,
    Verb,
    undo_always,
)
from armillary.text_tables import toml_text
from armillary.untyped import DataTable, Given

_HEADERS = {
    **dict.fromkeys((*SECTIONS, "include", "tables"), 2),
    **dict.fromkeys(
        ("functions", "expressions", "parameters", "gravity", "prescribe", "armature", "start", "inputs"), 1
    ),
}
_INLINE = 200  # arrays of a flexible part with more numbers go to a file beside the model


def save(system: Description, path: str | os.PathLike[str]) -> None:
    """Write a text model from which ``arm.load`` makes the same system; large arrays go to a .npz file.

    The file is read back before it takes its place; if something would be lost, no file is written and an
    error is raised.
    """
    target = file_path(path, "the model", ModelError)
    if target.suffix.lower() != ".toml":
        raise ModelError(f"a text model is saved as .toml, not as '{target.name}'")
    calls = True
    if wrong := _find_loss(system, target, calls=True):
        # A recorded call, such as total_energy() before gravity(), can have another result in the text model.
        calls = False
        if _find_loss(system, target, calls=False):
            raise ModelError(f"system '{system.name}' cannot be written as a text model: {wrong}")
    writing = Writing(system, target.stem, calls=calls, folder=target.resolve().parent)
    _write_files(target, toml_text(writing.document(), _HEADERS), writing.files)


def _find_loss(system: Description, target: Path, *, calls: bool) -> str:
    """Return the part of a description that its text loses when read in another folder; "" if none."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / target.name
        try:
            writing = Writing(system, target.stem, calls=calls)
            _write_files(trial, toml_text(writing.document(), _HEADERS), writing.files)
            different = find_differences(system, load_text(trial, type(system), trust=True))
        except FileError as error:
            return error.message
        except ModelError as error:
            return str(error)
    return f"{different[0]} would not be read back unchanged" if different else ""


def _write_files(path: Path, written: str, arrays: Mapping[str, Mapping[str, object]]) -> None:
    """Write a model and the arrays beside it: all files, or none."""
    with ExitStack() as files:
        files.enter_context(replacing(path)).write_text(written, encoding="utf-8")
        for name, content in arrays.items():
            plain: DataTable = {key: np.asarray(value, dtype=float) for key, value in content.items()}
            with files.enter_context(replacing(path.parent / name)).open("wb") as file:
                np.savez(file, **plain)


class Writing:
    """The tables of a text model under construction."""

    def __init__(
        self, system: Description, stem: str, *, calls: bool = True, folder: Path | None = None
    ) -> None:
        self.system, self.stem = system, stem
        self.folder = folder  # files below this folder are named relative to it, others by absolute paths
        self.values = Values(system, calls=calls, file=self._file)
        self.data: DataTable = {}
        self.files: dict[str, DataTable] = {}
        self._written_elsewhere: dict[str, Callable[[Record], None]] = {
            "parameter": lambda _: None,  # _parameters writes all of them, also parameters from texts
            "define": self._definition,
            "function": self._function,
            "point": self._point,
            "flexible": self._flexible,
        }

    def document(self) -> DataTable:
        """Return all tables, in the order of a file."""
        self._parameters()
        for record in self.system.recorder.records:
            try:
                self._write_record(record)
            except ModelError as error:
                name = record.arguments.get("name") or record.owner
                raise ModelError(f"{record.verb} '{name}' of system '{self.system.name}': {error}") from None
        self._nodes()
        for name, table in self.values.tables.items():
            self._table(name, table)
        if self.values.definitions:
            self.data["expressions"] = {**self.data.get("expressions", {}), **self.values.definitions}
        self.data |= {"armillary": FORMAT, "name": self.system.name, "units": self.system.units.name}
        if "bodies" in self.data:
            order = {body: i for i, body in enumerate(self.system.bodies)}
            self.data["bodies"] = dict(
                sorted(self.data["bodies"].items(), key=lambda e: _creation_order(order, e[0]))
            )
        for section in set(SECTIONS) & self.data.keys():
            entries = self.data[section]
            self.data[section] = {name: _in_order(section, entry) for name, entry in entries.items()}
        return {key: self.data[key] for key in LAYOUT if key in self.data}

    def _file(self, path: Given) -> str:
        """Return the name by which the text names a file."""
        place = Path(path).resolve()
        below = self.folder is not None and place.is_relative_to(self.folder)
        return place.relative_to(self.folder).as_posix() if below and self.folder else str(place)

    def _write_record(self, record: Record) -> None:
        verb = VERBS[record.verb]
        form, arguments = verb.form, record.arguments
        if isinstance(form, EntryForm):
            name = _entry_name(record, form)
            if name in self._section(form.section):
                raise ModelError(
                    f"two things in [{form.section}] would be called '{name}'; rename one of them"
                )
            self._section(form.section)[name] = self._entry(verb, form, record)
        elif isinstance(form, LaterForm):
            name = str(self.values.value(arguments[form.owner]))
            if name not in self._section(form.section):
                raise ModelError(f"{form.owner} '{name}' was made by another verb, so no text can change it")
            written = {key: arguments.get(argument) for key, argument in form.arguments.items()}
            self._section(form.section)[name] |= self.values.value(written)
        elif isinstance(form, PairForm):
            first, *rest = (self.values.value(arguments[argument]) for argument in verb.parameters())
            self._section(form.section).update({str(first): rest[0]} if rest else first)
        elif isinstance(form, ListForm):
            (argument,) = verb.parameters()
            things = self.values.value(list(arguments.get(argument, ())))
            self.data.setdefault(form.section, []).extend(things)
        elif isinstance(form, TableForm):
            known = self.data.get(form.section)
            table = {key: self.values.value(value) for key, value in arguments.items()}
            several = known if isinstance(known, list) else [known]
            self.data[form.section] = table if known is None else [*several, table]
        else:
            self._written_elsewhere[record.verb](record)

    def _section(self, name: str) -> DataTable:
        found: DataTable = self.data.setdefault(name, {})
        return found

    def _entry(self, verb: Verb, form: EntryForm, record: Record) -> DataTable:
        """Return the arguments that differ from their defaults, by their keys in the file."""
        parameters = verb.parameters()
        given = {k: v for k, v in record.arguments.items() if v is not None}
        if verb.name == "output" and not self.values.calls and isinstance(given["expression"], Expr):
            # The text of the expression may lose the units that its numbers had.
            given["units"] = self.system.outputs[given["name"]].units or None
        entry: DataTable = {}
        for key, kind in verb.kinds.items():
            argument = form.arguments.get(key, key)
            if isinstance(argument, tuple):
                entry[key] = self.values.value([given[name] for name in argument])
            elif (value := given.get(argument)) is not None:
                default = parameters[argument].default
                drop = _is_default(value, default) and (not form.writes_defaults or value == "")
                if not drop:
                    entry[key] = self._of_kind(kind, value)
        return entry

    def _of_kind(self, kind: Kind, value: object) -> Given:
        """Return a value of an argument as a value of the file."""
        if kind is PATH:
            return self._file(getattr(value, "path", value))
        if isinstance(kind, Written) and kind.variables and callable(value) and not isinstance(value, Expr):
            return self._trace_function(value, [symbol(n, dimension=d) for n, d in kind.variables.items()])
        if isinstance(kind, ListOf) and isinstance(value, str | Expr):  # one item instead of a list
            return self.values.value([value])
        return self.values.value(value)

    # ------------------------------------------------------------ records without an entry

    def _parameters(self) -> None:
        for name, node in self.system.parameters.items():
            if "." in name:  # for a mass or an inertia that a body was not given
                continue
            data = node.data
            table = {"value": data.default, "units": data.units, "about": data.about or None}
            self._section("parameters")[name] = {k: v for k, v in table.items() if v is not None}

    def _definition(self, record: Record) -> None:
        given = record.arguments
        kept = {k: v for k, v in given.items() if v is not None and k != "name" and (k, v) != ("label", "")}
        table = {key: self.values.value(v) for key, v in kept.items()}
        self._section("expressions")[given["name"]] = table if len(table) > 1 else table["value"]

    def _function(self, record: Record) -> None:
        name, function = record.arguments["name"], record.arguments["function"]
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
                raise ModelError("it takes any number of arguments, which a text cannot express")
            arguments = [symbol(p.name) for p in places]
            names = [p.name for p in places]
            self._section("functions")[name] = {
                "arguments": names,
                "value": self._trace_function(function, arguments),
            }

    def _trace_function(self, function: Given, arguments: list[Expr]) -> Given:
        """Return the text of a Python function's value, in the names of its arguments."""
        # The function may use the system with which it was described, even if a snapshot of this is saved.
        with undo_always(self.system.identity.system or self.system) as changed:
            try:
                value = function(*arguments)
            except ArmillaryError as error:
                raise ModelError(
                    f"its function cannot be called again, to be written down: {error}"
                ) from None
        if changed:
            raise ModelError(
                "its function adds memory to the system; add the memory before, and name it in texts"
            )
        return self.values.expression(as_expr(value), {s: s.data.name for s in arguments})

    def _table(self, name: str, table: Piecewise) -> None:
        recorded = (arguments_of(table) or {}).items()
        given = {k: v for k, v in recorded if k != "name" and not (isinstance(v, str) and v == "")}
        numbers = {k: np.asarray(v, dtype=float).tolist() if k in "xyz" else v for k, v in given.items()}
        label = {"label": table.name} if table.name != name else {}
        self._section("tables").setdefault(name, {**numbers, **label})

    # ------------------------------------------------------------ bodies

    def _point(self, record: Record) -> None:
        if record.result.name not in self._body(record.owner).get("points", {}):
            where = record.arguments.get("where", ())
            if len(where) == 1 and isinstance(where[0], str):
                return  # the argument names a point that exists
            place = where if len(where) == 3 else where[-1]
            points = self._body(record.owner).setdefault("points", {})
            points[record.result.name] = self.values.value(list(place))

    def _body(self, name: str) -> DataTable:
        found: DataTable = self._section("bodies").setdefault(name, {})
        return found

    def _flexible(self, record: Record) -> None:
        given = {k: v for k, v in record.arguments.items() if v is not None}
        source = given.pop("source", None)
        table: DataTable = {}
        if isinstance(source, FlexiblePart):
            file = f"{self.stem}.{record.owner}.npz"
            used = self.system.flexibles[record.owner].places.values()
            self.files[file] = part_arrays(source, {node.name: node for node in used})
            table["part"] = file
        elif source is not None:
            table[type(source).__name__.lower()] = self.values.value(source)
        for key, value in given.items():
            table[key] = self._array(record.owner, key, value)
        self._body(record.owner)["flexible"] = table

    def _array(self, body: str, key: str, value: Given) -> Given:
        """Return a value for the text; one with many numbers goes to a file, and the text refers to it."""
        if hasattr(value, "toarray"):  # a sparse matrix, of one of SciPy's classes
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
                # In the file of a `FlexiblePart` every node has a name.
                ready = "part" in self._body(body).get("flexible", {})
                used = [n.name for n in flex.places.values()] if ready else list(flex.nodes)
                self._body(body)["nodes"] = [list(n) if isinstance(n, tuple) else n for n in used]


def _entry_name(record: Record, form: EntryForm) -> str:
    given = record.arguments.get(form.name_argument)
    if isinstance(given, Body):
        return given.name
    if given is not None:
        return str(given)
    # Without a name a constraint gets a generated one; the names of all constraints of a loop begin with it.
    made = record.result
    return str(made[0].name.split(" ")[0] if isinstance(made, tuple) else made.name)


def _creation_order(order: Mapping[str, int], name: str) -> tuple[int, int]:
    """Return a key that sorts entries as their bodies were made; a gyro precedes additions to its bodies."""
    if name in order:
        return order[name], len(name)
    first = next((body for body in (f"{name}_gimbal", f"{name}_outer") if body in order), "")
    return order.get(first, -1), len(name)


def _in_order(section: str, entry: DataTable) -> DataTable:
    """Return an entry with its keys in the order of the reference page."""
    verb = verb_of(section, entry)
    keys = [] if verb is None else [entry_form(verb).key, *entry_kind(verb).fields]
    return {key: entry[key] for key in dict.fromkeys([*keys, *entry]) if key in entry}


def _is_default(value: object, default: object) -> bool:
    """Return whether a value is the default itself; an expression that equals a number is not."""
    plain = (int, float, str, bool, tuple, type(None))
    if not isinstance(value, plain) or isinstance(value, Expr):
        return False
    if isinstance(value, tuple) and any(isinstance(item, Expr) for item in value):
        return False
    return type(value) is type(default) and value == default


_MODEL = "model.toml"


def to_files(system: Description) -> dict[str, bytes]:
    """Return the text model of a system and the arrays beside it, by file name."""
    with TemporaryDirectory() as folder:
        try:
            save(system, Path(folder) / _MODEL)
        except ModelError as error:
            raise ModelError(f"{error}; a system is pickled, and copied, as its text model") from None
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def from_files(files: dict[str, bytes], make: type[SystemType]) -> SystemType:
    """Return the system from the files of ``to_files``."""
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / Path(name).name).write_bytes(content)
        return load_text(Path(folder) / _MODEL, make)
