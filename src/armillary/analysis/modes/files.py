"""Results of modal analyses as JSON files, complex arrays as real and imaginary parts; and as reports."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from armillary.analysis.linear.files import html_page
from armillary.analysis.modes.shapes import by_share
from armillary.analysis.result_files import json_text, read_result, write_result
from armillary.columns import html_text
from armillary.errors import ArmillaryError
from armillary.untyped import DataTable, Given

_VERSION = 1


class Shown(Protocol):
    """A result with a table for terminals and one for notebooks."""

    @property
    def system(self) -> str: ...

    def _repr_html_(self) -> str: ...


def write(path: str | os.PathLike[str], kind: str, data: Mapping[str, object], shown: Shown) -> None:
    """A .json file of this kind with the data; or a report of it, .txt or .html."""
    head = {"armillary": kind, "version": _VERSION}
    title = html_text(f"{kind.capitalize()} of {shown.system}")
    texts = {
        ".json": lambda: json_text(head | {name: _plain(x) for name, x in data.items()}, None),
        ".txt": lambda: f"{shown}\n",
        ".html": lambda: html_page(title, shown._repr_html_()),
    }
    write_result(path, _kind_in_sentence(kind), texts)


def read(path: str | os.PathLike[str], kind: str) -> DataTable:
    """The data of a file of this kind."""
    content = read_result(path, f"a file of {_kind_in_sentence(kind)}", "armillary")
    if content.pop("armillary") != kind:
        raise ArmillaryError(f"'{path}' is not a file of {_kind_in_sentence(kind)}")
    if content.pop("version", None) != _VERSION:
        raise ArmillaryError(f"'{path}' was written by a newer Armillary; update this one to read it")
    return {name: _array(x) for name, x in content.items()}


def _kind_in_sentence(kind: str) -> str:
    """The kind in a sentence: modes, a root locus."""
    return kind if kind.endswith("modes") else f"a {kind}"


def _plain(value: object) -> Given:
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


def _array(value: object) -> Given:
    if not isinstance(value, dict):
        return value
    if not isinstance(value.get("shape"), list):  # a table; a name in it may be "shape"
        return {name: _array(x) for name, x in value.items()}
    found = np.array([np.nan if x is None else x for x in value["real"]], dtype=float)
    if "imag" in value:
        imaginary = np.array([np.nan if x is None else x for x in value["imag"]], dtype=float)
        found = found + 1j * imaginary
    found = found.reshape(value["shape"])
    found.setflags(write=False)
    return found


# Eigenvalues and participation as people read them.

_ENOUGH = 0.8  # of a mode: so much of it is named in words
_FEW = 0.1  # coordinates with less of a mode are not named after the first
_MOST = 3  # coordinates that are named
ROUNDING = 1e-12  # real parts below this part of |λ| count as none


def in_words(shares: np.ndarray, names: Sequence[str]) -> str:
    """The coordinates that make up most of a mode: 62 % lean.q1, 30 % fork.q1."""
    parts: list[str] = []
    reached = 0.0
    for k in by_share(shares)[:_MOST]:
        if parts and (reached >= _ENOUGH or shares[k] < _FEW):
            break
        parts.append(f"{100 * shares[k]:.0f} % {names[k]}")
        reached += float(shares[k])
    return ", ".join(parts)


def eigenvalue_text(value: complex, *, pair: bool = False) -> str:
    """An eigenvalue, or a pair of them, without a real part that is rounding."""
    growth = value.real if abs(value.real) > ROUNDING * abs(value) else 0.0
    if not value.imag:
        return f"{growth:.6g}"
    sign = "±" if pair else "+" if value.imag > 0 else "-"
    return f"{growth:.6g} {sign} {abs(value.imag):.6g}i"
