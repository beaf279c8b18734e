"""The checker of programs: the rules of a legal program, and errors that show the lines around a fault.

Nodes, in every graph between passes and in every section:

 1. A node is a number, a symbol, a ``let``, a ``sum``, a ``product`` or a ``call``.
 2. No node has a dimension: units are checked before the derivation starts.
 3. Numbers are finite: values, coefficients and exponents; coefficients of terms and exponents are not zero.
 4. A sum or product has one coefficient or exponent per operand, and no operand twice. A ``let`` has one
    operand. A call has as many arguments as its function takes.
 5. A symbol is an input of its section. Between passes all parameters and named constants are inputs, too.
 6. After the pass ``hoist`` constant operands of variable nodes are numbers or symbols.

Graphs after a pass:

 7. A pass keeps the number of results.

Sections of the finished program:

 8. There are as many labels as results.
 9. A section lists the nodes it computes, each once and after its operands. It lists no numbers or symbols,
    and no node that no result needs. Each result is listed, or is a number or an input.
10. ``precompute`` reads parameters and computes constants; ``normalise`` reads the state; the other sections
    read time, state, constants and memory, and compute nothing constant. Sections for steps of an integrator
    (``stepping``) read ``inputs``, too.
11. No variable sum or product has more than ``MANY`` operands (see passes/rewrites.py).
12. The operation count of a section is the operation count of its nodes.
13. The nodes of a pack are adjacent and come after all their operands; no node is in two packs. They are the
    same operation, and the columns of the pack are their operands, with their coefficients or exponents.

The program:

14. Parameters, constants, state, memory and inputs are symbols; each occurs once, in one of these lists
    (but a parameter may be a constant, too).
15. ``precompute`` has one result per constant, and each constant is read by a section or is a size.
16. ``derivatives`` has one result per state, ``update`` one per memory or none, each ``fire`` section one per
    memory and state. There is one ``fire`` section per event.
17. ``quaternions`` are indices in the state of four elements each, without overlap. ``renewed`` are distinct
    indices in the state, one per result of ``normalise``, and ``corrected``, one per result of ``correct``.
18. Sizes are numbers or constants. There are no sizes of coordinates, or one per corrected coordinate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from armillary.algebra.expression import Expr
from armillary.algebra.functions import BY_NAME, CONDITIONS
from armillary.algebra.node import text
from armillary.algebra.units import ONE
from armillary.algebra.walk import operands_first
from armillary.program.branch_packs import strip_lets
from armillary.program.packs import pack_section
from armillary.program.passes.graph import Graph, sum_operations
from armillary.program.passes.rewrites import MANY, Constants, holds_unnamed, is_unnamed
from armillary.program.program import Program, ProgramSection
from armillary.program.targets.targets import Targets

CONTEXT = 5  # lines shown before and after a fault
_WIDTH = 90  # most characters of a line that are shown
_ARITIES = {
    **{name: arity for name, (_, arity) in BY_NAME.items() if name not in ("sqrt", "hypot")},
    **{name: 2 for name in (*CONDITIONS, "pow")},
    "not": 1,
}

Fault = Callable[[int, str], Exception]  # makes an error from a line number and a message


class IllegalProgram(RuntimeError):
    """A program that violates a rule of the specification: an error of Armillary, not of the model."""


class PassChecker:
    """Checks of the graph of each section after each pass, before the sections are made."""

    def __init__(self, wanted: Targets, parameters: Sequence[Expr], constants: Constants) -> None:
        self._inputs = {
            wanted.time, *wanted.integrated, *wanted.carried, *wanted.memory, *wanted.inputs, *parameters,
        }  # fmt: skip
        self._constants = constants

    def section(self, name: str, roots: Sequence[Expr]) -> Callable[[str, Graph], None]:
        """Check a section's results before any pass; return the check to call after each pass."""

        def after(step: str, graph: Graph) -> None:
            def fault(line: int, message: str) -> Exception:
                return _fault(f"after {step}, section '{name}'", graph.order, line, message)

            if len(graph.roots) != len(roots):
                raise fault(-1, f"{len(roots)} results became {len(graph.roots)}")
            _check_nodes(graph.order, self._inputs | self._constants.definitions.keys(), fault)
            if step == "hoist":
                for i, node in enumerate(graph.order):
                    if is_unnamed(node) or holds_unnamed(node):
                        raise fault(i, "a constant without a name")

        after("the formalism", Graph(roots))
        return after


