"""Tyre property files (.tir): read in SI units, with errors that name file and line, and written again.

Adams and MF-Tyre share the format: sections in brackets, ``NAME = value $ comment``, tables of numbers under
a heading in braces. Nothing in a file is executed, and no more than MOST bytes are read.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import armillary as arm
from armillary.vehicles.tyres.coefficients import NEEDED, complete, find_impossible, missing_names
from armillary.vehicles.tyres.magic_formula import MagicFormula

MOST = 4_000_000  # bytes; the largest public file has 20 thousand

# Factors from units to SI, by names as in files, lower case.
UNITS: dict[str, dict[str, float]] = {
    "LENGTH": {"meter": 1, "metre": 1, "m": 1, "millimeter": 1e-3, "mm": 1e-3, "centimeter": 1e-2, "cm": 1e-2,
               "kilometer": 1e3, "km": 1e3, "inch": 0.0254, "in": 0.0254, "foot": 0.3048, "feet": 0.3048,
               "ft": 0.3048},
    "FORCE": {"newton": 1, "n": 1, "kilonewton": 1e3, "knewton": 1e3, "kn": 1e3,
              "pound_force": 4.4482216152605, "lbf": 4.4482216152605,
              "kg_force": 9.80665, "kilogram_force": 9.80665, "kgf": 9.80665},
    "ANGLE": {"radian": 1, "radians": 1, "rad": 1, "degree": math.pi / 180, "degrees": math.pi / 180,
              "deg": math.pi / 180},
    "MASS": {"kg": 1, "kilogram": 1, "gram": 1e-3, "g": 1e-3, "tonne": 1e3, "megagram": 1e3,
             "pound_mass": 0.45359237, "lbm": 0.45359237, "slug": 14.593902937206364},
    "TIME": {"second": 1, "sec": 1, "s": 1, "millisecond": 1e-3, "ms": 1e-3, "minute": 60, "min": 60,
             "hour": 3600},
    "PRESSURE": {"pascal": 1, "pa": 1, "kpascal": 1e3, "kpa": 1e3, "kilopascal": 1e3, "mpa": 1e6, "bar": 1e5,
                 "psi": 6894.757293168361},
}  # fmt: skip

# Exponents of LENGTH, FORCE, ANGLE, MASS, TIME of quantities with units; most coefficients have none.
DIMENSIONS: dict[str, tuple[int, int, int, int, int]] = {
    **dict.fromkeys(
        ("UNLOADED_RADIUS", "WIDTH", "RIM_RADIUS", "RIM_WIDTH", "BOTTOM_OFFST", "BOTTOMING_RADIUS"),
        (1, 0, 0, 0, 0),
    ),
    **dict.fromkeys(("FNOMIN", "FZMIN", "FZMAX"), (0, 1, 0, 0, 0)),
    **dict.fromkeys(
        ("VERTICAL_STIFFNESS", "LONGITUDINAL_STIFFNESS", "LATERAL_STIFFNESS", "BOTTOM_STIFF"),
        (-1, 1, 0, 0, 0),
    ),
    "VERTICAL_DAMPING": (-1, 1, 0, 0, 1),
    "YAW_STIFFNESS": (1, 1, -1, 0, 0),
    **dict.fromkeys(("LONGVL", "VXLOW"), (1, 0, 0, 0, -1)),
    **dict.fromkeys(("ALPMIN", "ALPMAX", "CAMMIN", "CAMMAX"), (0, 0, 1, 0, 0)),
    **dict.fromkeys(("MASS", "MBELT", "BELT_MASS"), (0, 0, 0, 1, 0)),
    **dict.fromkeys(("IXX", "IYY", "BELT_IXX", "BELT_IYY"), (2, 0, 0, 1, 0)),
}
# Ranges in SI of tyres from scooters to excavators, and the units to check if a value lies outside.
PLAUSIBLE = {
    "UNLOADED_RADIUS": (0.03, 3.0, "LENGTH"),
    "WIDTH": (0.01, 3.0, "LENGTH"),
    "FNOMIN": (5.0, 1e7, "FORCE"),
    "VERTICAL_STIFFNESS": (1e3, 1e8, "FORCE and LENGTH"),
    "LONGVL": (0.1, 300.0, "LENGTH and TIME"),
    "NOMPRES": (1e3, 1e7, "PRESSURE"),
    "INFLPRES": (1e3, 1e7, "PRESSURE"),
    "ALPMAX": (-4.0, 4.0, "ANGLE"),
    "CAMMAX": (-4.0, 4.0, "ANGLE"),
}
PRESSURES = ("NOMPRES", "INFLPRES", "PRESMIN", "PRESMAX", "IP", "IP_NOM")

VERSIONS = {5: "5.2", 6: "5.2", 21: "5.2", 52: "5.2", 61: "6.1", 62: "6.2"}
FORMATS = {"PAC2002": "5.2", "MF_05": "5.2", "MF-TYRE": "", "MF_TYRE": "", "USER": ""}  # "": FITTYP decides

_SECTION = re.compile(r"\[\s*([^\]]+?)\s*\]")
_ENTRY = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)")


@dataclass(frozen=True)
class TyreFile:
    """The content of a .tir file: numbers in SI units, texts, tables, and their lines."""

    path: str
    version: str  # "5.2", "6.1" or "6.2"
    values: Mapping[str, float] = field(repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    tables: Mapping[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict, repr=False)
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)
    sections: Mapping[str, str] = field(default_factory=dict, repr=False)  # section of each name
    comments: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def side(self) -> str:
        """ "left", "right" or "unknown": the side that the tyre was measured on."""
        found = self.texts.get("TYRESIDE", "").strip().lower()
        return found if found in ("left", "right") else "unknown"

    @property
    def missing(self) -> tuple[str, ...]:
        """Coefficients of the version that the file does not have."""
        return missing_names(self.values, self.version)

    @property
    def taken(self) -> dict[str, float]:
        """Values used in place of missing coefficients."""
        filled = complete(self.values, self.version, "tno")
        return {name: filled[name] for name in self.missing}

    def where(self, name: str) -> str:
        """Return "file:line" of a name."""
        line = self.lines.get(name)
        return f"{self.path}:{line}" if line else self.path

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a .tir file in SI units, from which `read_tir` returns exactly the same values."""
        arm.write_file(path, self.to_text())

    def to_text(self) -> str:
        """Return the text that `write` writes."""
        header: dict[str, float | str] = {"FILE_TYPE": "tir", "FILE_VERSION": 3.0, "FILE_FORMAT": "ASCII"}
        units = {"LENGTH": "meter", "FORCE": "newton", "ANGLE": "radians", "MASS": "kg", "TIME": "second"}
        fit = {"5.2": 6, "6.1": 61, "6.2": 62}[self.version]
        lines = ["[MDI_HEADER]", *[_entry(name, value) for name, value in header.items()]]
        lines += ["[UNITS]", *[_entry(name, value) for name, value in units.items()]]
        lines += [_entry("PRESSURE", "pascal"), "[MODEL]", _entry("FITTYP", fit)]
        kept = {name: text for name, text in self.texts.items() if name not in header}
        by_section: dict[str, list[str]] = {"MODEL": []}
        entries_of: dict[str, float | str] = {**kept, **self.values}
        for name, value in entries_of.items():
            if name != "FITTYP":
                section = self.sections.get(name, "COEFFICIENTS")
                by_section.setdefault(section, []).append(_entry(name, value, self.comments.get(name, "")))
        lines += by_section.pop("MODEL")
        for section, entries in by_section.items():
            lines += [f"[{section}]", *entries]
        for section, rows in self.tables.items():
            lines += [f"[{section}]", "{" + " ".join("xyzuvw"[: len(rows[0])]) + "}"]
            lines += [" ".join(repr(x) for x in row) for row in rows]
        return "\n".join(lines) + "\n"


