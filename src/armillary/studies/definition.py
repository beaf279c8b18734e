"""A study as plain data: ``study.json`` with its digest, and ``design.json``, from which any worker computes
the values of any run.

Also the identity of a model, and the text from which a model is built again elsewhere.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import ndiff
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from armillary.errors import ArmillaryError, ModelError
from armillary.files.model.save import save
from armillary.llvm.sections import llvm_text
from armillary.program.sensitivities import DerivedSensitiveEquations
from armillary.runtime.models.compiled import CompiledModel, compiled_model
from armillary.stages import System, load
from armillary.stages.model import Model
from armillary.studies.folder import Folder, StoreLayout, write_json
from armillary.studies.sampling import OPEN_ENDED, Design
from armillary.untyped import DataMapping, DataTable, Given
from armillary.version import VERSION

FORMAT = 1
_SHOWN = 5  # differences in one message
_NOT_COMPARED = ("stored", "design.runs", "model.probed", "model.text")  # they follow from the other entries


_NOT_DIGESTED = {"design": ("runs",), "model": ("probed", "text")}


@dataclass(frozen=True)
class Definition:
    """A study as data. ``content`` has all that decides its results:

    armillary   version that made it           model     identity of the model, its own values
    system      name                           run       arguments of simulate_batch
    vary        varied names and their kinds   design    as data, or by its identity
    metrics     by name, as texts              outputs   names with histories
    runs, block total number, number per block stored    columns and arrays of the results
    """

    content: DataMapping

    @property
    def layout(self) -> StoreLayout:
        return StoreLayout.from_data(self.content["stored"], self.runs, self.content["block"])

    @property
    def runs(self) -> int:
        return int(self.content["runs"])

    @property
    def system(self) -> str:
        return str(self.content["system"])

    @property
    def inputs(self) -> Mapping[str, DataMapping]:
        """Inputs over time: the identity of their data, by name."""
        found: Mapping[str, DataMapping] = self.content["run"].get("inputs", {})
        return found

    @property
    def digest(self) -> str:
        """A digest of the content without the number of runs, since blocks stay valid if it changes, and
        without numbers that another machine may round differently.
        """
        data = {key: _without(value, _NOT_DIGESTED.get(key, ())) for key, value in self.content.items()}
        return _data_checksum(_without(data, ("runs",)))

    @property
    def about(self) -> dict[str, str]:
        """The attributes of the store."""
        return {"system": self.system, "armillary": self.content["armillary"], "study": self.digest}

    def with_runs(self, runs: int, design: Mapping[str, object]) -> Definition:
        return replace(self, content={**self.content, "runs": runs, "design": dict(design)})

    def with_text(self, checksum: str) -> Definition:
        """Return a copy with the checksum of the model's text in the folder; "" if there is no text."""
        return replace(self, content={**self.content, "model": {**self.content["model"], "text": checksum}})

    def with_block(self, block: int) -> Definition:
        return replace(self, content={**self.content, "block": block})

    def write(self, folder: Folder) -> None:
        write_json(
            folder.study,
            {"armillary_study": FORMAT, "checksum": _data_checksum(self.content), **self.content},
        )