def check_program(program: Program) -> None:
    """Raise IllegalProgram unless the program and all its sections are legal."""
    everywhere = f"program '{program.name}'"
    _check_inputs(program)
    ordinary = {program.time, *program.state, *program.constants, *program.memory}
    check_section(program.precompute, program.parameters, constant=True)
    for section in program.sections()[1:]:
        inputs: Collection[Expr] = ordinary
        if section is program.normalise:
            inputs = program.state
        elif any([section is s for s in program.stepping]):
            inputs = ordinary | set(program.inputs)
        check_section(section, inputs)
        if section.results:
            check_section(pack_section(section, program.alike, {}), inputs)
    _check_results(program)
    read = {*program.correction_sizes, *program.speed_sizes, *program.row_sizes}
    for section in program.sections()[1:]:
        read.update(section.results, *[node.args for node in section.nodes])
    for constant in program.constants:
        if constant not in read:
            raise IllegalProgram(f"{everywhere}: no section reads the constant '{constant}'")


def check_section(section: ProgramSection, inputs: Collection[Expr], *, constant: bool = False) -> None:
    """Raise IllegalProgram unless a section with these inputs is legal; precompute is ``constant``."""

    def fault(line: int, message: str) -> Exception:
        return _fault(f"section '{section.name}'", section.nodes, line, message)

    if len(section.labels) != len(section.results):
        raise fault(-1, f"{len(section.labels)} labels for {len(section.results)} results")
    known = set(inputs)
    _check_nodes(section.nodes, known, fault)
    line_of = {node: i for i, node in enumerate(section.nodes)}
    for i, node in enumerate(section.nodes):
        if node.kind in ("number", "symbol"):
            raise fault(i, f"a {node.kind} is listed among the nodes to compute")
        if line_of[node] != i:
            raise fault(i, f"v{i + 1} is listed again in line {line_of[node] + 1}")
        if node.constant != constant:
            raise fault(i, "a variable in precompute" if constant else "a constant outside precompute")
        if not constant and node.kind in ("sum", "product") and len(node.args) > MANY:
            raise fault(i, f"{len(node.args)} operands, more than {MANY}")
        for operand in node.args:
            problem = _operand_fault(operand, line_of, i, known)
            if problem:
                raise fault(i, problem)
    for label, result in zip(section.labels, section.results, strict=True):
        problem = _operand_fault(result, line_of, len(line_of), known)
        if problem:
            raise fault(len(line_of) - 1, f"result '{label}': {problem}")
    needed = set(operands_first(section.results))
    for i, node in enumerate(section.nodes):
        if node not in needed:
            raise fault(i, "no result needs this node")
    _check_packs(section, line_of, fault)
    if section.operations != sum_operations(section.nodes):
        counted = sum_operations(section.nodes)
        raise fault(-1, f"the operations are given as {section.operations}, and counted as {counted}")


def _check_packs(section: ProgramSection, place: dict[Expr, int], fault: Fault) -> None:
    """Check rule 13."""
    seen: set[Expr] = set()
    for pack in section.packs:
        missing = [n for n in pack.lanes if n not in place]
        if missing:
            raise fault(
                -1, f"a pack holds '{text(missing[0], limit=40)}', which is not computed in this section"
            )
        first = place[pack.lanes[0]]
        if [place[n] for n in pack.lanes] != list(range(first, first + len(pack.lanes))):
            raise fault(first, "the nodes of its pack are not adjacent")
        if not seen.isdisjoint(pack.lanes):
            raise fault(first, "it is in two packs")
        seen.update(pack.lanes)
        for lane, node in enumerate(pack.lanes):
            given = [column[lane] for column in pack.operands]
            factors = [f[lane] for f in pack.factors]
            if not _same_operation(node, pack.lanes[0]):
                raise fault(first + lane, "the nodes of its pack are different operations")
            if node.kind == "call":
                same = given == [strip_lets(a) for a in node.args]
            else:
                same = Counter(zip(given, factors, strict=True)) == Counter(
                    zip(map(strip_lets, node.args), node.data[1], strict=True)
                )
            if not same:
                raise fault(first + lane, "the columns of its pack are not its operands")
            if any([place.get(a, -1) >= first for a in node.args]):
                raise fault(first + lane, "its operand is computed after the first node of its pack")


