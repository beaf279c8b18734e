"""Systems from checked documents: each entry becomes a call of the verb that it stands for.

Arrays and flexible parts are in the file itself, or in files beside it. Sections are read in the order of
``SECTIONS``, bodies after their parents. Expressions with names of their own are read when a text first uses
them, so they may stand anywhere and refer to each other.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from armillary.algebra.tables import Table, Table2, read_columns
from armillary.errors import ArmillaryError, ExpressionError, ModelError, nearest
from armillary.files.model.documents import (
    ADDED,
    BEAMS,
    PLATES,
    SECTIONS,
    Document,
    FileError,
    entry_form,
    verb_of,
)
from armillary.model.constraints import start
from armillary.model.description import Description
from armillary.model.flexible.beam import SECTION
from armillary.model.flexible.part import FlexibleNode, FlexiblePart, GivenModes, Lumps
from armillary.model.reading.expressions import define, function, parameter, parse_text, read_expression
from armillary.model.reading.kinds import OneOf, tuples
from armillary.model.units import number_and_unit, state_factor, text_number
from armillary.model.verbs import VERBS, LaterForm, ListForm, PairForm, TableForm
from armillary.untyped import DataMapping, DataTable, Given

LARGEST = 2**30  # most bytes of all arrays of one file


def array_of(document: Document, value: object) -> Given:
    """Return an array from lists, or from { file = "boom.npz", key = "shapes" }; other values unchanged.

    Keys of a .csv file are the headings or numbers of its columns.
    """
    if isinstance(value, list):
        return [array_of(document, item) for item in value] if _holds_files(value) else tuples(value)
    if not (isinstance(value, Mapping) and "file" in value):
        return value
    path = beside(document, value["file"])
    key = value.get("key")
    if path.suffix == ".csv":
        columns, heading = read_columns(path), str(key or 1)
        number = heading.isdecimal() and len(heading) < 10
        return columns.values[:, columns.place(int(heading) if number else heading)]
    loaded = load_arrays(path)
    if key is None and len(loaded) == 1:
        return next(iter(loaded.values()))
    if key not in loaded:
        hint = nearest(str(key), loaded) or f"; it holds {', '.join(loaded)}"
        raise ModelError(f"file '{value['file']}' has no array '{key}'{hint}")
    return loaded[key]


def _holds_files(value: list[Given]) -> bool:
    return any(isinstance(item, Mapping) for item in value)


def beside(document: Document, name: str) -> Path:
    """Return a file named in a document, relative to the document's folder."""
    return document.path.parent / name


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a .npy or .npz file, by name; refuse pickled objects, which could run code."""
    if path.suffix not in (".npy", ".npz"):
        raise ModelError(f"arrays are read from .npy, .npz and .csv files, not from '{path.name}'")
    if not path.is_file():
        raise ModelError(f"there is no file '{path}'; check its name and folder")
    try:
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                    raise ModelError(f"file '{path}' holds more than {LARGEST // 2**30} GiB of arrays")
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {key: loaded[key] for key in loaded.files}
    except ModelError:
        raise
    except Exception as error:  # a damaged archive raises many kinds of errors
        raise ModelError(f"file '{path}' cannot be read ({error})") from None


def flexible_options(document: Document, table: DataMapping) -> tuple[Given, DataTable]:
    """Return the arguments of ``Body.flexible``, from the table of a flexible part."""
    options: DataTable = {}
    for key, value in table.items():
        if key in ("beam", "plate", "part"):
            continue
        if key in ("mass_matrix", "stiffness_matrix") and isinstance(value, str):
            options[key] = beside(document, value)
        elif isinstance(value, Mapping) and "file" not in value:
            options[key] = {name: tuples(item) for name, item in value.items()}
        else:
            options[key] = array_of(document, value)
    if "beam" in table:
        beam = dict(table["beam"])
        if "section" in beam:
            beam["section"] = SECTION.python(beam["section"])
        return BEAMS[0].make(**{key: tuples(value) for key, value in beam.items()}), options
    if "plate" in table:
        return OneOf(PLATES).python(table["plate"]), options
    if "part" in table:
        return read_part(beside(document, table["part"])), options
    return None, options


# ---------------------------------------------------------------- flexible parts as arrays

_FIELDS = ("first", "inertia", "P", "H", "M", "K", "C", "J1", "J2", "H1", "g", "spin")


def part_arrays(part: FlexiblePart, used: Mapping[str, FlexibleNode]) -> DataTable:
    """Return a flexible part as arrays by name, for a .npz file, with its named nodes and nodes in use."""
    found: DataTable = {"mass": part.mass}
    found |= {name: value for name in _FIELDS if (value := getattr(part, name)) is not None}
    if part.total_mass is not None:
        found["total_mass"] = part.total_mass
    for name, node in {**part.nodes, **used}.items():
        for field in ("position", "shape", "rotation", "shortening", "place"):
            if (value := getattr(node, field)) is not None:
                found[f"node {field} {name}"] = np.asarray(value, dtype=float)
    if (given := part.complex_modes) is not None:
        found |= {f"complex {name}": np.asarray(value) for name, value in vars(given).items()}
    for field in ("masses", "inertias", "positions", "shapes", "stiffness"):
        if part.lumps is not None and (value := getattr(part.lumps, field)) is not None:
            found[f"lumps {field}"] = value
    return found


def read_part(path: Path) -> FlexiblePart:
    """Return the part that ``part_arrays`` wrote to a file."""
    content = load_arrays(path)
    try:
        names = [key.removeprefix("node position ") for key in content if key.startswith("node position ")]
        nodes = {
            name: FlexibleNode(
                name,
                content[f"node position {name}"],
                content[f"node shape {name}"],
                content[f"node rotation {name}"],
                content.get(f"node shortening {name}"),
                _number_or_tuple(content.get(f"node place {name}")),
            )
            for name in names
        }
        lumps = {
            key.removeprefix("lumps "): value for key, value in content.items() if key.startswith("lumps ")
        }
        given: DataTable = {
            key.removeprefix("complex "): value
            for key, value in content.items()
            if key.startswith("complex ")
        }
        if given:
            given["whole"] = bool(given["whole"])
        arrays: DataTable = {name: content[name] for name in _FIELDS if name in content}
        return FlexiblePart(
            mass=float(content["mass"]),
            **arrays,
            nodes=nodes,
            lumps=Lumps(**lumps) if lumps else None,
            complex_modes=GivenModes(**given) if given else None,
            total_mass=float(content["total_mass"]) if "total_mass" in content else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"file '{path}' does not hold a flexible part ({error}); save one with its model"
        ) from None


def _number_or_tuple(value: Given) -> Given:
    if value is None:
        return None
    return float(value) if value.ndim == 0 else tuple(value.tolist())


_LATER = {v.form.section: tuple(v.form.arguments) for v in VERBS.values() if isinstance(v.form, LaterForm)}


@dataclass(frozen=True)
class ModelPart:
    """A document as a part of a model: its tables, with their names in the whole model."""

    document: Document
    data: DataMapping
    names: Mapping[str, str]  # names in the whole model, by names in the file
    carrier: tuple[Document, str, str] | None = None  # (document that includes it, body, label)

    @contextmanager
    def at(self, *keys: str) -> Iterator[None]:
        """Add the file and the line of an entry to errors inside this context."""
        try:
            yield
        except FileError:
            raise
        except ArmillaryError as error:
            original = {new: old for old, new in self.names.items()}
            key = self._key_of(keys, getattr(error, "text", ""))
            raise self.document.error(str(error), *(original.get(k, k) for k in keys), *key) from error

    def _key_of(self, keys: tuple[str, ...], text: str) -> tuple[str, ...]:
        """Return the key whose text an error is about, in an entry; empty if there is none."""
        entry: Given = self.data
        for key in keys:
            entry = entry.get(key) if isinstance(entry, Mapping) else None
        if not text or not isinstance(entry, Mapping):
            return ()
        return next(((key,) for key, value in entry.items() if value == text or _within(text, value)), ())


def _within(text: str, value: object) -> bool:
    return isinstance(value, list) and any(text == item or _within(text, item) for item in value)


def build(system: Description, parts: list[ModelPart], *, trust: bool = False) -> None:
    """Build the system that several documents describe together, the first of which is the main one.

    ``trust`` allows the FMUs that they name to be loaded, which are machine code.
    """
    for part in parts:
        _add_parameters(system, part)
        _add_tables(system, part)
        _add_functions(system, part)
        _add_definitions(system, part)
    with system.declared_names():
        for section in SECTIONS:
            if section == "bodies":
                _add_bodies(system, parts)
                for part in parts:
                    _call_top_verb(system, part, "gravity")
                continue
            if section == "constraints":  # updates may need loads, which may need memories
                for part in parts:
                    _read_late_keys(system, part, "update")
                    for verb in ("small", "large"):
                        _call_top_verb(system, part, verb)
            for part in parts:
                for key, entry in part.data.get(section, {}).items():
                    with part.at(section, key):
                        if section == "fmus":
                            kind = "package" if "package" in entry else "file"
                            entry = {**entry, kind: _require_trust(part, entry[kind], trust)}
                        elif section == "shapes" and "mesh" in entry["shape"]:
                            shape = entry["shape"]
                            named = {k: shape[k] for k in ("mesh", "texture") if shape.get(k)}
                            files = {k: str(beside(part.document, file)) for k, file in named.items()}
                            entry = {**entry, "shape": {**shape, **files}}
                        _call_verb(system, section, key, entry)
            if section == "constraints":
                for part in parts:
                    for verb in ("prescribe", "armature", "lock"):
                        _call_top_verb(system, part, verb)
                for part in parts:
                    _read_late_keys(system, part, "rate")
        for part in parts:
            _add_initial_values(system, part)


def _call_verb(system: Description, section: str, name: str, entry: Mapping[str, object]) -> None:
    """Call the verb that an entry stands for, without the keys that are read later."""
    verb = verb_of(section, entry)
    assert verb is not None  # the document was checked
    form = entry_form(verb)
    arguments: DataTable = {form.name_argument: name}
    for key, value in entry.items():
        if key not in _LATER.get(section, ()) and not (form.is_body and key in ADDED):
            argument, made = form.arguments.get(key, key), verb.kinds[key].python(value)
            arguments |= {argument: made} if isinstance(argument, str) else zip(argument, made, strict=True)
    verb.function(system, **arguments)


def _read_late_keys(system: Description, part: ModelPart, verb: str) -> None:
    """Read the keys of entries that may name other entries, once those exist."""
    form = VERBS[verb].form
    assert isinstance(form, LaterForm)
    for name, entry in part.data.get(form.section, {}).items():
        with part.at(form.section, name):
            if form.arguments.keys() & entry.keys():
                given = {argument: entry.get(key) for key, argument in form.arguments.items()}
                VERBS[verb].function(system, name, **given)


def _call_top_verb(system: Description, part: ModelPart, verb: str) -> None:
    """Call a verb for each item of its table or list at the top of the file."""
    form, call = VERBS[verb].form, VERBS[verb].function
    given = part.data.get(form.section)
    if given is None:
        return
    if isinstance(form, PairForm):
        for variable, value in given.items():
            with part.at(form.section, variable):
                call(system, variable, value)
    elif isinstance(form, ListForm):
        for item in given:
            with part.at(form.section):
                call(system, item)
    elif isinstance(form, TableForm):
        for table in given if isinstance(given, list) else [given]:
            with part.at(form.section):
                call(system, **table)


# ---------------------------------------------------------------- parameters, tables, bodies, initial values


def _require_trust(part: ModelPart, file: str, trust: bool) -> str:
    if not trust:
        kind = "an SSP package" if file.endswith(".ssp") else "an FMU"
        raise ModelError(
            f"'{file}' is {kind}, machine code that would run in this process; if you trust it, use "
            "load(…, trust=True), or --trust on the command line"
        )
    return str(part.document.path.parent / file)


def _add_parameters(system: Description, part: ModelPart) -> None:
    for name, given in part.data.get("parameters", {}).items():
        table = given if isinstance(given, Mapping) else {"value": given}
        with part.at("parameters", name):
            value, units = table.get("value"), table.get("units")
            if isinstance(value, str):
                units = units or number_and_unit(value)[1] or None
                value = text_number(value, f"parameter '{name}'", units or "", system.units, None, ModelError)
            parameter(system, name, value, units=units, about=table.get("about", ""))


def _add_tables(system: Description, part: ModelPart) -> None:
    for name, given in part.data.get("tables", {}).items():
        with part.at("tables", name):
            options = {key: array_of(part.document, value) for key, value in given.items() if key != "label"}
            label = given.get("label", name)
            function(system, name, (Table2 if "z" in options else Table)(**options, name=label))


def _add_functions(system: Description, part: ModelPart) -> None:
    for name, given in part.data.get("functions", {}).items():
        with part.at("functions", name):
            function(system, name, TextFunction(system, name, given["arguments"], given["value"]))


class TextFunction:
    """A function whose value is given by a text that contains the names of its arguments."""

    def __init__(self, system: Description, name: str, arguments: list[str], value: object) -> None:
        for argument in arguments:
            if not argument.isidentifier():
                raise ExpressionError(f"function '{name}': its argument '{argument}' is not a name")
        self.system, self.name, self.arguments, self.given = system, name, arguments, value
        self.text = str(value)
        self.arity = len(arguments)
        self.busy = False
        self.known: dict[tuple[Given, ...], Given] = {}

    def __call__(self, *values: Given) -> Given:
        if values in self.known:  # else nested functions could take exponential time
            return self.known[values]
        if self.busy:
            raise ExpressionError(f"function '{self.name}' calls itself, without end")
        self.busy = True
        try:
            local = dict(zip(self.arguments, values, strict=True))
            self.known[values] = parse_text(self.system, self.text, f"function '{self.name}'", local)
            return self.known[values]
        finally:
            self.busy = False


def _add_definitions(system: Description, part: ModelPart) -> None:
    for name, given in part.data.get("expressions", {}).items():
        table = given if isinstance(given, Mapping) else {"value": given}
        with part.at("expressions", name):
            define(system, name, **table)


def _add_bodies(system: Description, parts: list[ModelPart]) -> None:
    """Add bodies in the order of the files, but after their parents."""
    waiting = [(part, name, entry) for part in parts for name, entry in part.data.get("bodies", {}).items()]
    to_come = {name for _, name, _ in waiting} - {"ground"}
    while waiting:
        ready = next((item for item in waiting if not _carriers(item[2]) & to_come), None)
        if ready is None:
            raise _cycle_error(waiting)
        part, name, entry = ready
        _check_carrier(system, part, entry)
        with part.at("bodies", name):
            _add_body(system, part, name, entry)
        waiting.remove(ready)
        to_come.discard(name)


def _cycle_error(waiting: list[tuple[ModelPart, str, Given]]) -> ArmillaryError:
    """Return the error that names a cycle of parents: follow parents from a body that could not be placed."""
    carrier = {name: _carriers(entry).pop() for _, name, entry in waiting}
    chain = [waiting[0][1]]
    while (after := carrier[chain[-1]]) not in chain:
        chain.append(after)
    cycle = chain[chain.index(after) :]
    part = next(part for part, name, _ in waiting if name == cycle[0])
    links = ", which hangs on ".join(f"'{name}'" for name in [*cycle[1:], cycle[0]])
    return part.document.error(
        f"body '{cycle[0]}' hangs on {links} again; one body must hang on the ground", "bodies", cycle[0]
    )


def _check_carrier(system: Description, part: ModelPart, entry: Mapping[str, object]) -> None:
    """Raise an error, at the including file's line, if the body that carries a part does not exist."""
    if part.carrier is None:
        return
    outer, on, label = part.carrier
    hangs_on = (entry.get("parent"), entry.get("wheel_on"), entry.get("gyro_on"))
    if on in hangs_on and not _carriers(entry) <= {"ground", "world", *system.bodies}:
        hint = nearest(on, [*system.bodies, "ground"])
        raise outer.error(f"there is no body '{on}' for the part to hang on{hint}", "include", label)


