"""Systems from files of any format, see ``stages.load``; an SSP package becomes a system that runs its FMUs.

A model may include others: an axle described once and used twice, each time under another prefix.

    [include.front]
    file = "axle.toml"
    prefix = "front_"                    # before every name that the axle declares; "front_" by default
    on = "chassis"                       # the body that is the axle's ground; the real one is "world"
    share = ["g"]                        # names of the whole model that the axle uses too
    set = { track = "1.6*w", k = 3e4 }   # its parameters: expressions of the whole model, or new defaults

A part may state gravity, so that it runs by itself; gravity of the whole model, if stated, replaces it.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from armillary.algebra.arguments import file_path, flag
from armillary.algebra.functions import BY_NAME, RESERVED
from armillary.algebra.tables import derivative_name
from armillary.errors import ModelError, suggestion
from armillary.files import ssp
from armillary.files.model.build import ModelPart, build
from armillary.files.model.documents import (
    FUNCTION,
    TOP,
    Document,
    FileError,
    entry_kind,
    read_model,
    verb_of,
)
from armillary.model.bodies.bodies import body as make_body
from armillary.model.description import SystemType
from armillary.model.joints.simple import Prismatic
from armillary.model.reading.expressions import MODEL_FUNCTIONS
from armillary.model.reading.kinds import Written
from armillary.model.signals import input as declare_input
from armillary.model.verbs import QUANTITIES
from armillary.untyped import DataMapping, DataTable, Given

# Names in a text: a name between back quotes, or words joined by dots. Words are those inside back quotes.
_NAMES = re.compile(r"`([^`]+)`|(?<![\w.])([^\W\d]\w*)((?:\.[^\W\d]\w*)*)(\s*\()?")
_WORDS = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w)")
_FUNCTIONS = {*RESERVED, *MODEL_FUNCTIONS, *QUANTITIES}
# Sections whose entries texts can name.
_NAMED = ("parameters", "inputs", "memory", "states", "tables", "functions", "expressions", "bodies",
          "attractors", "fmus", "blocks", "loads")  # fmt: skip
_MAKERS = ("bodies", "fmus", "blocks", "loads")  # their entries may make further names, as gyros do
# Sections whose entries texts cannot name, except for constraints between back quotes.
_LABELLED = ("constraints", "events", "outputs", "shapes")
# Sections whose entries a part can share with the whole model.
_SHARED = ("parameters", "inputs", "memory", "states", "tables", "functions", "expressions")
_LEFT = ("include", "name", "units", "armillary", "about")  # keys that concern the part alone
_DEEPEST, _MOST = 20, 1000  # most nested includes, and most parts of a model


def parts_of(document: Document) -> list[ModelPart]:
    """Return a document and all that it includes, each with the names of the whole model."""
    return _with_one_gravity(_collect_parts(document, (), {}))


def _collect_parts(document: Document, above: tuple[str, ...], read: dict[str, Document]) -> list[ModelPart]:
    parts = [ModelPart(document, document.data, {})]
    chain = (*above, str(document.path.resolve()))
    for label, entry in document.data.get("include", {}).items():
        path = document.path.parent / entry["file"]
        identity = str(path.resolve())

        def fault(message: str, label: str = label) -> Exception:
            return document.error(message, "include", label)

        if identity in chain:
            raise fault(f"'{entry['file']}' includes itself, over {len(chain)} file(s)")
        if len(chain) > _DEEPEST:
            raise fault(f"includes are nested more than {_DEEPEST} deep")
        if identity not in read:
            read[identity] = read_model(path, part=True)
        inner = read[identity]
        units, own = document.data.get("units", "SI"), inner.data.get("units", "SI")
        if own != units:
            raise fault(
                f"'{entry['file']}' is in units {own}, but this model in {units}; state the same in both"
            )
        inside = _collect_parts(inner, chain, read)
        names = _NewNames.of(inside, label, entry, whole=not above)
        if problem := names.problem(inside, entry):
            raise fault(problem)
        carrier = (document, entry["on"], label) if "on" in entry else None
        parts += [
            replace(_place_part(part, entry, names), carrier=part.carrier or carrier) for part in inside
        ]
        if len(parts) > _MOST:
            raise fault(f"the model has more than {_MOST} parts")
    return parts


@dataclass(frozen=True)
class _NewNames:
    """The new names of the entries of an included model and of its own parts."""

    new: Mapping[str, str]  # by old names; a name with a dot is a point on the ground of the part
    prefix: str
    makers: frozenset[str]  # old names of entries that may make further names
    quoted: Mapping[str, str] = field(default_factory=dict)  # ``new`` with constraints, inside back quotes
    called: frozenset[str] = frozenset()  # old names of functions, tables and expressions

    @classmethod
    def of(cls, parts: list[ModelPart], label: str, entry: DataMapping, whole: bool) -> _NewNames:
        prefix, share = entry.get("prefix", f"{label}_"), entry.get("share", [])

        def declare_sections(sections: Iterable[str]) -> set[str]:
            return {name for p in parts for section in sections for name in p.data.get(section, {})} - {
                "ground"
            }

        new = {name: f"{prefix}{name}" for name in declare_sections(_NAMED) if name not in share}
        carrier = entry.get("on", "ground")
        points = {
            name for p in parts for name in p.data.get("bodies", {}).get("ground", {}).get("points", {})
        }
        new |= {f"ground.{name}": f"{carrier}.{prefix}{name}" for name in points}
        if "on" in entry:
            new["ground"] = carrier
        if whole:  # "world" is the ground of the whole model; inner parts keep the word until it is reached
            new["world"] = "ground"
        makers = frozenset(name for name in declare_sections(_MAKERS) if name not in share)
        labels = {name: f"{prefix}{name}" for name in declare_sections(("constraints",))}
        called = frozenset(declare_sections(("functions", "tables", "expressions")))
        return cls(new, prefix, makers, {**labels, **new}, called)

    def problem(self, parts: list[ModelPart], entry: DataMapping) -> str:
        """Return the error in shared, set or part names; "" if there is none."""
        sections = {"share": _SHARED, "set": ("parameters",)}
        for key, allowed in sections.items():
            known = {name for p in parts for section in allowed for name in p.data.get(section, {})}
            for name in entry.get(key, []):
                if name not in known:
                    what = "parameter" if key == "set" else "name"
                    hint = suggestion(name, sorted(known)) if known else "; it has none"
                    return f"'{name}' is not a {what} of '{entry['file']}'{hint}"
        for name in self.new:
            if name in ("t", "pi") or name in _FUNCTIONS:
                return f"'{entry['file']}' declares '{name}', a reserved name; choose another there"
        return ""

    def renamer(self, local: Iterable[str] = ()) -> Callable[[str], str]:
        """Return the function that changes texts; it keeps ``local`` names."""
        kept = set(local)

        def one(found: re.Match[str]) -> str:
            quoted, head, tail, call = found.groups()
            if quoted == "mass centre":  # a point for momenta, not a name of the model
                return found[0]
            if quoted is not None:
                return f"`{_WORDS.sub(lambda word: self.quoted.get(word[0], word[0]), quoted)}`"
            dotted = f"{head}{tail}"
            if head in kept:
                changed = dotted
            elif call and dotted in BY_NAME and dotted not in self.called:
                changed = dotted  # floor(x), though a load of the part may be called floor
            elif dotted in self.new:
                changed = self.new[dotted]
            else:
                changed = f"{self._word(head, bool(call))}{tail}"
            return f"{changed}{call or ''}"

        return lambda text: _NAMES.sub(one, text)

    def _word(self, name: str, called: bool) -> str:
        """Return the new form of a plain name; boom_tip, a node of boom, is renamed with boom."""
        if name in self.new:
            return self.new[name]
        slope = derivative_name().fullmatch(name)  # bump_dx is renamed with bump
        if called and slope and slope[1] in self.called and slope[1] in self.new:
            return f"{self.new[slope[1]]}{slope[2]}"
        if called or name in _FUNCTIONS:
            return name
        maker = name.rpartition("_")[0]
        while maker and maker not in self.makers:
            maker = maker.rpartition("_")[0]
        return f"{self.prefix}{name}" if maker else name


def _place_part(part: ModelPart, entry: DataMapping, names: _NewNames) -> ModelPart:
    """Return a part under its prefix, on its body, with its parameters set."""
    share, values = entry.get("share", []), entry.get("set", {})
    rename, prefix = names.renamer(), names.prefix
    data: DataTable = {}
    for section, content in part.data.items():
        if section in _LEFT:
            continue
        if section in _SHARED:
            content = {name: given for name, given in content.items() if name not in share}
        if section == "gravity":  # its direction refers to the real ground, whichever body carries the part
            data[section] = TOP[section].rename_texts(content, names.renamer(("ground", "world")))
        elif section == "functions":  # their arguments keep their names
            data[section] = {rename(name): _rename_function(given, names) for name, given in content.items()}
        elif section in TOP:
            data[section] = TOP[section].rename_texts(content, rename)
        else:
            key = rename if section not in _LABELLED else lambda name: f"{prefix}{name}"
            data[section] = {key(name): _entry(section, given, names) for name, given in content.items()}
    _on_carrier(part, data, entry, names)
    parameters = data.get("parameters", {})
    taken: DataTable = {}
    for name, value in values.items():
        changed = names.new.get(name, name)
        if changed not in parameters:
            continue
        known = parameters[changed]
        if isinstance(value, str):  # an expression of the whole model replaces the parameter
            taken[changed] = value
        else:  # a new default, in the parameter's own units
            parameters[changed] = {**(known if isinstance(known, Mapping) else {}), "value": value}
    data["parameters"] = {name: given for name, given in parameters.items() if name not in taken}
    data["expressions"] = {**data.get("expressions", {}), **taken}
    own = [name for section in (*_NAMED, *_LABELLED) for name in part.data.get(section, {})]
    original = {new: old for old, new in part.names.items()}
    now = {original.get(name, name): names.new.get(name, f"{prefix}{name}") for name in own}
    return ModelPart(part.document, data, now)


def _on_carrier(part: ModelPart, data: DataTable, entry: Mapping[str, object], names: _NewNames) -> None:
    """Put bodies without a parent on the carrier, and points of the part's ground among its points."""
    bodies = data.get("bodies", {})
    anchors = (
        bodies.pop(names.new.get("ground", "ground"), None)
        if "ground" in part.data.get("bodies", {})
        else None
    )
    if "on" in entry:
        for body in bodies.values():
            if not {"parent", "wheel_on", "gyro_on"} & body.keys() and not _known_only(body):
                body["parent"] = entry["on"]
    if anchors is not None:
        points = {f"{names.prefix}{name}": place for name, place in anchors.get("points", {}).items()}
        carrier = entry.get("on", "ground")
        bodies[carrier] = {**anchors, "points": {**bodies.get(carrier, {}).get("points", {}), **points}}