def _entry(name: str, value: float | str, comment: str = "") -> str:
    shown = f"'{value}'" if isinstance(value, str) else repr(value)
    return f"{name:<24} = {shown}" + (f"    ${comment}" if comment else "")


def read_tir(path: str | os.PathLike[str], *, version: str | None = None) -> TyreFile:
    """Return the content of a .tir file in SI units.

    FITTYP 5, 6, 21, 52 or none, and PROPERTY_FILE_FORMAT PAC2002 or MF_05, are version 5.2; 61 and 62 are 6.1
    and 6.2. The argument ``version`` overrides the file.
    """
    where = os.fspath(path)
    text = _read_text(where)
    numbers: dict[str, float] = {}
    texts: dict[str, str] = {}
    units: dict[str, tuple[str, int]] = {}
    tables: dict[str, list[tuple[float, ...]]] = {}
    lines: dict[str, int] = {}
    sections: dict[str, str] = {}
    comments: dict[str, str] = {}
    section = ""
    for n, raw in enumerate(text.splitlines(), 1):
        line, comment = _split_comment(raw)
        if not line:
            continue
        heading = _SECTION.fullmatch(line)
        if heading:
            section = heading[1].upper()
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            row = _table_row(line)
            if row is None:
                raise arm.ModelError(
                    f"{where}:{n}: {line[:60]!r} is neither a [SECTION] nor NAME = value nor a row of a "
                    "table; start remarks with $ or !"
                )
            if row:
                tables.setdefault(section, []).append(row)
            continue
        name, value = entry[1].upper(), _value(entry[2], f"{where}:{n}: {entry[1]}")
        if section == "UNITS":
            units[name] = (str(value), n)
            continue
        before = numbers.get(name, texts.get(name))
        if before is not None and before != value:
            raise arm.ModelError(
                f"{where}:{n}: {name} = {value} here and {before} in line {lines[name]}; keep one"
            )
        if isinstance(value, str):
            texts[name] = value
        else:
            numbers[name] = value
        lines[name], sections[name], comments[name] = n, section, comment
    found = _version(where, numbers, texts, lines, version)
    numbers = _to_si(where, numbers, units)
    wrong = find_impossible(numbers)
    if wrong:
        name, what = wrong
        place = f"{where}:{lines[name]}" if name in lines else where
        raise arm.ModelError(f"{place}: {name}: {what}; correct the file, or give changes={{'{name}': …}}")
    for name, (least, most, unit) in PLAUSIBLE.items():
        if name in numbers and not least <= numbers[name] <= most:
            raise arm.ModelError(
                f"{where}:{lines[name]}: {name} would be {numbers[name]:g} in SI units, which no tyre has; "
                f"check {unit} in [UNITS]"
            )
    numbers = {name: value for name, value in numbers.items() if name not in ("FITTYP", "FILE_VERSION")}
    grids = {name: _rectangle(where, name, rows) for name, rows in tables.items() if rows}
    return TyreFile(where, found, numbers, texts, grids, lines, sections, comments)


