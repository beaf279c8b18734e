"""Reports of linear models: the operating point, the matrices, the poles."""

from __future__ import annotations

import numpy as np

from armillary.analysis.linear.matrices import LinearMatrices
from armillary.columns import aligned, html_table, html_text
from armillary.results.record import label_units

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