def _known_only(body: Mapping[str, object]) -> bool:
    """Return whether an entry only adds points or nodes to a body that is described elsewhere."""
    return bool(body) and body.keys() <= {"points", "nodes"}


def _rename_function(given: DataMapping, names: _NewNames) -> DataTable:
    return {
        **given,
        "value": FUNCTION.fields["value"].rename_texts(given["value"], names.renamer(given["arguments"])),
    }


def _entry(section: str, given: Mapping[str, object], names: _NewNames) -> DataTable:
    verb = verb_of(section, given)
    assert verb is not None  # the document was checked
    kinds = entry_kind(verb).fields
    renamed = {}
    for key, value in given.items():
        kind = kinds[key]
        local = tuple(kind.variables) if isinstance(kind, Written) else ()  # variables of a law
        renamed[key] = kind.rename_texts(value, names.renamer(local))
    return renamed


def _with_one_gravity(parts: list[ModelPart]) -> list[ModelPart]:
    """Return the parts with one statement of gravity: the whole model's, if it has one, else the first
    part's. In the second case all other parts must state the same gravity.
    """
    stated = [part for part in parts if "gravity" in part.data]
    if not stated:
        return parts
    first = stated[0]
    for part in stated:
        if first is not parts[0] and part.document.data["gravity"] != first.document.data["gravity"]:
            message = f"'{first.document.path.name}' states another gravity; state one in the whole model"
            raise part.document.error(message, "gravity")
    without = {id(part): {k: v for k, v in part.data.items() if k != "gravity"} for part in stated[1:]}
    return [replace(part, data=without[id(part)]) if id(part) in without else part for part in parts]