def require_coefficients(file: TyreFile, values: Mapping[str, float]) -> None:
    """Raise an error that names missing coefficients without which forces cannot be computed."""
    lacking = [name for name in NEEDED if name not in values]
    if lacking:
        verb, what = ("is", "it") if len(lacking) == 1 else ("are", "them")
        raise arm.ModelError(
            f"{file.path}: the formula needs {', '.join(lacking)}, which {verb} missing; add {what} "
            f"to the file, or give changes={{'{lacking[0]}': …}}; a file that was cut off lacks its last "
            "sections"
        )


def _read_text(path: str) -> str:
    place = Path(path)
    if place.is_dir() or (place.exists() and not place.is_file()):
        raise arm.ModelError(f"{path}: this is no ordinary file; give a .tir file")
    try:
        with place.open("rb") as file:
            content = file.read(MOST + 1)
    except FileNotFoundError:
        raise arm.ModelError(f"{path}: there is no such file; check its name and folder") from None
    except OSError as error:
        raise arm.ModelError(f"{path}: it cannot be read: {error.strerror or error}") from None
    if len(content) > MOST:
        raise arm.ModelError(f"{path}: it has more than {MOST // 10**6} MB; a tyre file has some 20 kB")
    if b"\0" in content:
        raise arm.ModelError(f"{path}: this is not a text file; give a .tir file")
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # remarks of old files


def _split_comment(raw: str) -> tuple[str, str]:
    """Return the line without its comment, which starts with $ or ! outside of quotes, and the comment."""
    quote = ""
    for i, letter in enumerate(raw):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "$!":
            return raw[:i].strip(), raw[i + 1 :].strip()
    return raw.strip(), ""


