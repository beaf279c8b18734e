"""Derived equations as a document: LaTeX, or one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from armillary.algebra.expression import Expr, symbol
from armillary.algebra.notation.latex import latex, name_latex
from armillary.algebra.notation.mathml import mathml, name_mathml
from armillary.algebra.walk import transform
from armillary.columns import html_table
from armillary.program.listing import assigned_names
from armillary.program.program import Section

if TYPE_CHECKING:
    from armillary.program.equations import DerivedEquations


class Assignment(NamedTuple):
    """One line of a section: a name and what it is, in names of earlier lines."""

    name: str
    value: Expr
    result: bool  # a result of the section, not an intermediate value


def assignments(section: Section) -> Iterator[Assignment]:
    """The lines of a section in order."""
    names = assigned_names(section)
    known: dict[Expr, Expr] = {}  # operands come first, so a line meets the names of all its parts
    for node in section.nodes:
        if node in names:
            inner = node.args[0] if node.kind == "let" else node
            yield Assignment(names[node], transform([inner], known.get)[0], False)
            known[node] = symbol(names[node], "variable")
    for label, result in zip(section.labels, section.results, strict=True):
        yield Assignment(label, transform([result], known.get)[0], True)


def latex_document(equations: DerivedEquations, sections: list[Section]) -> str:
    """A LaTeX article with the equations of sections."""
    system = equations.system
    lines = [
        r"\documentclass{article}",
        r"\usepackage{amsmath}",
        r"\usepackage[margin=20mm]{geometry}",
        r"\allowdisplaybreaks",
        rf"\title{{{_tex(system.name)}: equations of motion}}",
        rf"\author{{formalism {_tex(equations.formalism)}, {_tex(str(equations.operations))}}}",
        r"\date{}",
        r"\begin{document}",
        r"\maketitle",
    ]
    for section in sections:
        lines += [rf"\section*{{{_tex(section.name)}}}", _tex(str(section.operations)) + "."]
        for line in assignments(section):
            lines.append(rf"\[ {name_latex(line.name)} = {latex(line.value)} \]")
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def _tex(text: str) -> str:
    plain = {"\\": r"\textbackslash{}", "×": r"$\times$", "÷": r"$\div$", "~": r"\textasciitilde{}"}
    special = plain | {"^": r"\textasciicircum{}"} | {c: "\\" + c for c in "_%&#${}"}
    return "".join(special.get(c, c) for c in text)


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #d0d7de; --faint: #57606a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --faint: #9198a1; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; } caption { text-align: left; font-weight: 600; }
td, th { border-bottom: 1px solid var(--line); padding: .2rem .8rem .2rem 0; text-align: left; }
.equation { overflow-x: auto; padding: .25rem 0; }
.result { border-left: 3px solid #0969da; padding-left: .6rem; }
.faint { color: var(--faint); }
"""


def html_page(equations: DerivedEquations, sections: list[Section]) -> str:
    """A page with bodies, states, parameters and the equations of sections, as MathML."""
    from armillary.model.parameter_descriptions import parameter_descriptions

    system = equations.system
    bodies = [
        [b.name, b.parent.name if b.parent else "", b.joint.describe(),
         ", ".join(q.data.name for q in b.coordinates)]
        for b in system.bodies.values()
    ]  # fmt: skip
    states = [[s.data.name, s.data.units or "", s.data.about] for s in system.moving()]
    about, defaults = parameter_descriptions(system), equations.parameters
    parameters = [
        [name, "" if defaults[name] is None else f"{defaults[name]:.9g}", units, about[name]]
        for name, units in equations.parameter_units.items()
    ]
    parts = [
        f"<h1>{escape(system.name)}</h1>",
        f"<p class=faint>{len(system.bodies)} bodies, {escape(equations.freedom)}; "
        f"formalism {escape(equations.formalism)}; derivatives: {escape(str(equations.operations))}</p>",
        html_table(["body", "parent", "joint", "coordinates"], bodies, caption="Bodies"),
        html_table(["name", "units", "meaning"], states, caption="Coordinates and speeds"),
        html_table(["name", "default", "units", "meaning"], parameters, caption="Parameters"),
    ]
    for section in sections:
        parts.append(f"<h2>{escape(section.name)}</h2><p class=faint>{escape(str(section.operations))}</p>")
        for line in assignments(section):
            kind = "equation result" if line.result else "equation"
            parts.append(
                f'<div class="{kind}"><math displaystyle="true">{name_mathml(line.name)}<mo>=</mo>'
                f"{mathml(line.value)}</math></div>"
            )
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(system.name)}: equations of motion</title><style>{_STYLE}</style></head>
<body>
{chr(10).join(parts)}
</body></html>
"""
