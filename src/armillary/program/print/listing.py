"""Programs as text for people: assignments with readable names, and a report of a derivation."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from armillary.algebra.arguments import one_of
from armillary.algebra.expression import Expr, symbol
from armillary.algebra.node import text
from armillary.algebra.walk import operands_first, rebuild
from armillary.errors import ModelError
from armillary.program.cost import node_operations
from armillary.program.passes import Graph
from armillary.program.program import ProgramSection

if TYPE_CHECKING:
    from armillary.program.equations import DerivedEquations


class Text(str):
    """Text that shows itself as lines where an interpreter or notebook would show a quoted string."""

    def __repr__(self) -> str:
        return str(self)


def listing(equations: DerivedEquations, section: str) -> Text:
    """One section: a heading with its cost, then an assignment per line."""
    sections = {s.name: s for s in equations.program.sections()}
    one_of(section, sections, "no section ", ModelError)
    chosen = sections[section]
    names = assigned_names(chosen)
    lines = [*(f"# {line}" for line in equations.judged.lines()), f"{chosen.name}: {chosen.operations}"]
    known: dict[Expr, str] = {}  # operands come first, so a node meets the names of all its parts
    for node in chosen.nodes:
        if node in names:
            lines.append(f"  {names[node]} = {text(node.args[0] if node.kind == 'let' else node, known)}")
            known[node] = names[node]
    for label, result in zip(chosen.labels, chosen.results, strict=True):
        lines.append(f"  {label} = {text(result, names)}")
    return Text("\n".join(lines))


def assigned_names(section: ProgramSection) -> dict[Expr, str]:
    """Return names for the nodes of a section that get an assignment: intermediate values, and operations
    used more than once.
    """
    graph = Graph(section.results)
    counted = graph.uses
    taken = {*section.labels, *(n.data.name for n in graph.order if n.kind == "symbol")}
    names: dict[Expr, str] = {}
    numbers: dict[str, int] = {}
    for node in section.nodes:
        shared = counted[node] > 1 and node_operations(node).total > 0
        if node.kind != "let" and not shared:
            continue
        names[node] = _fresh(_stem(node), taken, numbers)
    return names


def in_steps(
    results: Sequence[Expr], names: Mapping[Expr, str]
) -> tuple[list[tuple[Expr, Expr]], list[Expr]]:
    """Named nodes as symbols with their definitions, in order; and the results in these symbols."""
    shown: dict[Expr, Expr] = {}
    steps: list[tuple[Expr, Expr]] = []
    for node in operands_first(results):
        inner = node.args[0] if node.kind == "let" and node in names else None
        args = [shown[a] for a in node.args]
        same = all([x is y for x, y in zip(args, node.args, strict=True)])
        value = shown[inner] if inner is not None else node if same else rebuild(node, args)
        shown[node] = value
        if node in names:
            shown[node] = symbol(names[node], "variable")
            steps.append((shown[node], value))
    return steps, [shown[result] for result in results]


def _stem(node: Expr) -> str:
    if node.kind == "let":
        return re.sub(r"\W", "_", node.data)
    if (
        node.kind == "call"
        and isinstance(node.data, str)
        and len(node.args) == 1
        and node.args[0].kind == "symbol"
    ):
        return re.sub(r"\W", "_", f"{node.data}_{node.args[0].data.name}")
    return "z"


def _fresh(stem: str, taken: set[str], numbers: dict[str, int]) -> str:
    name = stem
    while name in taken or keyword.iskeyword(name) or name == "z":
        numbers[stem] = numbers.get(stem, 0) + 1
        name = f"{stem}{numbers[stem]}" if stem == "z" else f"{stem}_{numbers[stem]}"
        if name not in taken:
            break
    taken.add(name)
    return name


def _constraint_lines(equations: DerivedEquations) -> list[str]:
    """Each constraint with the speed that it eliminates, or that it is redundant; given and locked
    speeds.
    """
    by_constraint = {name: speed for speed, name in equations.dependents.items()}
    lines = []
    if equations.system.constraints:
        lines += ["", f"  {'constraint':<28}{'eliminates':<14}meaning"]
    for name, constraint in equations.system.constraints.items():
        otherwise = "redundant" if name in equations.redundant_constraints else "multiplier"
        lines.append(f"  {name:<28}{by_constraint.get(name, otherwise):<14}{constraint.about}")
    for given in equations.reduction.given.values():
        how = (
            "locked"
            if given.speed.data.name in equations.configuration.locked
            else f"prescribed: {given.value}"
        )
        lines.append(f"  {given.speed.data.name} is {how}")
    return lines


def report(equations: DerivedEquations) -> Text:
    """A page about a derivation: bodies, cost by section, gains by pass, seconds by stage."""
    system = equations.system
    lines = [f"{system.name}: {len(system.bodies)} bodies, {equations.freedom}", ""]
    joints = [body.joint.describe() for body in system.bodies.values()]
    wide = max(34, *map(len, joints)) + 2
    lines.append(f"  {'body':<14}{'parent':<14}{'joint':<{wide}}coordinates")
    for body in system.bodies.values():
        parent = body.parent.name if body.parent else ""
        q = ", ".join(s.data.name for s in body.coordinates)
        lines.append(f"  {body.name:<14}{parent:<14}{body.joint.describe():<{wide}}{q}")
    chosen = " (the cheapest of those tried)" if equations.considered else ""
    lines += ["", f"  formalism: {equations.formalism}{chosen}"]
    lines += [f"    {tried}" for tried in equations.considered]
    lines.append(f"  derivatives(): {equations.operations}")
    if equations.paired.total:
        lines.append(f"  of which in pairs: {equations.paired}")
    lines += [f"  search, {found.name}: {found.before} became {found.after}" for found in equations.searched]
    lines.append(f"  precomputed: {len(equations.program.constants)} constants")
    lines += [f"  {line}" for line in equations.judged.lines()]
    lines += _constraint_lines(equations)
    lines += ["", f"  {'pass':<16}{'+':>8}{'×':>8}{'÷':>6}{'functions':>12}"]
    for gain in equations.gains:
        o = gain.after
        lines.append(
            f"  {gain.name:<16}{o.additions:>8}{o.multiplications:>8}{o.divisions:>6}{o.functions:>12}"
        )
    lines += ["", f"  {'stage':<16}{'seconds':>10}   operations"]
    for stage in equations.stages:
        lines.append(f"  {stage.name:<16}{stage.seconds:>10.4f}   {stage.operations or ''}")
    return Text("\n".join(lines))
