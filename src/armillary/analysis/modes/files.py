"""Results of modal analyses as JSON files, complex arrays as real and imaginary parts; and as reports."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from armillary.algebra.arguments import file_path
from armillary.analysis.linear.report import html_page
from armillary.atomic import replacing
from armillary.columns import html_text
from armillary.errors import ArmillaryError

_VERSION = 1


class Shown(Protocol):
    """What has a table for terminals and one for notebooks."""

    @property
    def system(self) -> str: ...

    def _repr_html_(self) -> str: ...


def write(path: str | os.PathLike[str], kind: str, data: Mapping[str, Any], shown: Shown) -> None:
    """A .json file of this kind with the data; or a report of it, .txt or .html."""
    suffix = file_path(path, "path").suffix.lower()
    if suffix == ".json":
        content = {"armillary": kind, "version": _VERSION, **{name: _plain(x) for name, x in data.items()}}
        text = json.dumps(content, ensure_ascii=False)
    elif suffix == ".txt":
        text = f"{shown}\n"
    elif suffix == ".html":
        text = html_page(html_text(f"{kind.capitalize()} of {shown.system}"), shown._repr_html_())
    else:
        raise ArmillaryError(
            f"{kind} cannot be saved as '{Path(path).name}': use .json, or .txt or .html for a report"
        )
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """The data of a file of this kind."""
    try:
        content = json.loads(file_path(path, "path").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArmillaryError(f"there is no file '{path}'") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ArmillaryError(f"'{path}' is not a JSON file of {kind}: {error}") from error
    if not isinstance(content, dict) or content.pop("armillary", None) != kind:
        raise ArmillaryError(f"'{path}' is not a file of {kind}")
    if content.pop("version", None) != _VERSION:
        raise ArmillaryError(f"'{path}' was written by a newer Armillary; update this one to read it")
    return {name: _array(x) for name, x in content.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if np.iscomplexobj(value):
            return {"shape": list(value.shape), "real": _finite(value.real), "imag": _finite(value.imag)}
        return {"shape": list(value.shape), "real": _finite(value)}
    if isinstance(value, Mapping):
        return {name: _plain(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    return value


def _finite(values: np.ndarray) -> list[float | None]:
    """Numbers in a row, null for what is none."""
    return [float(x) if np.isfinite(x) else None for x in values.ravel()]


def _array(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "shape" not in value:
        return {name: _array(x) for name, x in value.items()}
    found = np.array([np.nan if x is None else x for x in value["real"]], dtype=float)
    if "imag" in value:
        found = found + 1j * np.array([np.nan if x is None else x for x in value["imag"]], dtype=float)
    found = found.reshape(value["shape"])
    found.setflags(write=False)
    return found
