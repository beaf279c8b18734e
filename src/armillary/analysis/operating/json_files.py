"""Operating points and branches as JSON files."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from typing import Any

import numpy as np

from armillary.algebra.arguments import file_path
from armillary.atomic import replacing
from armillary.errors import ArmillaryError

_POINT = "armillary_operating_point"
_LEFT_OUT = ("others", "problem", "stability")


def write_json(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """A file of plain values, whole or not at all."""
    target = file_path(path, "path")
    if target.suffix.lower() != ".json":
        raise ArmillaryError(f"'{target.name}' must end in .json")
    with replacing(target) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def point_content(point: Any) -> dict[str, Any]:
    """The values of an operating point as plain data."""
    content: dict[str, Any] = {_POINT: 1}
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


def read_point(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a file of `OperatingPoint.save`."""
    target = file_path(path, "path")
    try:
        found = json.loads(target.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArmillaryError(f"there is no file '{target}'") from None
    except (OSError, ValueError) as error:
        raise ArmillaryError(f"'{target}' cannot be read as an operating point: {error}") from error
    if not isinstance(found, dict) or _POINT not in found:
        raise ArmillaryError(f"'{target}' is no file of OperatingPoint.save")
    return found
