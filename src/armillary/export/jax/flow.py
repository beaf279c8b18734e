"""The solver in JAX: functions of a run, which is a dictionary of arrays, with `lax` for branches and loops.

Conditionals and loops become conditionals and while-loops of `lax`, whose operands are the variables that
they change. A return, break or continue sets a flag; the statements after it are conditional on this flag.
The integration method is not traced: branches that depend on it alone are chosen while JAX traces the rest.
The functions that this text calls (`when`, `repeat`, `count`, `present`) are in runs.txt.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from armillary.export.python.solver import EXTENTS, OTHER_SIZES
from armillary.export.text.configurations import WORDS
from armillary.export.text.printer import wrap_statement
from armillary.export.text.solver_printer import SolverPrinter, called_section, element_types
from armillary.solver.language.translator import MODEL, VECTORS, Solver, SolverFunction, called
from armillary.solver.methods.method_text import exported_methods, fields

_SCALARS = {"real": "real", "whole": "whole", "count": "whole", "truth": "truth", "index": "whole"}
_ZEROS = {"real": "0.0", "whole": "0", "truth": "False"}
_ELEMENTS = element_types("int", "bool")
_SIZES = {
    "States": "N_STATES",
    "Memory": "len(MEMORY)",
    "Outputs": "len(OUTPUTS)",
    "PlaceFlags": "N_COORDINATES",
}
_SIZES |= EXTENTS
_LOG = ("log_time", "log_event", "logged")
_INSTALLED = ("configuration", "used", "constants")
_CLOSING = ("status", "status_then", "phase")
# Functions of the template, and the variables that they change. In the template, stages are a loop over the
# rows of a tableau, so that the equations of motion are compiled once for all stages.
GIVEN = {
    "stages": ("stage_slopes", "trial"), "error_ratios": ("ratio", "ratio_low"),
    "dense_terms": ("stage_slopes", "nest1", "nest2", "further"),
    "dense_state": ("point",), "across_state": ("point",),
}  # fmt: skip


def _zero(kind: str) -> str:
    return f"{_SCALARS[kind]}({_ZEROS[_SCALARS[kind]]})"


class FlowPrinter(SolverPrinter):
    """Printer of functions that return the variables that they change."""

    functions = {  # noqa: RUF012
        "abs": "jnp.abs", "min": "smaller", "max": "larger", "floor": "jnp.floor", "sqrt": "jnp.sqrt",
        "power": "jnp.power", "float": "real", "isnan": "jnp.isnan", "differs": "({} != {})",
        "below": "({} < {})", "agree": "({} == {})", "at": "{} * {} + {}",
        "is_finite": "jnp.all(jnp.isfinite({}))", "first_nonfinite": "jnp.argmin(jnp.isfinite({}))",
    }  # fmt: skip

    def __init__(self, solver: Solver, prefixed: Collection[str] = ()) -> None:
        """``prefixed``: names that other functions of the module have, too; these get the prefix "run_"."""
        names = {
            "N_MEMORY": "len(MEMORY)", "INFINITY": "jnp.inf", "NAN": "jnp.nan", "NONE": "-1", "FIRST": "0",
            **OTHER_SIZES,
        }  # fmt: skip
        names |= WORDS
        for method in exported_methods(adaptive=True, stiff=True):
            names[f"METHOD_{method.name.upper()}"] = method.name.upper()
        super().__init__(solver, names)
        self.prefixed = frozenset(prefixed)
        # variables that each function changes
        self.writes = {name: set(changed) for name, changed in GIVEN.items()}
        self.blocks = 0  # number of blocks so far; it is part of their names
        self.loops: list[int] = []

    def name_value(self, function: str) -> str:
        return f"run_{function}" if function in self.prefixed else function

    def text(self) -> str:
        return "\n\n".join("\n".join([*self.function(f), ""]) for f in self.solver.functions.values())

    def fields(self) -> list[str]:
        """Return the entries of a run's dictionary with their initial values."""
        lines: list[str] = []
        vectors = fields(exported_methods(adaptive=True, stiff=True))  # the template has matrices for these
        for f in self.solver.fields:
            if f.name in ("method", "configuration", "used") or f.name in vectors:  # in the template
                continue
            if f.type in _SCALARS:
                value = _zero(f.type)
            else:
                value = f"jnp.zeros({_SIZES[f.type]}, dtype={_ELEMENTS.get(f.type, 'float')})"
            lines.append(f'        "{f.name}": {value},' + (f"  # {f.about}" if f.about else ""))
        return lines

    # ---------------------------------------------------------------- expressions

    def field(self, name: str) -> str:
        return f'v["{name}"]'

    def truth(self, value: bool) -> str:
        return str(value)

    def leveled_expression(self, node: ast.expr) -> tuple[str, int]:
        match node:
            case ast.Name(id=name) if self.is_local(name):
                return f'v["{name}_"]', 9
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return f"isnot({self.expression(inner)})", 9
            case ast.BoolOp(op=op, values=values):
                how = "both" if isinstance(op, ast.And) else "either"
                return f"{how}({', '.join(self.expression(v) for v in values)})", 9
            case ast.IfExp(test=test, body=yes, orelse=no):
                return f"pick({', '.join(self.expression(part) for part in (test, yes, no))})", 9
            case ast.Subscript(value=ast.Name(id=name), slice=index) if self.is_local(name):
                return f'v["{name}_"][{self.expression(index)}]', 9
        return super().leveled_expression(node)

    def is_local(self, name: str) -> bool:
        return self.current is not None and name in {**self.current.locals, **self.current.arguments}

    def is_comparison(self, name: str) -> bool:
        return False

    def value_of(self, name: str, call: ast.Call) -> str:
        if name in self.solver.functions and self.solver.functions[name].takes_run:
            return f"{self.name_value(name)}({', '.join(['v', *self.arguments(call)])})"
        return super().value_of(name, call)

    # ---------------------------------------------------------------- changed variables

    def changed_by(self, nodes: Sequence[ast.stmt], loops: Sequence[int]) -> set[str]:
        """Return the variables that statements change inside of given loops, by their keys in the run."""
        found: set[str] = set()
        for node in nodes:
            match node:
                case ast.AnnAssign(target=target, value=value) | ast.Assign(targets=[target], value=value):
                    parts = target.elts if isinstance(target, ast.Tuple) else [target]
                    found |= {self.key(part) for part in parts} | self.writes.get(called(value), set())
                case ast.Expr(value=ast.Call() as call):
                    special = {"report": _LOG, "install": _INSTALLED, "close_again": _CLOSING}
                    found |= set(special.get(called(call), self.writes.get(called(call), ())))
                case ast.If():
                    found |= self.changed_by([*node.body, *node.orelse], loops)
                case ast.While() | ast.For():
                    inner = self.changed_by(node.body, [*loops, 0])
                    found |= {name for name in inner if not name.startswith(("break0", "continue0"))}
                case ast.Return():
                    found |= {"return_", "value_"}
                case ast.Break():
                    found.add(f"break{loops[-1]}_")
                case ast.Continue():
                    found.add(f"continue{loops[-1]}_")
        return found

    def key(self, target: ast.expr) -> str:
        """Return the key of an assigned variable: a field's name, or a local name and an underscore."""
        match target:
            case ast.Name(id=name):
                return f"{name}_"
            case ast.Attribute(attr=name) | ast.Subscript(value=ast.Attribute(attr=name)):
                return name
        raise TypeError(ast.unparse(target))

    def leaving(self, node: ast.stmt) -> list[str]:
        """Return the flags of return, break and continue that a statement may set."""
        found = self.changed_by([node], self.loops)
        own = [f"{word}{self.loops[-1]}_" for word in ("break", "continue")] if self.loops else []
        return [flag for flag in ("return_", *own) if flag in found]

    # ---------------------------------------------------------------- statements

    def statements(self, nodes: Sequence[ast.stmt], outermost: bool = False) -> list[str]:
        lines: list[str] = []
        for place, node in enumerate(nodes):
            if comment := self.solver.comments.get(node):
                lines.append(self.remark.format(comment[0].upper() + comment[1:].rstrip(".") + "."))
            lines += self.statement(node, False)
            rest, flags = nodes[place + 1 :], self.leaving(node)
            if rest and flags:
                test = " | ".join(f'v["{flag}"]' for flag in flags)
                return [*lines, *self.conditional_block(f"isnot({test})", rest, [])]
        return lines

    def block_of(
        self, nodes: Sequence[ast.stmt], word: str, start: Sequence[str] = ()
    ) -> tuple[str, list[str]]:
        """Return the name and lines of a function that changes the dictionary of variables by statements."""
        self.blocks += 1
        name = f"{word}_{self.blocks}"
        lines = [f"def {name}(v: dict) -> dict:", "    v = dict(v)", *(f"    {line}" for line in start)]
        return name, [*lines, *self.indent_lines(self.statements(nodes)), "    return v", ""]

    def conditional_block(self, test: str, yes: Sequence[ast.stmt], no: Sequence[ast.stmt]) -> list[str]:
        names = self.list_values(self.changed_by([*yes, *no], self.loops))
        then, lines = self.block_of(yes, "then")
        other = "same"
        if no:
            other, more = self.block_of(no, "otherwise")
            lines += more
        how = "choose" if self.is_light([*yes, *no]) else "when"
        return [*lines, *self.lines(f"v = {how}({test}, {then}, {other}, v, {names})")]

    def is_light(self, nodes: Sequence[ast.stmt]) -> bool:
        """Return whether both sides of a choice may be computed.

        They may if they contain no loop and call no section and no function that changes the run.
        """
        inner = [n for node in nodes for n in ast.walk(node)]
        calls = {called(n) for n in inner if isinstance(n, ast.Call)}
        heavy = calls & {*MODEL, "install", "report"} or any(
            self.writes.get(name) for name in calls - {"dense_state", "across_state"}
        )
        return not heavy and not any(isinstance(n, ast.For | ast.While) for n in inner)

    def list_values(self, names: set[str]) -> str:
        return "(" + "".join(f'"{name}", ' for name in sorted(names)) + ")"

    def statement(self, node: ast.stmt, last: bool) -> list[str]:
        match node:
            case ast.If(test=test, body=yes, orelse=no):
                return self.conditional_block(self.expression(test), yes, no)
            case ast.While() | ast.For():
                return self.loop_text(node)
            case ast.Return(value=value):
                lines = ['v["return_"] = True']
                assert self.current is not None
                if value is not None and self.current.result:
                    kind = _SCALARS[self.current.result]
                    lines = [*self.lines(f'v["value_"] = {kind}({self.expression(value)})'), *lines]
                return lines
            case ast.Break():
                return [f'v["break{self.loops[-1]}_"] = True']
            case ast.Continue():
                return [f'v["continue{self.loops[-1]}_"] = True']
            case ast.Expr(value=ast.Call() as call) if called(call) == "report":
                return [f"v = report(v, {self.expression(call.args[1])})"]
            case ast.Expr(value=ast.Call() as call) if called(call) in ("report_change", "report_passage"):
                return ["pass"]
            case ast.Expr(value=ast.Call() as call) if called(call) == "close_again":
                return ["v = close_again(v)"]
            case ast.Expr(value=ast.Call() as call) if called(call) == "install":
                return [f"v = install(v, {', '.join(self.arguments(call))})"]
            case ast.Expr(value=ast.Call() as call):
                given = ", ".join(["v", *self.arguments(call)])
                return self.lines(f"v = {{**v, **{self.name_value(called(call))}({given})}}")
        return super().statement(node, last)

    def loop_text(self, node: ast.While | ast.For) -> list[str]:
        """Return the lines of a loop, which ends when a flag of return or break is set."""
        self.blocks += 1
        number = self.blocks
        changed = self.changed_by(node.body, [*self.loops, number])
        own = {f"break{number}_", f"continue{number}_"} & changed
        ends = self.list_values({name for name in ("return_", f"break{number}_") if name in changed})
        before = [f'v["{name}"] = False' for name in sorted(own)]
        start = [f'v["{name}"] = False' for name in own if name.startswith("continue")]
        self.loops.append(number)
        body, lines = self.block_of(node.body, "turn", start)
        self.loops.pop()
        names = self.list_values(changed)
        if isinstance(node, ast.For):
            assert isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
            bounds = ", ".join(self.expression(bound) for bound in node.iter.args)
            bounds = bounds if len(node.iter.args) > 1 else f"0, {bounds}"
            call = f'v = count({bounds}, "{node.target.id}_", {body}, v, {names}, {ends})'
        else:
            call = f"v = repeat(lambda v: {self.expression(node.test)}, {body}, v, {names}, {ends})"
        return [*before, *lines, *self.lines(call)]

    def assignment(self, target: ast.expr | str, value: ast.expr, declared: str = "") -> list[str]:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        nodes = [ast.Name(part) if isinstance(part, str) else part for part in parts]
        function = called(value)
        if function in MODEL:
            assert isinstance(value, ast.Call)
            names = [self.expression(node) for node in nodes]
            return self.lines(f"{', '.join(names)} = {self.model_call(function, self.arguments(value))}")
        (node,) = nodes
        if function in self.solver.functions and self.solver.functions[function].changes_run:
            assert isinstance(value, ast.Call)
            call = f"{self.name_value(function)}({', '.join(['v', *self.arguments(value)])})"
            return [f"changed, found = {call}", "v = {**v, **changed}", *self.store_value(node, "found")]
        return self.store_value(node, self.expression(value))

    def store_value(self, node: ast.expr, value: str) -> list[str]:
        match node:
            case ast.Subscript(value=ast.Attribute(attr=name), slice=index):
                return self.lines(f'v["{name}"] = v["{name}"].at[{self.expression(index)}].set({value})')
            case ast.Attribute(attr=name) if self.types[name] in VECTORS:
                return self.lines(f'v["{name}"] = {value}')
            case ast.Attribute(attr=name):
                return self.lines(f'v["{name}"] = {_SCALARS[self.types[name]]}({value})')
            case ast.Name(id=name):
                return self.lines(f'v["{name}_"] = {_SCALARS[self.local(name)]}({value})')
        raise TypeError(ast.unparse(node))

    def model_call(self, name: str, arguments: Sequence[str]) -> str:
        if name in ("enter", "impulse", "adjust"):
            return f'of("{name}", v, {", ".join(arguments)})'
        if name == "fire":
            return f"fired(v, {', '.join(arguments)})"
        return f'present("{called_section(name)}", v, {", ".join(arguments)})'

    def lines(self, text: str) -> list[str]:
        if len(text) <= self.width - 12:
            return [text]
        target, sign, value = text.partition(" = ") if " = " in text else ("return", "", text[7:])
        return [f"{target}{sign or ' '}(", *wrap_statement(value, self.width - 16, "    ", "    "), ")"]

    def function(self, function: SolverFunction) -> list[str]:
        self.current, self.blocks, self.loops = function, 0, []
        changed = {name for name in self.changed_by(function.body, []) if not name.endswith("_")}
        self.writes[function.name] = changed
        given = ["v: dict"] if function.takes_run else []
        # the underscore avoids names of functions
        given += [f"{name}_: Array" for name in function.arguments]
        starts = [f'"{name}_": {name}_' for name in function.arguments]
        starts += [f'"{name}_": {_zero(kind)}' for name, kind in function.locals.items()]
        value = (
            f"{_SCALARS[function.result]}({_ZEROS[_SCALARS[function.result]]})" if function.result else "0"
        )
        starts += ['"return_": False', f'"value_": {value}']
        inner = "**v, " if function.takes_run else ""
        result = f"{{name: v[name] for name in {self.list_values(changed)}}}"
        ends = {
            (True, True): f'{result}, v["value_"]', (True, False): result, (False, True): 'v["value_"]'
        }[(function.changes_run, function.result is not None)]  # fmt: skip
        return [
            f"def {self.name_value(function.name)}({', '.join(given)}):",
            f'    """{function.about}"""',
            *self.indent_lines(self.lines(f"v = {{{inner}{', '.join(starts)}}}")),
            *self.indent_lines(self.statements(function.body)),
            *self.indent_lines(self.lines(f"return {ends}")),
        ]
