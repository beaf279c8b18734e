"""Linear models as JSON files, and reports of them."""

from __future__ import annotations

import os
from dataclasses import asdict

import numpy as np

from armillary.analysis.linear.matrices import LinearMatrices
from armillary.analysis.result_files import json_text, read_result, write_result
from armillary.columns import aligned, html_table, html_text
from armillary.errors import ArmillaryError
from armillary.program.derivatives.linearization import Variable
from armillary.results.record import label_units
from armillary.untyped import DataTable

# Reports of linear models: the operating point, the matrices, the poles.

Table = tuple[str, list[str], list[list[str]], str]

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em; }} td, th {{ padding: 0 0.8em 0 0; }}
caption {{ text-align: left; font-weight: bold; padding: 1em 0 0.3em; }}</style></head>
<body><h1>{title}</h1>{body}</body></html>"""


def text_report(lin: LinearMatrices) -> str:
    """As lines of text."""
    lines = [repr(lin)]
    for title, header, rows, sides in _tables(lin):
        lines += ["", title, *(f"  {line}" for line in aligned([header, *rows], sides))]
    return "\n".join(lines)


def html_report(lin: LinearMatrices) -> str:
    """As a page."""
    parts = [html_table(header, rows, sides, caption=title) for title, header, rows, sides in _tables(lin)]
    title = html_text(f"Linear model of {lin.system}")
    return html_page(title, f"<p>{html_text(repr(lin))}</p>" + "".join(parts))


def html_page(title: str, body: str) -> str:
    """A page with a title and a body, which are HTML."""
    return _PAGE.format(title=title, body=body)


def _tables(lin: LinearMatrices) -> list[Table]:
    if lin.many:
        return []
    found: list[Table] = []
    if lin.operating_point:
        units = lin.units
        rows = [[n, f"{x:.6g}", label_units(units.get(n, ""))] for n, x in lin.operating_point.items()]
        found.append((f"operating point at t = {float(lin.time):g} s", ["", "value", "units"], rows, "<><"))
    for title, header, rows in lin.tables():
        found.append((title, header, rows, "<" + ">" * (len(header) - 1)))
    found.append(
        ("poles", ["real (1/s)", "imaginary (1/s)", "frequency (Hz)", "damping"], _poles(lin), ">>>>")
    )
    return found


def _poles(lin: LinearMatrices) -> list[list[str]]:
    poles = lin.poles() if lin.step is None else np.log(lin.poles() + 0j) / lin.step
    small = 1e-9 * np.max(np.abs(poles), initial=0.0)
    rows = []
    for p in sorted(poles, key=lambda p: (abs(p), p.imag)):
        if p.imag < -small:
            continue
        size = abs(p)
        damping = f"{-p.real / size:.4g}" if size > small else ""
        frequency = f"{size / 2 / np.pi:.4g}" if p.imag > small else ""
        real, imaginary = (f"{0.0 if abs(x) <= small else x:.5g}" for x in (p.real, p.imag))
        rows.append([real, f"±{imaginary}" if p.imag > small else "", frequency, damping])
    return rows


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
