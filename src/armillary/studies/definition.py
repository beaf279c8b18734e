"""A study as plain data: ``study.json``, its digest, how two of them differ; and ``design.json``, from which
any worker finds the values of any run.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from armillary.errors import ArmillaryError
from armillary.studies.sampling import OPEN_ENDED, Design
from armillary.studies.store.folder import Folder, StoreLayout, write_json
from armillary.untyped import DataMapping, Given
from armillary.version import VERSION

FORMAT = 1
_SHOWN = 5  # differences in one message
_NOT_COMPARED = ("stored", "design.runs", "model.probed", "model.text")  # they follow from the rest


_NOT_DIGESTED = {"design": ("runs",), "model": ("probed", "text")}


@dataclass(frozen=True)
class Definition:
    """A study as data. ``content`` has what decides its results:

    armillary   version that made it           model     identity of the model, its own values
    system      name                           run       arguments of simulate_batch
    vary        what varies, and as what       design    how, as data or by its identity
    metrics     by name, as texts              outputs   whose histories are kept
    runs, block how many, and in one block     stored    columns and arrays of the results
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
        """Inputs over time, by name: what identifies their data."""
        found: Mapping[str, DataMapping] = self.content["run"].get("inputs", {})
        return found

    @property
    def digest(self) -> str:
        """A digest of all but the number of runs, since blocks count, whatever number was asked for, and of
        numbers that another machine may round otherwise.
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
    """A definition by this Armillary, with values as a file gives them back."""
    return Definition(plain_data({"armillary": VERSION, **content}))


def plain_data(data: object) -> Given:
    """Data as a JSON file gives it back: tuples are lists."""
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
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ArmillaryError(f"'{folder.study}' is damaged, or not a study's: {error!r}") from error
    if made_with != FORMAT:
        raise ArmillaryError(
            f"study '{folder.root}' has format {made_with} and this Armillary reads {FORMAT}: use the "
            f"version that made it ({content.get('armillary', 'unknown')})"
        )
    if _data_checksum(content) != stated:
        raise ArmillaryError(
            f"'{folder.study}' is damaged: its checksum does not fit; restore it from a copy, since it "
            "defines what the results are"
        )
    return Definition(content)


def definition_for_writing(folder: Folder) -> Definition | None:
    """The same of a folder in which runs are to be made: one with other things in it is refused."""
    if (found := read_definition(folder)) is None:
        _check_empty(folder)
    return found


def _check_empty(folder: Folder) -> None:
    """An error for a folder with other things in it; a study that was just begun has a lock at most."""
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
        f"the folder '{folder.root}' holds another study, of '{there.system}'; nothing is overwritten: give "
        f"another folder (--folder on the command line), or the values that are there{''.join(lines)}"
    )


def _other_number(there: Definition, here: Definition, folder: Folder) -> str:
    """The remedy where only the number of runs differs."""
    as_it_is = (
        f"or take it as it is: open_study('{folder.root}'), on the command line 'armillary study run "
        f"{folder.root}'"
    )
    if here.runs < there.runs:
        return f"pass runs={there.runs}, {as_it_is}"
    kind = here.content["design"]["kind"]
    if kind in OPEN_ENDED:
        return f"open_study('{folder.root}').extend({here.runs}) makes the others"
    return f"of a {kind} design all runs depend on their number, so give another folder, {as_it_is}"


def data_differences(old: object, new: object, path: str = "") -> Iterator[tuple[str, Given, Given]]:
    """Yield where two pieces of data differ: path, old value, new value; `None` for a missing value."""
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
    """The design as data, where it can be: a function of the user's cannot."""
    if design.portable:
        write_json(folder.design, design.as_data())


def read_design(folder: Folder, runs: int) -> Design | None:
    """Return the design of ``runs`` runs in a study's folder; `None` if it needs the user's code."""
    try:
        data = json.loads(folder.design.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ArmillaryError(f"cannot read the design '{folder.design}': {error}") from error
    with warnings.catch_warnings():  # the user was warned when the study was made
        warnings.simplefilter("ignore")
        return Design.from_data({**data, "runs": runs})  # an extension may have been stopped half-way