def _data_checksum(data: object) -> str:
    text = json.dumps(data, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _without(data: Given, keys: tuple[str, ...]) -> Given:
    return {key: value for key, value in data.items() if key not in keys} if keys else data


def make_definition(**content: object) -> Definition:
    """Return a definition made by this Armillary, with values as JSON returns them."""
    return Definition(plain_data({"armillary": VERSION, **content}))


def plain_data(data: object) -> Given:
    """Return data as JSON returns it: tuples become lists."""
    return json.loads(json.dumps(data))


def read_definition(folder: Folder) -> Definition | None:
    """Return the definition of the study in a folder; `None` if the folder has none."""
    try:
        text = folder.study.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ArmillaryError(f"cannot read the study '{folder.root}': {error}") from error
    try:
        content = json.loads(text)
        made_with, stated = content.pop("armillary_study"), content.pop("checksum")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ArmillaryError(f"'{folder.study}' is damaged, or not of a study: {error!r}") from error
    if made_with != FORMAT:
        raise ArmillaryError(
            f"study '{folder.root}' has format {made_with} and this Armillary reads {FORMAT}: use the "
            f"version that made it ({content.get('armillary', 'unknown')})"
        )
    if _data_checksum(content) != stated:
        raise ArmillaryError(
            f"'{folder.study}' is damaged: its checksum does not fit; restore it from a copy, since it "
            "defines the results"
        )
    return Definition(content)


def definition_for_writing(folder: Folder) -> Definition | None:
    """Return the definition of the study in a folder for new runs; refuse a folder with other content."""
    if (found := read_definition(folder)) is None:
        _check_empty(folder)
    return found


def _check_empty(folder: Folder) -> None:
    """Raise an error for a folder with other content; a study that has just begun has only a lock."""
    if folder.root.is_symlink() and not folder.root.exists():
        raise ArmillaryError(f"'{folder.root}' is a broken link; give a folder for the study")
    if folder.root.exists() and not folder.root.is_dir():
        raise ArmillaryError(f"'{folder.root}' is a file; give a folder for the study")
    there = sorted(e.name for e in folder.root.iterdir()) if folder.root.is_dir() else []
    if other := [name for name in there if name != "lock" and not name.startswith(".")]:
        named = ", ".join(other[:3]) + (", …" if len(other) > 3 else "")
        raise ArmillaryError(
            f"the folder '{folder.root}' is not a study, but holds {named}: nothing is overwritten; give "
            "another folder, or empty it"
        )


def check_same(
    there: Definition, here: Definition, folder: Folder, equations: Callable[[], str] = str
) -> None:
    """Raise an error that names the differences between the study in a folder and the requested one.
    ``equations`` describes how equations differ, since their digests do not show it.
    """
    found = list(data_differences(there.content, here.content))
    if not found:
        return
    if any(path == "armillary" for path, _, _ in found):
        found = [entry for entry in found if entry[0] == "armillary"]  # the rest may follow from it
    lines = [
        (path == "model.equations" and equations())
        or f"\n  {_label(path)}: {_value_text(old)} there, {_value_text(new)} here"
        for path, old, new in found[:_SHOWN]
    ]
    lines += [f"\n  and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    if [path for path, _, _ in found] == ["runs"]:
        raise ArmillaryError(
            f"study '{folder.root}' has {there.runs} runs, not {here.runs}; nothing is "
            f"overwritten: {_other_number(there, here, folder)}"
        )
    raise ArmillaryError(
        f"the folder '{folder.root}' holds another study, of '{there.system}'; nothing is overwritten: "
        f"give another folder (--folder on the command line), or the values of that study{''.join(lines)}"
    )


def _other_number(there: Definition, here: Definition, folder: Folder) -> str:
    """Return the remedy if only the number of runs differs."""
    unchanged = (
        f"or continue it unchanged: open_study('{folder.root}'), on the command line 'armillary study run "
        f"{folder.root}'"
    )
    if here.runs < there.runs:
        return f"pass runs={there.runs}, {unchanged}"
    kind = here.content["design"]["kind"]
    if kind in OPEN_ENDED:
        return f"open_study('{folder.root}').extend({here.runs}) makes the others"
    return f"all runs of a {kind} design depend on their number, so give another folder, {unchanged}"


def data_differences(old: object, new: object, path: str = "") -> Iterator[tuple[str, Given, Given]]:
    """Yield the differences of two pieces of data: path, old value, new value; `None` for a missing value."""
    if isinstance(old, Mapping | None) and isinstance(new, Mapping | None) and old != new:
        old, new = old or {}, new or {}
        for key in dict.fromkeys([*old, *new]):
            inner = f"{path}.{key}" if path else str(key)
            if inner not in _NOT_COMPARED:
                yield from data_differences(old.get(key), new.get(key), inner)
    elif old != new:
        yield path, old, new


_LABELS = {
    "armillary": "version of Armillary",
    "system": "name of the system",
    "design.vary": "distribution of",
    "model.equations": "equations of motion (their digest)",
    "model.parameters": "the model's own value of parameter",
    "model.initial": "the model's own initial value of",
    "model.memory": "the model's own memory",
    "run.parameters": "value of parameter",
    "run.initial": "initial value of",
    "run.memory": "memory",
    "run.inputs": "data of input",
    "runs": "number of runs",
}


def _label(path: str) -> str:
    for start, words in _LABELS.items():
        if path == start:
            return words
        if path.startswith(f"{start}."):
            return f"{words} '{path[len(start) + 1 :]}'"
    return path.removeprefix("run.").replace(".", " ", 1)


def _value_text(value: object) -> str:
    text = "nothing" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


# ---------------------------------------------------------------- design.json


def write_design(folder: Folder, design: Design) -> None:
    """Write the design as data, if possible; a design with a function of the user has no data."""
    if design.portable:
        write_json(folder.design, design.as_data())


def read_design(folder: Folder, runs: int) -> Design | None:
    """Return the design of ``runs`` runs in a study's folder; `None` if it needs the user's code."""
    try:
        data = json.loads(folder.design.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ArmillaryError(f"cannot read the design '{folder.design}': {error}") from error
    with warnings.catch_warnings():  # the user was warned when the study was made
        warnings.simplefilter("ignore")
        return Design.from_data({**data, "runs": runs})  # an interrupted extension may leave another number


# The address of a foreign function differs between processes.
_ADDRESS = re.compile(r"inttoptr \(?i64 \d+")
_KINDS = {"parameters": "parameter", "initial": "initial value", "memory": "memory"}
_LINES = 2  # of a model's text that a message shows
_PROBES = 2  # states at which equations are compared
_TEXT = 1e-12  # relative error of a value that was written in its units and read again
_ROUNDING = 1e-6  # relative error of rates and outputs computed in another order


def identity(model: CompiledModel) -> DataTable:
    """Return a model as data: the digest of its program, and its own values.

    The digest is of the program's LLVM text, which depends on equations, outputs, events and formalism, but
    not on default values, which are arguments. ``probed`` are rates and outputs near the start. They identify
    the equations of a model built from its file, in which loads may come in another order, so that the LLVM
    text differs.
    """
    equations = model.equations
    text = _ADDRESS.sub("inttoptr", llvm_text(equations.program))
    found = {
        "formalism": equations.formalism,
        "derived": dict(equations.options),
        "equations": hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
        **_default_values(model),
        "probed": _values_near_start(model),
    }
    if isinstance(equations, DerivedSensitiveEquations):
        to = [direction.name for direction in equations.directions]
        found["sensitivities"] = {"to": to, "of": list(equations.of), "ignore_jumps": equations.ignore_jumps}
    return found


def _default_values(model: CompiledModel) -> dict[str, dict[str, float | None]]:
    """Return the model's own values."""
    system = model.equations.system
    return {
        "parameters": model.parameters,
        "initial": {symbol.data.name: float(value) for symbol, value in system.initial.items()},
        "memory": {name: float(memory.initial) for name, memory in system.memories.items()},
    }


def _values_near_start(model: CompiledModel) -> list[list[float | None]]:
    """Return rates and outputs near the initial state; `None` for a value that is not a number."""
    program, initial = model.equations.program, _default_values(model)["initial"]
    unknown = {name: 1.0 for name, value in model.parameters.items() if value is None}
    start = np.array([initial.get(s.data.name) or 0.0 for s in program.state])
    found = []
    for seed in range(_PROBES):
        state = start + 0.1 * (1 + np.abs(start)) * np.random.default_rng(seed).normal(size=len(start))
        rates = model.derivatives(0.1, state, unknown).tolist()
        outputs = model.outputs(0.1, state, unknown).values()
        found.append([float(f"{x:.12e}") if isfinite(x) else None for x in (*rates, *outputs)])
    return found


def text_differences(folder: Folder, model: CompiledModel) -> str:
    """Return the first lines in which the text of a model differs from the text in a study's folder."""
    try:
        with TemporaryDirectory() as place:
            save(model.equations.system, Path(place) / folder.model.name)
            here = (Path(place) / folder.model.name).read_text(encoding="utf-8").splitlines()
        there = folder.model.read_text(encoding="utf-8").splitlines()
    except (OSError, ModelError, UnicodeDecodeError):
        return ""
    changed = [
        f"{line[2:].strip()} ({'there' if line[0] == '-' else 'here'})"
        for line in ndiff(there, here)
        if line[0] in "-+" and line[2:].strip()
    ]
    more = "; …" if len(changed) > _LINES else ""
    return f"\n  model: {'; '.join(changed[:_LINES])}{more}" if changed else ""


def save_model(model: CompiledModel, folder: Folder) -> str:
    """Write the text of a model into its study's folder; return the reason if it has no text, else ""."""
    try:
        save(model.equations.system, folder.model)
    except (ModelError, RuntimeError) as error:  # RuntimeError: the path is a symbolic link to itself
        return str(error)
    return ""


def text_checksum(folder: Folder) -> str:
    """Return the checksum of the model's text in a study's folder; "" if there is no text."""
    try:
        return hashlib.blake2b(folder.model.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def rebuild_model(
    folder: Folder, about: DataTable, *, build: str | None = None, trust: bool = False
) -> Model:
    """Return the model of a study, derived with the study's options. The system comes from the function
    ``build``, or from the text in the study's folder.

    A text may list loads in another order than the description: the equations are the same, but their
    rounding may differ. A model that differs from the study's is refused. ``trust`` allows the text written
    by the study to load machine code (FMUs); a changed text is not trusted.
    """
    system = build_system(build) if build else _from_text(folder, about, trust)
    kept = ("regroup", "small", "keep", "effort")
    known = {key: value for key, value in about["derived"].items() if key in kept}
    model = system.derive(about["formalism"], **known).compile()
    if asked := about.get("sensitivities"):
        ignored = asked.get("ignore_jumps", True)
        model = model.with_sensitivities(asked["to"], asked["of"], ignore_jumps=ignored)
    if difference := _difference(about, compiled_model(model)):
        where = f"build={build!r} gives" if build else f"'{folder.model}' holds"
        raise ArmillaryError(
            f"{where} another model than the study has, so that the study cannot continue: {difference}\n"
            "  remedy: restore it, or give the model itself: open_study(…, model=…)"
        )
    return model


def _from_text(folder: Folder, about: DataTable, trust: bool) -> System:
    """Return the system that the text in a study's folder describes."""
    changed = "text" in about and text_checksum(folder) != about["text"]
    try:
        return load(folder.model, **({"trust": True} if trust and not changed else {}))
    except ModelError as error:
        if not changed:
            raise
        raise ArmillaryError(
            f"'{folder.model}' is not the text that the study wrote there, and cannot be used: {error}\n"
            "  remedy: restore it, or give the model itself: open_study(…, model=…)"
        ) from error


def _difference(about: DataTable, model: CompiledModel) -> str:
    """Describe the difference between a model and the study's; "" if there is none."""
    own = _default_values(model)
    for kind, word in _KINDS.items():
        if list(about[kind]) != list(own[kind]):
            return f"it has other {'memories' if word == 'memory' else word + 's'}"
        for name, value in own[kind].items():
            if not _equal(about[kind][name], value, _TEXT):
                return f"{word} '{name}' is {value} instead of {about[kind][name]}"
    for old, new in zip(about["probed"], _values_near_start(model), strict=True):
        size = max((abs(x) for x in old if x is not None), default=0.0)
        if len(old) != len(new):
            return "it has other states or outputs"
        if not all(_equal(x, y, _ROUNDING, size) for x, y in zip(old, new, strict=True)):
            return "its equations of motion differ"
    return ""


def _equal(one: float | None, other: float | None, error: float, size: float = 0.0) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= error * max(abs(one), 1e-3 * size)


def build_system(place: str) -> System:
    """Return the system that an importable function ("package.module:function") makes."""
    module, colon, name = place.partition(":")
    if not (colon and module and name):
        raise ArmillaryError(
            f"build={place!r} must name a function that can be imported: 'package.module:function'"
        )
    try:
        function: Callable[[], object] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ArmillaryError(f"build={place!r} cannot be imported: {error}") from error
    system = function()
    if not isinstance(system, System):
        raise ArmillaryError(f"build={place!r} must return a System, not {type(system).__name__}")
    return system