def load_ssp(
    path: str | os.PathLike[str],
    make: type[SystemType],
    *,
    every: float | None = None,
    extrapolate: bool = False,
    trust: bool = False,
) -> SystemType:
    """Load the FMUs of a package, stepped every ``every`` seconds; its inputs become inputs of the system.

    A system needs a body, so a body of unit mass that stays at rest is added. ``trust`` allows the FMUs to be
    loaded, which are machine code.
    """
    from armillary.files.ssp import read_package  # archives and XML, which few models need

    package = read_package(path)
    if not trust:
        raise ModelError(
            f"'{Path(path).name}' is an SSP package of FMUs, machine code that would run in this process; if "
            "you trust it, use load(…, trust=True), or --trust on the command line"
        )
    if every is None:
        raise ModelError(
            f"'{Path(path).name}': give the seconds between communication points, load(…, every=1e-3)"
        )
    system = make(package.name)
    make_body(system, "rest", joint=Prismatic("x"), mass=1, inertia=0)
    for name in package.inputs:
        declare_input(system, name)
    stem = re.sub(r"\W+", "_", Path(path).stem).strip("_") or "package"
    ssp(
        system,
        stem,
        path,
        every=every,
        inputs={name: name for name in package.inputs},
        extrapolate=extrapolate,
    )
    return system


