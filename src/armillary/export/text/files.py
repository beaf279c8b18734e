"""Folders of generated files, which replace earlier generated files and nothing else.

A list of digests beside the files (`.armillary.sha256`, readable by `sha256sum -c`) shows which files were
generated and are unchanged. Only these are replaced, or removed if the new folder has no such file; other
files in the folder (built programs, results) stay.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from hashlib import sha256
from importlib.resources import files
from math import isinf
from pathlib import Path, PurePosixPath

from armillary.algebra.arguments import flag
from armillary.errors import ArmillaryError
from armillary.export.text.description import ExportDescription, StateDescription, Stored
from armillary.export.text.source import Source
from armillary.limited_files import reason
from armillary.model.units import stated_value
from armillary.program.passes.graph import Operations
from armillary.runtime.integrators.settings import ROWS
from armillary.settings import FILE_KEYS, RUN_TABLE, RunSettings
from armillary.solver.language.language import ENDS_STATUS
from armillary.solver.methods.method_text import exported_methods
from armillary.solver.methods.registry import usual_method
from armillary.text_tables import aligned, listed, toml_key, toml_value

LIST = ".armillary.sha256"
_NAMED = 5  # most files that a message names


def write_folder(
    path: str | os.PathLike[str], files: Mapping[str, str | bytes], *, force: bool = False
) -> Path:
    """Write the folder with these files, by relative name; a new folder is written atomically.

    Raise an error if the folder has other files of these names, or generated files that were changed since;
    with ``force``, replace them.
    """
    flag(force, "force=")
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise ArmillaryError(
            f"cannot write the folder '{path}': there is a file of that name; choose another"
        )
    parent = target.resolve().parent
    if not parent.is_dir():
        raise ArmillaryError(
            f"cannot write '{path}': there is no folder '{target.parent}'; make it, or name another"
        )
    contents = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    temporary = parent / f".armillary-{secrets.token_hex(6)}.tmp"
    try:
        known = _generated_digests(target)
        if not force:
            _refuse_others(target, known, contents)
        listed = "".join(f"{sha256(data).hexdigest()}  {name}\n" for name, data in sorted(contents.items()))
        contents[LIST] = listed.encode()
        _write_files(temporary, contents)
        if not target.exists():
            os.replace(temporary, target)
            return target
        for name in known.keys() - contents.keys():
            if _digest(target / name) == known[name]:
                (target / name).unlink()
        for name in contents:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(temporary / name, target / name)
    except OSError as error:
        raise ArmillaryError(f"cannot write '{path}': {reason(error)}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _generated_digests(folder: Path) -> dict[str, str]:
    """Return digests of the generated files of a folder, by name; omit names that lead out of the folder."""
    place = folder / LIST
    if not place.is_file():
        return {}
    rows = [line.partition("  ") for line in place.read_text("utf-8", "replace").splitlines()]
    return {name: digest for digest, _, name in rows if name and _below(PurePosixPath(name))}


def _below(name: PurePosixPath) -> bool:
    return not name.is_absolute() and ".." not in name.parts


def _digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _refuse_others(target: Path, known: Mapping[str, str], contents: Mapping[str, bytes]) -> None:
    """Raise an error if a folder has files but no export wrote it, or if changed files would be lost."""
    if not target.is_dir():
        return
    if not (target / LIST).is_file():
        others, what = (
            sorted(p.name for p in target.iterdir()),
            "holds files that were not written by an export",
        )
    else:
        there = [name for name in contents if (target / name).exists()]
        others = sorted(name for name in there if _digest(target / name) != known.get(name))
        what = "holds files that were changed since they were written"
    if others:
        raise ArmillaryError(
            f"cannot write '{target}': the folder {what} ({listed(others, _NAMED)}); name another, "
            "or replace files of the same names with force=True (--force)"
        )


def _write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, data in contents.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


# Settings of exported runs: keys of [run] and defaults, from the record of settings.


@dataclass(frozen=True)
class RunKey:
    """A setting in [run] that is a number; ``default`` is `None` if it has no default."""

    key: str
    default: float | None


def run_keys() -> tuple[RunKey, ...]:
    """Return the settings in [run] that are numbers: all but the method, by their keys in run files."""
    found = []
    for f in fields(RunSettings):
        if f.name != "method":
            known = None if f.default is MISSING or f.default is None else float(f.default)
            found.append(RunKey(FILE_KEYS[f.name], known))
    return tuple(found)


def foreign_keys() -> tuple[str, ...]:
    """Return keys of [run] that exported programs ignore."""
    return tuple(key for key in RUN_TABLE if key not in FILE_KEYS.values())


def setting_values(infinity: str) -> dict[str, str]:
    """Return values for templates: defaults by the names of keys, and default methods."""
    known = {key.key: key.default for key in run_keys() if key.default is not None}
    texts = {name: infinity if isinf(value) else repr(value) for name, value in known.items()}
    usual = {"with_step": usual_method(True), "without_step": usual_method(False)}
    words = {f"usual_{name}": method for name, method in usual.items()}
    words |= {f"USUAL_{name.upper()}": method.upper() for name, method in usual.items()}
    adaptive = [m.name for m in exported_methods(adaptive=True) if m.adaptive]
    assert usual["without_step"] in adaptive
    return {f"default_{name}": text for name, text in texts.items()} | words | {"samples": str(ROWS)}


# Templates: texts that are the same for all systems except for names, and for parts that only some need.
#
# @name@ is replaced by a value; {{if events}} … {{else}} … {{end}} is a part for systems that have events.
# Such marks may be on lines of their own, which then vanish, and may be nested.

_MARK = re.compile(r"^[ \t]*\{\{(if \w+|else|end)\}\}[ \t]*\n|\{\{(if \w+|else|end)\}\}", re.MULTILINE)
_VALUE = re.compile(r"@(\w+)@")


def template(package: str, name: str) -> str:
    """Return a text of a package, in its folder ``templates``."""
    return files(package).joinpath("templates", name).read_text(encoding="utf-8")


def fill(text: str, values: Mapping[str, str], has: Collection[str] = ()) -> str:
    """Return a text with its values inserted, and with only the parts for the features ``has``."""
    kept: list[str] = []
    shown = [True]
    branches: list[bool] = []
    position = 0
    for mark in _MARK.finditer(text):
        if shown[-1]:
            kept.append(text[position : mark.start()])
        position = mark.end()
        word, _, feature = (mark[1] or mark[2]).partition(" ")
        if word == "if":
            branches.append(feature in has)
            shown.append(shown[-1] and branches[-1])
        elif word == "else":
            shown[-1] = shown[-2] and not branches[-1]
        else:
            shown.pop()
            branches.pop()
    kept.append(text[position:])
    return _VALUE.sub(lambda found: values[found[1]], "".join(kept))


# Descriptions of the system in generated files: heads of files, and tables for a README.


def operations_text(operations: Operations) -> str:
    """Return operation counts as ASCII text."""
    o = operations
    return f"{o.additions} +, {o.multiplications} *, {o.divisions} /, {o.functions} functions"


def head(description: ExportDescription, file: str, what: str) -> list[str]:
    """Return the first lines of a file: its purpose, the bodies of the system, the cost of its equations."""
    d = description
    rows = [["body", "parent", "joint", "coordinates"]]
    rows += [[b.name, b.parent, b.joint, ", ".join(b.coordinates)] for b in d.bodies]
    return [
        f"{file}: {what}",
        f"Generated by Armillary {d.version} for the system '{d.name}'. Do not edit.",
        "",
        *(f"  {line}" for line in aligned(rows)),
        "",
        f"{d.freedom}; formalism: {d.formalism}; precomputed: {d.constants} constants",
        f"derivatives: {operations_text(d.operations)}",
        *d.judged,
        *d.remarks,
    ]


def note(*parts: str) -> str:
    """Join units, description and other parts in one line, without empty ones."""
    return "; ".join(" ".join(part.split()) for part in parts if part)


def _start(described: StateDescription | Stored) -> float:
    return stated_value(described.initial, described.factor)


def readme_tables(description: ExportDescription) -> list[str]:
    """Return tables of parameters, states, memory, outputs and events in Markdown."""
    d = description
    lines: list[str] = []
    rows: Iterable[Sequence[str]]
    rows = [[f"`{p.name}`", _number_text(p.default), p.units, p.about] for p in d.parameters]
    lines += _markdown_table("Parameters", ["name", "default", "units", "meaning"], rows)
    rows = [[f"`{s.name}`", _number_text(_start(s)), s.units, s.about] for s in d.starts]
    lines += _markdown_table(
        "States, with their initial values", ["name", "initial", "units", "meaning"], rows
    )
    lines += ["", *d.remarks] if d.remarks else []
    rows = [[f"`{m.name}`", _number_text(_start(m)), m.units, m.about] for m in d.inputs]
    lines += _markdown_table("Inputs", ["name", "value", "units", "meaning"], rows)
    rows = [
        [f"`{m.name}`", _number_text(_start(m)), m.units, m.about]
        for m in d.memory
        if not m.input and m.plain
    ]
    lines += _markdown_table("Memory", ["name", "initial", "units", "meaning"], rows)
    rows = [[f"`{o.name}`", o.units, o.about] for o in d.outputs]
    lines += _markdown_table("Outputs", ["name", "units", "meaning"], rows)
    ways = {1: "rising", -1: "falling", ENDS_STATUS: "falling", 0: "both"}
    rows = [[e.name, ways[e.direction], "yes" if e.stop else "", e.about] for e in d.events if not e.hidden]
    lines += _markdown_table("Events", ["name", "direction", "ends the run", "meaning"], rows)
    return lines


def _number_text(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def _markdown_table(title: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    if not rows:
        return []
    lines = [f"| {' | '.join(row)} |" for row in ([*names], ["---"] * len(names), *rows)]
    return ["", f"## {title}", "", *lines]


# An example of a run file, with every value that a user may change and its meaning.

_STEPS = 200


def example_timing(source: Source) -> tuple[float, float]:
    """Return the duration and the step of an example run, in seconds.

    The run has 200 steps, and each period of a clock has a whole number of steps.
    """
    run = source.reference.trajectory
    step = run.step if run else 1e-3
    periods = [Fraction(repr(m.period)) for m in source.description.memory if m.period]
    if periods:
        below = math.lcm(*(p.denominator for p in periods))
        common = math.gcd(*(int(p * below) for p in periods)) / below
        step = common / math.ceil(common / step) if common > 1e-3 * step else step
    return _STEPS * step, step


def example_run(source: Source, adaptive: bool = True) -> str:
    """Return an example of a run file with all defaults; ``adaptive`` adds settings of adaptive methods."""
    d = source.description
    duration, step = example_timing(source)
    parameters = zip(d.parameters, source.values, strict=True)
    lines = [f"# A run of {d.name}. Omitted entries keep their defaults.", ""]
    first, *others = [f'"{m.name}"' for m in exported_methods(adaptive, source.stiff)]
    method = f"method = {first}  # or {', '.join(others[:-1])}{', or ' if others[1:] else ''}{others[-1]}"
    lines += ["[run]", f"duration = {duration!r}", f"step = {step!r}", method]
    lines.append("# sample = …   seconds between rows; left out: a row at the end of each step")
    if adaptive:
        known = {key.key: key.default for key in run_keys()}
        helps = {key: setting.help for key, setting in RUN_TABLE.items()}
        for name in ("rtol", "atol", "max_step", "max_steps"):
            about = helps[name].partition(":")[0].rstrip(".")
            lines.append(f"# {name} = {known[name]:g}   {about[0].lower()}{about[1:]}")
    lines += _group("parameters", ((p.name, v, note(p.units, p.about)) for p, v in parameters))
    placed = source.start.placed if source.start is not None else {}
    own = [s for i, s in enumerate(d.starts) if i not in placed]
    states = _group("initial", ((s.name, _start(s), note(s.units, s.about)) for s in own))
    lines += [*states[:2], *(f"# {remark}" for remark in d.remarks), *states[2:]]
    lines += _group("inputs", ((m.name, _start(m), note(m.units, m.about)) for m in d.inputs))
    rest = [m for m in d.memory if not m.input and m.plain]
    lines += _group("memory", ((m.name, _start(m), note(m.units, m.about)) for m in rest))
    return "\n".join(lines) + "\n"


def _group(title: str, entries: Iterable[tuple[str, float, str]]) -> list[str]:
    lines = [
        f"{toml_key(name)} = {toml_value(float(value))}" + (f"  # {about}" if about else "")
        for name, value, about in entries
    ]
    return ["", f"[{title}]", *lines] if lines else []


# Small functions for generated code, of which only those that are called are written.
#
# They are in the file ``helpers.txt`` of a language's templates, each after a line "=== name".

_TITLE = re.compile(r"^=== (\w+)\n", re.MULTILINE)


def helpers(package: str) -> dict[str, str]:
    """Return the helpers of a language, by name."""
    _, *parts = _TITLE.split(template(package, "helpers.txt"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def helpers_called_in(known: Mapping[str, str], text: str, always: Iterable[str] = ()) -> list[str]:
    """Return the texts of helpers, in the order of ``known``.

    They are the helpers named in ``always``, those that the text calls, and all that these call.
    """
    chosen = set(always)
    todo = [text, *(known[name] for name in chosen)]
    while todo:
        words = set(re.findall(r"[A-Za-z]\w*(?=\()", todo.pop()))  # calls: words before a bracket
        found = (words & known.keys()) - chosen
        chosen |= found
        todo += [known[name] for name in found]
    return [known[name] for name in known if name in chosen]
