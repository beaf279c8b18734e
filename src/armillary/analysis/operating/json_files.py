"""Operating points and branches as JSON files."""

from __future__ import annotations

import os
from dataclasses import fields

import numpy as np

from armillary.analysis.result_files import json_text, read_result, write_result
from armillary.untyped import DataTable, Given

_POINT = "armillary_operating_point"
_LEFT_OUT = ("others", "problem", "stability")


def write_json(path: str | os.PathLike[str], what: str, content: DataTable) -> None:
    """A file of plain values."""
    write_result(path, what, {".json": lambda: json_text(content)})


def point_content(point: Given) -> DataTable:
    """The values of an operating point as plain data."""
    content: DataTable = {_POINT: 1}
    for f in fields(point):
        if f.name not in _LEFT_OUT:
            value = getattr(point, f.name)
            content[f.name] = value.tolist() if isinstance(value, np.ndarray) else value
    roots = point.eigenvalues
    if point.stability is not None:
        own = point.stability
        content["eigenvalues"] = {"real": roots.real.tolist(), "imaginary": roots.imag.tolist()}
        content |= {"growing": own.growing, "neutral": own.neutral, "limit": own.limit}
    return content


def read_point(path: str | os.PathLike[str]) -> DataTable:
    """The content of a file of `OperatingPoint.save`."""
    return read_result(path, "an operating point", _POINT)