def _value(text: str, where: str) -> float | str:
    """Return a number, or a text with or without quotes."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    number = re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?", text)
    if number:
        return float(text.lower().replace("d", "e"))
    if re.fullmatch(r"[-+]?(nan|inf|infinity)", text, re.IGNORECASE):
        raise arm.ModelError(f"{where}: {text} is not a finite number; give a number")
    if not text:
        raise arm.ModelError(f"{where}: the value is missing; give a number or a text in quotes")
    if text[0] in "-+.0123456789":
        raise arm.ModelError(f"{where}: {text[:40]!r} is not a number; write 1.5 or 1.5e-3")
    if text[0] in "'\"":
        raise arm.ModelError(f"{where}: the quote of {text[:40]} is not closed")
    return text


def _table_row(line: str) -> tuple[float, ...] | None:
    """Return the numbers of a row; () for a heading or a comment, None for anything else."""
    if line[0] in "{('\"":
        return ()
    try:
        return tuple(float(word) for word in line.replace(",", " ").split())
    except ValueError:
        return None


def _rectangle(where: str, name: str, rows: list[tuple[float, ...]]) -> tuple[tuple[float, ...], ...]:
    if len({len(row) for row in rows}) > 1:
        raise arm.ModelError(f"{where}: rows of table [{name}] have different numbers of columns")
    return tuple(rows)


def _version(
    where: str,
    numbers: Mapping[str, float],
    texts: Mapping[str, str],
    lines: Mapping[str, int],
    given: str | None,
) -> str:
    if given is not None:
        return _known_version(given)
    remedy = "known are 5.2 (PAC2002, MF_05), 6.1 and 6.2; if the file has such coefficients, give version="
    name = texts.get("PROPERTY_FILE_FORMAT", "")
    by_format = FORMATS.get(name.upper().strip(), None if name else "")
    if by_format is None:
        place = f"{where}:{lines['PROPERTY_FILE_FORMAT']}"
        raise arm.ModelError(f"{place}: PROPERTY_FILE_FORMAT '{name}' is not a known Magic Formula; {remedy}")
    if "FITTYP" in texts:
        raise arm.ModelError(
            f"{where}:{lines['FITTYP']}: FITTYP '{texts['FITTYP']}' is not a number; {remedy}"
        )
    fit = numbers.get("FITTYP")
    if fit is None:
        return by_format or "5.2"
    if fit not in VERSIONS:
        raise arm.ModelError(
            f"{where}:{lines['FITTYP']}: FITTYP = {fit:g} is a version that is not known; {remedy}"
        )
    return VERSIONS[int(fit)]


def _known_version(given: str) -> str:
    if given not in VERSIONS.values():
        raise arm.ModelError(f"version={given!r} is not known; use '5.2', '6.1' or '6.2'")
    return given


def _to_si(
    where: str, numbers: Mapping[str, float], units: Mapping[str, tuple[str, int]]
) -> dict[str, float]:
    """Return the values in SI units, which are also assumed if there is no [UNITS]."""
    scale = dict.fromkeys(UNITS, 1.0)
    for name, (text, line) in units.items():
        if name not in UNITS:
            continue
        factor = UNITS[name].get(text.strip().lower())
        if factor is None:
            known = ", ".join(f"'{unit}'" for unit in UNITS[name] if len(unit) > 2)
            raise arm.ModelError(f"{where}:{line}: {name} in '{text}' is not known; use one of {known}")
        scale[name] = factor
    pressure = scale["PRESSURE"] if "PRESSURE" in units else scale["FORCE"] / scale["LENGTH"] ** 2
    base = [scale[name] for name in ("LENGTH", "FORCE", "ANGLE", "MASS", "TIME")]
    result = {}
    for name, value in numbers.items():
        if name in PRESSURES:
            result[name] = value * pressure
        elif name in DIMENSIONS:
            factor = math.prod(b**e for b, e in zip(base, DIMENSIONS[name], strict=True))
            result[name] = value if factor == 1 else value * factor
        else:
            result[name] = value
    return result


# From a tyre file to a tyre.


def read_tyre(
    file: str | os.PathLike[str] | TyreFile,
    *,
    convention: str = "tno",
    side: str | None = None,
    version: str | None = None,
    changes: Mapping[str, float] | None = None,
    limit_curvature: bool = False,
    limit_inputs: bool = False,
) -> MagicFormula:
    """Return the Magic Formula tyre of a .tir file.

    convention       "tno", as MF-Tyre computes (default), or "book", as Pacejka (2012) prints
    side             side of the vehicle, "left" or "right": a tyre that was measured on the other side is
                     mirrored
    version          "5.2", "6.1" or "6.2", which replaces the version in the file
    changes          coefficients in SI units that replace or complete the coefficients in the file
    limit_curvature  keep all curvature factors E at or below one
    limit_inputs     keep slips, camber, load and pressure in the ranges of the file

    One warning names the coefficients of forces that the file lacks, with the values used for them; see
    `TyreFile.taken`.
    """
    if isinstance(file, TyreFile):
        found = file if version is None else replace(file, version=_known_version(version))
    else:
        found = read_tir(file, version=version)
    values = {**found.values, **(changes or {})}
    require_coefficients(found, values)
    wrong = find_impossible(values)
    if wrong:
        raise arm.ModelError(f"{found.where(wrong[0])}: {wrong[0]}: {wrong[1]}; give another value")
    if side not in (None, "left", "right"):
        raise arm.ModelError(f"side={side!r} is not known; use 'left' or 'right'")
    _warn_of_missing(found, values)
    mirrored = values.get("USE_MODE", 0) < 0
    if side is not None and found.side not in ("unknown", side):
        mirrored = not mirrored
    return MagicFormula(
        complete(values, found.version, convention),
        found.version,
        convention,
        mirrored,
        limit_curvature,
        limit_inputs,
        found.path,
    )


def _warn_of_missing(file: TyreFile, values: Mapping[str, float]) -> None:
    """Warn once of all missing coefficients, not one by one: old files lack many for Mx and My alone."""
    taken = {name: value for name, value in file.taken.items() if name not in values}
    if taken:
        zero = [name for name, value in taken.items() if value == 0]
        other = [f"{name} = {value:g}" for name, value in taken.items() if value != 0]
        words = [f"taken as 0: {', '.join(zero)}"] if zero else []
        words += [f"taken as {', '.join(other)}"] if other else []
        warnings.warn(
            f"{file.path}: {len(taken)} coefficients of version {file.version} are missing, so that their "
            f"effects are left out; {'; '.join(words)}. Give them with changes= if they are known",
            arm.ImportedWarning,
            stacklevel=3,
        )
