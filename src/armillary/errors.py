"""Errors that name the fault, its place in the user's own names, and the remedy.

Every error about input is an `ArmillaryError`, which is a `ValueError`. A message states four things: what is
wrong, where, the evidence, and the remedy.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from pathlib import PurePath
from types import ModuleType
from typing import Any

# Limits of messages, since a text model may hold an expression of many thousand characters.
_SHOWN = 60  # characters of a value
_EXCERPT = 100  # characters of the user's line around a fault


class ArmillaryError(ValueError):
    """Bad input, or a computation that cannot go on."""

    def __str__(self) -> str:
        return shorten_message(ValueError.__str__(self))  # KeyError.__str__ would add quotes


class ModelError(ArmillaryError):
    """A description that no mechanical system can have."""


class UnknownNameError(ArmillaryError, KeyError):
    """A name that a result does not hold; also a `KeyError`, as every mapping raises."""


class UnitsError(ArmillaryError):
    """Physical dimensions that do not fit together."""


class ParameterError(ArmillaryError):
    """A parameter without a value, with an impossible value, or unknown."""


class MissingExtraError(ArmillaryError):
    """An optional package that is needed and not installed."""


class ExpressionError(ArmillaryError):
    """An expression that cannot be read or built.

    `text` is what the user wrote and `column` the offset of the faulty character, counted from 0; the message
    then shows that line with a caret below the character. An expression built in Python has no text.
    """

    def __init__(self, message: str, text: str = "", column: int = 0) -> None:
        super().__init__(message, text, column)  # all three are args, so that the error can be pickled
        self.message = message
        self.text = text
        self.column = column

    def __str__(self) -> str:
        message = shorten_message(self.message)
        return f"{message}\n{_pointer(self.text, self.column)}" if self.text else message


class SimulationError(ArmillaryError):
    """A simulation that had to stop; `run` holds the data computed so far, or None when there are none."""

    def __init__(self, message: str, run: Any = None) -> None:  # `Run`: its module imports this one
        super().__init__(message)
        self.run = run


class ImportedWarning(UserWarning):
    """Something in a robot file that a loader left out or approximated, so that the motion may differ."""


class PictureWarning(UserWarning):
    """Something that a picture leaves out or shows coarsely, such as a mesh whose file is missing."""


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import and return an optional module; if it is not installed, the error names the extra to install.

    `purpose` is a plural noun ("NetCDF files") or starts with "to" ("to save NetCDF"):

        NetCDF files need xarray: pip install 'armillary[data]'
        xarray is needed to save NetCDF: pip install 'armillary[data]'

    A module that is installed but fails to load for another reason keeps its own error.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).partition(".")[0]
        need = f"{package} is needed {purpose}" if purpose.startswith("to ") else f"{purpose} need {package}"
        raise MissingExtraError(f"{need}: pip install 'armillary[{extra}]'") from error


def shorten_message(message: str) -> str:
    """Return a message with very long words and quoted names cut, since a damaged file may hold any names.

    Text after a question starts with a capital letter: "did you mean 'x'? There are x, y".
    """
    message = re.sub(r"'\?; (\w)", lambda first: f"'? {first[1].upper()}", message)
    message = re.sub(r"(?<!\w)'[^'\n]{150,}'(?!\w)", lambda name: f"{name[0][:60]}…'", message)
    return re.sub(r"\S{120,}", lambda word: f"{word[0][:60]}…", message)


def shown(value: object) -> str:
    """Return a value as text for a message, on one line and not too long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _closest(name: str, folded: Iterable[str]) -> list[str]:
    """Return the closest name as a list of one or none; a name with the same letters in another order wins
    if it is among the three closest.
    """
    from difflib import get_close_matches  # imported here: only a mistake needs it

    close = get_close_matches(name.casefold(), list(folded), n=3)
    return sorted(close, key=lambda found: sorted(found) != sorted(name.casefold()))[:1]


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: "; did you mean 'x'?", or "" if no known name is
    close.
    """
    if not isinstance(name, str):
        return ""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = _closest(name, by_folded)
    return f"; did you mean '{by_folded[close[0]]}'?" if close else ""


def nearest_file(name: str, known: Iterable[str]) -> str:
    """Return the same as `nearest` for file names, compared without their suffixes."""
    by_stem = {PurePath(candidate).stem: candidate for candidate in known}
    close = _closest(PurePath(name).stem, [stem.casefold() for stem in by_stem])
    found = [candidate for stem, candidate in by_stem.items() if stem.casefold() in close]
    return f"; did you mean '{found[0]}'?" if found else ""


def there_are(known: Iterable[str]) -> str:
    """Return the list of known names, as the end of a sentence about an unknown name: "there are x, y"."""
    names = list(known)
    return f"there {'is' if len(names) < 2 else 'are'} {', '.join(names) or 'none'}"


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the nearest known name, or all known names if none
    is close.
    """
    return nearest(name, known) or f"; {there_are(known)}"


def alternatives(known: Iterable[str]) -> str:
    """Return words as a choice: ".json, .txt or .html"."""
    *rest, last = known
    return f"{', '.join(rest)} or {last}" if rest else last


def outside() -> int:
    """Return the stacklevel at which a warning names the first caller outside this package."""
    level, frame = 1, sys._getframe(1)
    ours = ("armillary", "functools")  # functools calls functions whose values are cached
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ours:
        level, frame = level + 1, frame.f_back
    return level


def _pointer(text: str, column: int) -> str:
    """Return the line of `text` that holds the character at `column`, and a caret below it."""
    column = min(max(column, 0), len(text))
    start = text.rfind("\n", 0, column) + 1
    line = text[start:].partition("\n")[0]
    place = column - start
    if len(line) > _EXCERPT:
        first = min(max(place - _EXCERPT // 2, 0), len(line) - _EXCERPT)
        head, tail = "…" if first else "", "…" if first + _EXCERPT < len(line) else ""
        line, place = head + line[first : first + _EXCERPT] + tail, place - first + len(head)
    margin = "".join("\t" if character == "\t" else " " for character in line[:place])
    return f"    {line}\n    {margin}^"
