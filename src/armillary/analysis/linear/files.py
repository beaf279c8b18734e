"""Linear models as JSON files, and reports of them."""

from __future__ import annotations

import os
from dataclasses import asdict

import numpy as np

from armillary.analysis.linear.matrices import LinearMatrices
from armillary.analysis.linear.report import html_report, text_report
from armillary.analysis.result_files import json_text, read_result, write_result
from armillary.errors import ArmillaryError
from armillary.program.derivatives.linearization import Variable
from armillary.untyped import DataTable

_FORMAT = 1
_ARRAYS = ("A", "B", "C", "D", "time", "state", "memory")
_GROUPS = ("states", "inputs", "outputs")


def save_linear(lin: LinearMatrices, path: str | os.PathLike[str]) -> None:
    """A file that `load_linear` reads back exactly, or a report."""
    texts = {
        ".json": lambda: json_text(_content(lin)),
        ".txt": lambda: text_report(lin) + "\n",
        ".html": lambda: html_report(lin) + "\n",
    }
    write_result(path, "a linear model", texts)


def _content(lin: LinearMatrices) -> DataTable:
    content: DataTable = {"armillary_linear_model": _FORMAT, "system": lin.system, "note": lin.note}
    content |= {name: np.asarray(getattr(lin, name)).tolist() for name in _ARRAYS}
    content["shapes"] = {name: list(np.shape(getattr(lin, name))) for name in _ARRAYS}
    content["step"] = lin.step
    content |= {g: [asdict(v) for v in group] for g, group in zip(_GROUPS, lin.variables, strict=True)}
    content["parameters"] = {n: np.asarray(v).tolist() for n, v in lin.parameters.items()}
    content["operating_point"] = {n: np.asarray(v).tolist() for n, v in lin.operating_point.items()}
    return content


def read_linear(path: str | os.PathLike[str]) -> DataTable:
    """The fields of the linear model in a file."""
    content = read_result(path, "a linear model", "armillary_linear_model")
    try:
        if content["armillary_linear_model"] != _FORMAT:
            raise KeyError
        shapes = content["shapes"]
        arrays: DataTable = {n: np.array(content[n], dtype=float).reshape(shapes[n]) for n in _ARRAYS}
        x, v, y = (tuple(Variable(**item) for item in content[g]) for g in _GROUPS)
        if arrays["A"].ndim == 2:
            arrays["time"] = float(arrays["time"])
        values: DataTable = {
            key: {n: np.array(x) if isinstance(x, list) else x for n, x in content[key].items()}
            for key in ("parameters", "operating_point")
        }
        fields = {key: content[key] for key in ("system", "step", "note")}
        return {**fields, "variables": (x, v, y), **arrays, **values}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ArmillaryError(f"'{path}' is not a linear model that this Armillary wrote") from None