def _carriers(entry: Mapping[str, object]) -> set[str]:
    """Return the name of the body that carries another; for a node, the name of the node's body."""
    carrier = entry.get("parent") or entry.get("wheel_on") or entry.get("gyro_on") or "ground"
    return {str(carrier).partition(".")[0]}


def _add_body(system: Description, part: ModelPart, name: str, entry: DataMapping) -> None:
    known = name == "ground" or name in system.bodies
    if known and entry.keys() - {"points", "nodes", "flexible"}:
        other = next(iter(entry.keys() - {"points", "nodes", "flexible"}))
        raise ModelError(
            f"body '{name}' exists already; this entry may add points and nodes to it, but no '{other}'"
        )
    if not known:
        _call_verb(system, "bodies", name, entry)
    body = system.ground if name == "ground" else system.bodies.get(name)
    if body is None:  # a gyro's bodies have other names
        return
    if "flexible" in entry:
        source, options = flexible_options(part.document, entry["flexible"])
        body.flexible(source, **options)
    for label in entry.get("nodes", ()):
        body.node(tuples(label))
    for label, place in entry.get("points", {}).items():
        body.point(label, tuple(place))


def _in_model_units(system: Description, variable: str, value: object) -> Given:
    """Return an initial value; a text such as "10 deg" is converted to the units that ``start`` expects."""
    if not isinstance(value, str) or not number_and_unit(value)[1]:
        return value
    node = read_expression(system, variable, "start")
    found = text_number(value, f"start of '{variable}'", "", system.units, node.dimension, ModelError)
    return found / state_factor(node)


def _add_initial_values(system: Description, part: ModelPart) -> None:
    for variable, value in part.data.get("start", {}).items():
        with part.at("start", variable):
            start(system, {variable: _in_model_units(system, variable, value)})
