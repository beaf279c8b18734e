"""Results of analyses as files: JSON that is read back, and reports as text or as a page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import ClassVar, Self

import numpy as np

from armillary.algebra.arguments import file_path
from armillary.errors import ArmillaryError, alternatives, shown
from armillary.limited_files import UnreadableFileError, read_limited, write_file
from armillary.results.run import PickledValue
from armillary.text_tables import html_text
from armillary.untyped import DataTable, Given

_LARGEST = 2**30  # bytes
_VERSION = 1
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em; }} td, th {{ padding: 0 0.8em 0 0; }}
caption {{ text-align: left; font-weight: bold; padding: 1em 0 0.3em; }}</style></head>
<body><h1>{title}</h1>{body}</body></html>"""


class SavedResult(PickledValue):
    """A dataclass that saves itself as JSON and loads itself again.

    Fields named in ``_of_process``, such as compiled functions, are not saved. ``_kind`` names the files in
    messages. Files are recognised by the key ``_mark``: its value is the version of the format or, if the key
    is "armillary", the kind. Subclasses override ``_file_data`` and ``_from_file`` if their files hold
    anything else than the fields.
    """

    _kind: ClassVar[str]  # a noun with its article, such as "a branch"
    _mark: ClassVar[str] = "armillary"

    def _file_data(self) -> DataTable:
        # mypy: all subclasses are dataclasses.
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self._of_process}  # type: ignore[arg-type]

    @classmethod
    def _from_file(cls, data: DataTable) -> Self:
        # mypy: all subclasses are dataclasses.
        known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
        given = ((name, tuple(x) if isinstance(x, list) else x) for name, x in data.items())
        return cls(**{name: x for name, x in given if name in known})

    def _report(self) -> tuple[str, str]:
        """Return the report as text, and as the body of a page."""
        return str(self), self._repr_html_()

    def _repr_html_(self) -> str:
        raise NotImplementedError

    @classmethod
    def _marks(cls) -> DataTable:
        if cls._mark != "armillary":
            return {cls._mark: _VERSION}
        return {"armillary": cls._kind.removeprefix("a "), "version": _VERSION}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .json file, which ``load`` reads exactly, or a report, .txt or .html."""
        what, system = self._kind.removeprefix("a ").removeprefix("an "), vars(self)["system"]
        title = html_text(f"{what[0].upper()}{what[1:]} of {system}")
        texts = {
            ".json": lambda: json_text(self._marks() | _plain_value(self._file_data())),
            ".txt": lambda: f"{self._report()[0]}\n",
            ".html": lambda: _PAGE.format(title=title, body=self._report()[1]) + "\n",
        }
        write_result(path, self._kind, texts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the result in a file that ``save`` has written."""
        content = read_result(path, cls._kind, cls._mark)
        for key, value in cls._marks().items():
            found = content.pop(key, None)
            if found != value:
                newer = "; it was written by a newer Armillary" if isinstance(found, int) else ""
                raise ArmillaryError(f"'{path}' is not {cls._kind} that this Armillary reads{newer}")
        with refuse_damage(path, cls._kind):
            made = cls._from_file(_array_from(content))
            str(made), repr(made), made._report()
        return made


def write_result(path: str | os.PathLike[str], what: str, texts: Mapping[str, Callable[[], str]]) -> None:
    """Write the text that belongs to the suffix of a path, completely or not at all."""
    target = file_path(path, "path")
    text = texts.get(target.suffix.lower())
    if text is None:
        option = "" if target.suffix else "; outputs of the model are named by outputs=, or --outputs"
        raise ArmillaryError(f"{what} cannot be saved as '{target.name}': use {alternatives(texts)}{option}")
    content = text()
    write_file(target, content)


def json_text(content: Mapping[str, object], indent: int | None = 1) -> str:
    return json.dumps(content, ensure_ascii=False, indent=indent)


@contextmanager
def refuse_damage(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn exceptions raised by the content of a file into an error that names the file.

    A file may lack parts, or have wrong ones, in more ways than checks could list. Callers therefore make the
    object and show it once in this context: an object that can be printed has all its parts.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, ArmillaryError) and f"'{path}'" in str(error):
            raise
        raise ArmillaryError(
            f"'{path}' is not {what} that this Armillary wrote, or is damaged ({shown(error)})"
        ) from error


def read_result(path: str | os.PathLike[str], what: str, key: str) -> DataTable:
    """Return the content of a JSON file; ``key`` marks files of its kind."""
    target = file_path(path, "path")
    try:
        content = json.loads(read_limited(target, _LARGEST))
    except UnreadableFileError as error:
        raise ArmillaryError(f"cannot load '{path}': {error}") from None
    except (ValueError, RecursionError) as error:  # RecursionError: lists are nested too deeply
        raise ArmillaryError(
            f"'{path}' is not {what}, nor any other JSON file ({error}); only what was saved as .json is read"
        ) from error
    if not isinstance(content, dict) or key not in content:
        raise ArmillaryError(f"'{path}' is not {what} that Armillary wrote")
    return content


def _plain_value(value: object) -> Given:
    """Return a value as plain data; arrays have their shape and, row by row, their numbers."""
    if isinstance(value, np.ndarray):
        found: DataTable = {"shape": list(value.shape), "real": finite_or_null(value.real)}
        return found | ({"imag": finite_or_null(value.imag)} if np.iscomplexobj(value) else {})
    if isinstance(value, Mapping):
        return {name: _plain_value(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_value(x) for x in value]
    return value


def finite_or_null(values: np.ndarray) -> list[float | None]:
    """Return numbers as a list, with null for each that is not finite."""
    return [float(x) if np.isfinite(x) else None for x in values.ravel()]


def _array_from(value: object) -> Given:
    if not isinstance(value, dict):
        return value
    if not isinstance(value.get("shape"), list) or not value.keys() <= {"shape", "real", "imag"}:
        return {name: _array_from(x) for name, x in value.items()}
    found = np.array([np.nan if x is None else x for x in value["real"]], dtype=float)
    if "imag" in value:
        found = found + 1j * np.array([np.nan if x is None else x for x in value["imag"]], dtype=float)
    found = found.reshape(value["shape"])
    found.setflags(write=False)
    return found