def _same_operation(a: Expr, b: Expr) -> bool:
    """Return whether two nodes are the same operation, up to their operands and numbers."""
    if a.kind != b.kind or len(a.args) != len(b.args):
        return False
    if a.kind == "sum":
        return bool(a.data[0]) == bool(b.data[0])
    return sorted(a.data[1]) == sorted(b.data[1]) if a.kind == "product" else bool(a.data == b.data)


def _operand_fault(operand: Expr, place: dict[Expr, int], line: int, inputs: set[Expr]) -> str:
    """Return the error in an operand of this line; "" if there is none."""
    if operand.kind == "number":
        return "" if math.isfinite(operand.data) else f"the number {operand.data} is not finite"
    if operand.kind == "symbol":
        return "" if operand in inputs else _foreign(operand)
    if operand not in place:
        return f"its operand '{text(operand, limit=40)}' is not computed in this section"
    if place[operand] >= line:
        return f"its operand v{place[operand] + 1} is computed later"
    return ""


def _check_nodes(nodes: Sequence[Expr], inputs: set[Expr], fault: Fault) -> None:
    """Check rules 1 to 5."""
    for i, node in enumerate(nodes):
        problem = _foreign(node) if node.kind == "symbol" and node not in inputs else _node_fault(node)
        if problem:
            raise fault(i, problem)


def _foreign(node: Expr) -> str:
    return f"'{node.data.name}' ({node.data.role}) is not an input of this section"


def _node_fault(node: Expr) -> str:
    """Return the error in a node apart from its operands; "" if there is none."""
    if node.dimension is not None and node.dimension is not ONE:
        return f"the {node.kind} has the dimension [{node.dimension}]"
    if node.kind in ("number", "symbol"):
        if node.args:
            return f"a {node.kind} has operands"
        finite = node.kind == "symbol" or math.isfinite(node.data)
        return "" if finite else f"the number {node.data} is not finite"
    if node.kind == "let":
        return "" if len(node.args) == 1 else f"a let has {len(node.args)} operands, not one"
    if node.kind in ("sum", "product"):
        return _arithmetic_fault(node)
    return _call_fault(node) if node.kind == "call" else f"there is no node of kind '{node.kind}'"


def _arithmetic_fault(node: Expr) -> str:
    number, factors = node.data
    word = "coefficient" if node.kind == "sum" else "exponent"
    if not node.args or len(factors) != len(node.args):
        return f"a {node.kind} has {len(node.args)} operands and {len(factors)} {word}s"
    if len(set(node.args)) != len(node.args):
        return f"a {node.kind} has the same operand twice"
    if any([a.kind == "number" for a in node.args]):
        return f"a {node.kind} has a number as an operand"
    if not all([math.isfinite(x) for x in (number, *factors)]):
        return f"a {node.kind} holds a number that is not finite"
    if 0 in factors:
        return f"a {node.kind} has the {word} 0"
    return "the product has the coefficient 0" if node.kind == "product" and number == 0 else ""


def _call_fault(node: Expr) -> str:
    if isinstance(node.data, str):
        if node.data not in _ARITIES:
            return f"there is no function '{node.data}'"
        name, arity = node.data, _ARITIES[node.data]
    else:  # a table or a foreign function
        name, arity = repr(node.data), len(node.data.argument_dimensions)
    return "" if len(node.args) == arity else f"{name} has {len(node.args)} arguments, not {arity}"