FORMATS = (".toml", ".urdf", ".xml", ".ssp")


def load_system(path: str | os.PathLike[str], make: type[SystemType], **options: Given) -> SystemType:
    """Load the system in a file, as an instance of ``make``; ``options`` go to the format's reader."""
    suffix = file_path(path, "the model", FileError).suffix.lower()
    if "trust" in options:
        flag(options["trust"], "trust=")
    if suffix == ".toml":
        if other := [name for name in options if name != "trust"]:
            raise FileError(f"a text model takes no option {other[0]}=, only trust=", str(path))
        return load_text(path, make, **options)
    if suffix in (".urdf", ".xml"):
        from armillary.files.robots import load_mjcf, load_urdf

        reader: Callable[..., SystemType] = load_urdf if suffix == ".urdf" else load_mjcf
        return reader(path, make, **_check_options(reader, options, path))
    if suffix == ".ssp":
        return load_ssp(path, make, **_check_options(load_ssp, options, path))
    raise FileError(
        f"a model is read from {', '.join(FORMATS)} files, not from '{Path(path).name}'", str(path)
    )


def _check_options(
    reader: Callable[..., object], options: DataTable, path: str | os.PathLike[str]
) -> DataTable:
    """Return the options; raise an error if the format's reader does not take one."""
    known = [*inspect.signature(reader).parameters][2:]
    if other := [name for name in options if name not in known]:
        raise FileError(f"its importer takes no option {other[0]}={suggestion(other[0], known)}", str(path))
    return options


def load_text(path: str | os.PathLike[str], make: type[SystemType], *, trust: bool = False) -> SystemType:
    """Return the system in a text model; ``trust`` allows FMUs, machine code that it names, to be loaded."""
    document = read_model(path)
    system = make(document.data["name"], document.data.get("units", "SI"))
    build(system, parts_of(document), trust=trust)
    return system