def _check_inputs(program: Program) -> None:
    """Check rule 14."""
    groups = {
        "parameters": program.parameters,
        "constants": program.constants,
        "state": program.state,
        "memory": program.memory,
        "inputs": program.inputs,
        "time": (program.time,),
    }
    home: dict[Expr, str] = {}
    for name, group in groups.items():
        for s in group:
            if s.kind != "symbol":
                raise IllegalProgram(f"program '{program.name}': '{s}' among its {name} is not a symbol")
            known = home.setdefault(s, name)
            if group.count(s) > 1:
                raise IllegalProgram(f"program '{program.name}': '{s}' is twice among its {name}")
            if known != name and (known, name) != ("parameters", "constants"):
                raise IllegalProgram(f"program '{program.name}': '{s}' is in its {known} and its {name}")


def _check_results(program: Program) -> None:
    """Check rules 15 to 18, except that each constant is read."""
    states, memories = len(program.state), len(program.memory)
    expected = {
        "precompute": (program.precompute, (len(program.constants),)),
        "derivatives": (program.derivatives, (states,)),
        "update": (program.update, (0, memories)),
        "normalise": (program.normalise, (len(program.renewed),)),
        "correct": (program.correct, (len(program.corrected),)),
        **{s.name: (s, (memories + states,)) for s in program.fire},
    }
    where = f"program '{program.name}'"
    quaternions = [q + i for q in program.quaternions for i in range(4)]
    lists = {
        "quaternions": quaternions,
        "renewed": list(program.renewed),
        "corrected": list(program.corrected),
    }
    for name, places in lists.items():
        outside = [p for p in places if not 0 <= p < states]
        if outside:
            raise IllegalProgram(f"{where}: {name} has the index {outside[0]}, outside of {states} states")
        if len(set(places)) != len(places):
            raise IllegalProgram(f"{where}: two indices of {name} overlap")
    for name, (section, counts) in expected.items():
        if len(section.results) not in counts:
            wanted = " or ".join(map(str, counts))
            raise IllegalProgram(f"{where}: '{name}' has {len(section.results)} results, not {wanted}")
    if len(program.fire) != len(program.events.results):
        raise IllegalProgram(
            f"{where}: {len(program.events.results)} events, and {len(program.fire)} sections for them"
        )
    if len(program.correction_sizes) not in (0, len(program.corrected)):
        raise IllegalProgram(
            f"{where}: {len(program.correction_sizes)} sizes of {len(program.corrected)} coordinates"
        )
    for size in (*program.correction_sizes, *program.speed_sizes, *program.row_sizes):
        if size.kind != "number" and size not in program.constants:
            raise IllegalProgram(f"{where}: the size '{size}' is neither a number nor a constant")


def _fault(where: str, nodes: Sequence[Expr], line: int, message: str) -> IllegalProgram:
    """Return the error for a fault in a line (from 0) with the lines around it; line −1 is no line."""
    if not 0 <= line < len(nodes):
        return IllegalProgram(f"{where}: {message}")
    names = {node: f"v{i + 1}" for i, node in enumerate(nodes) if node.kind not in ("number", "symbol")}
    lines = [f"{where}, line {line + 1}: {message}"]
    for i in range(max(line - CONTEXT, 0), min(line + CONTEXT + 1, len(nodes))):
        mark, name = ">" if i == line else " ", names.get(nodes[i], "input")
        lines.append(f"{mark}{i + 1:6d}  {name} = {_line_text(nodes[i], names)}")
    return IllegalProgram("\n".join(lines))


def _line_text(node: Expr, names: dict[Expr, str]) -> str:
    """Return a node as text with the names of its operands; also if it is not a legal expression."""
    if _node_fault(node):
        operands = [names.get(a) or text(a, limit=_WIDTH) for a in node.args]
        return f"{node.kind} {node.data!r} of {', '.join(operands)}"
    return text(node, {n: name for n, name in names.items() if n is not node}, limit=_WIDTH)
