"""Parts that all printers of the solver share: statements in order, expressions with necessary brackets.

A language defines how it spells operators, names and blocks. Its hooks: `field`, `item`, `declare`, `assign`,
`vector` (an assignment element by element), `model` (a section's results), `call` and `function`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from armillary.export.text.files import run_keys
from armillary.export.text.printer import wrap_statement
from armillary.solver.language.translator import MODEL, VECTORS, Solver, SolverFunction, called
from armillary.solver.methods.method_text import method_names
from armillary.solver.tables import PRESENT

_OPERATORS: dict[type, tuple[str, int]] = {
    ast.Add: ("+", 5), ast.Sub: ("-", 5), ast.Mult: ("*", 6), ast.Div: ("/", 6),
    ast.Lt: ("<", 4), ast.LtE: ("<=", 4), ast.Gt: (">", 4), ast.GtE: (">=", 4), ast.Eq: ("==", 4),
    ast.NotEq: ("!=", 4), ast.And: ("and", 2), ast.Or: ("or", 1), ast.Not: ("not", 3),
}  # fmt: skip
_ATOM = 9
# Functions with the same text in all languages with indices from 0.
_COUNTED = {"at": "{} * {} + {}", "below": "{} < {}", "agree": "{} == {}"}
_DIRECTIONS = {"ENDS_STATUS": "-2", "FINDS_LOWEST": "2"}  # values in tables of directions, for contacts
_INSTALL = SolverFunction("install", "", {"c": "whole"}, None, True, True, {}, ())
_COMPARED = ("isnan", "differs", "below", "agree")
_WHOLE_VECTORS = ("Wholes", "StateNumbers", "StepNumbers")
_TRUTH_VECTORS = ("Truths", "Locks", "PlaceFlags", "SpeedFlags", "OutputFlags")
# Exported name of the section `geometry`: in exported code, `geometry` is a function for closing loops.
CONSTRAINT_GEOMETRY = "constraint_geometry"


def element_types(whole: str, truth: str) -> dict[str, str]:
    """Return the types of elements by the kind of their vector; elements of other vectors are real."""
    return {**dict.fromkeys(_WHOLE_VECTORS, whole), **dict.fromkeys(_TRUTH_VECTORS, truth)}


def called_section(name: str) -> str:
    """Return the name of a section in exported programs."""
    return CONSTRAINT_GEOMETRY if name == "geometry" else name


class SolverPrinter:
    """The functions of a solver as lines of a language; a subclass for each language overrides the hooks."""

    width = 110
    indent = "    "
    continued = ""  # end of a line that is continued
    ended = ""  # end of a statement
    remark = "# {}"  # a comment
    signed = 7  # precedence of a negative number; 5, as of a sum, if no sign may follow an operator
    spelled: Mapping[str, str] = {}  # operators with another spelling
    functions: Mapping[str, str] = {}  # functions of numbers with another spelling
    heads: Mapping[str, str]  # first lines of "if", "elif", "else", "while", "loop", "for" and "from"
    closings: Mapping[str, str] = {}  # their last lines; "elif" and "else" share the one of "if"
    names: Mapping[str, str]  # constants, sizes and enumerated values
    record_type = "Run"  # type of the record that the functions share

    def __init__(self, solver: Solver, names: Mapping[str, str]) -> None:
        self.solver = solver
        self.names = names
        self.types = {f.name: f.type for f in solver.fields}
        self.current: SolverFunction | None = None
        self.element = ""  # index of vectors in an assignment element by element
        self.changing = "configuration" in self.types  # whether there are several configurations

    def text(self) -> str:
        """Return all functions."""
        return "\n".join("\n".join([*self.function(f), ""]) for f in self.solver.functions.values())

    # ---------------------------------------------------------------- hooks

    def extent(self, kind: str) -> str:
        """Return the length of a vector."""
        raise NotImplementedError

    def field(self, name: str) -> str:
        """Return a field of the run."""
        raise NotImplementedError

    def item(self, array: str, index: str) -> str:
        return f"{array}[{index}]"

    def number(self, value: float) -> str:
        return repr(value)

    def truth(self, value: bool) -> str:
        raise NotImplementedError

    def declare(self, name: str, kind: str, value: str) -> str:
        """Return the declaration and first assignment of a local."""
        return self.assign(name, value)

    def assign(self, target: str, value: str) -> str:
        return f"{target} = {value}{self.ended}"

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        """Return an assignment element by element."""
        return [self.assign(target, self.expression(value))]

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        """Return a call of a section of the program; ``targets`` get its results."""
        raise NotImplementedError

    def report_change(self) -> list[str]:
        """Return statements that report a change of configuration to the user."""
        return []

    def report_passage(self) -> list[str]:
        """Return statements that report a step across a singular configuration."""
        return self.report_change()

    def close_again(self) -> list[str]:
        """Return statements that close loops again after events have set coordinates."""
        return [f"close_again({self.run()}){self.ended}"]

    def report(self, k: str) -> list[str]:
        """Return statements that report an event to the user."""
        raise NotImplementedError

    def call(self, function: SolverFunction, arguments: Sequence[str], target: str = "") -> str:
        """Return a call as a whole statement."""
        call = f"{function.name}({', '.join([self.run(), *arguments])})"
        return self.assign(target, call) if target else f"{call}{self.ended}"

    def block(self, head: str, *parts: str) -> tuple[str, list[str]]:
        """Return the first and the last line of a statement with a body."""
        last = self.closings.get({"elif": "if", "from": "for"}.get(head, head), "")
        return self.heads[head].format(*parts), [last] if last else []

    def result(self, value: str | None, last: bool) -> list[str]:
        """Return the end of a function; ``last``: it is the last statement of the function's text."""
        return self.lines(f"return {value}{self.ended}") if value else [f"return{self.ended}"]

    def function(self, function: SolverFunction) -> list[str]:
        raise NotImplementedError

    # ---------------------------------------------------------------- statements

    def body(self, function: SolverFunction) -> list[str]:
        """Return the statements of a function."""
        self.current = function
        return self.indent_lines(self.statements(function.body, True))

    def indent_lines(self, lines: Iterable[str]) -> list[str]:
        return [self.indent + line if line else line for line in lines]

    def statements(self, nodes: Sequence[ast.stmt], outermost: bool = False) -> list[str]:
        lines: list[str] = []
        for node in nodes:
            if comment := self.solver.comments.get(node):
                lines.append(self.remark.format(comment[0].upper() + comment[1:].rstrip(".") + "."))
            last = outermost and node is nodes[-1]
            lines += self.statement(node, last)
        return lines

    def statement(self, node: ast.stmt, last: bool) -> list[str]:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return self.assignment(name, value, self.local(name))
            case ast.Assign(targets=[target], value=value):
                return self.assignment(target, value)
            case ast.Expr(value=ast.Call() as call) if called(call) == "report":
                return self.report(self.expression(call.args[1]))
            case ast.Expr(value=ast.Call() as call) if called(call) == "report_change":
                return self.report_change()
            case ast.Expr(value=ast.Call() as call) if called(call) == "report_passage":
                return self.report_passage()
            case ast.Expr(value=ast.Call() as call) if called(call) == "close_again":
                return self.close_again()
            case ast.Expr(value=ast.Call() as call) if called(call) == "install":
                return [self.call(_INSTALL, self.arguments(call))]
            case ast.Expr(value=ast.Call() as call):
                return [self.call(self.solver.functions[called(call)], self.arguments(call))]
            case ast.If():
                return self.choice(node)
            case ast.While(test=ast.Constant()):
                return self.nest_block("loop", "", node.body)
            case ast.While():
                return self.nest_block("while", self.expression(node.test), node.body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[count])):
                return self.nest_block("for", name, node.body, self.expression(count))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[first, count])):
                ends = (self.expression(count), self.expression(first))
                return self.nest_block("from", name, node.body, *ends)
            case ast.Return(value=value):
                return self.result(None if value is None else self.expression(value), last)
            case ast.Break():
                return [self.word("break")]
            case ast.Continue():
                return [self.word("continue")]
        raise TypeError(f"the solver's language has no statement '{ast.unparse(node)}'")

    def word(self, word: str) -> str:
        return self.spelled.get(word, word) + self.ended

    def nest_block(self, head: str, what: str, body: Sequence[ast.stmt], *more: str) -> list[str]:
        first, last = self.block(head, what, *more)
        return [first, *self.indent_lines(self.statements(body)), *last]

    def choice(self, node: ast.If, head: str = "if") -> list[str]:
        """Return a statement with if, else if and else."""
        first, last = self.block(head, self.expression(node.test))
        lines = [first, *self.indent_lines(self.statements(node.body))]
        match node.orelse:
            case []:
                return [*lines, *last]
            case [ast.If() as other]:
                return [*lines, *self.choice(other, "elif")]
        return [*lines, self.block("else")[0], *self.indent_lines(self.statements(node.orelse)), *last]

    def local(self, name: str) -> str:
        assert self.current is not None
        return self.current.locals[name]

    def assignment(self, target: ast.expr | str, value: ast.expr, declared: str = "") -> list[str]:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [t if isinstance(t, str) else self.expression(t) for t in targets]
        function = called(value)
        if function in MODEL:
            assert isinstance(value, ast.Call)
            return self.model(called_section(function), names, self.arguments(value))
        if function in self.solver.functions and self.solver.functions[function].changes_run:
            assert isinstance(value, ast.Call) and not declared
            return [self.call(self.solver.functions[function], self.arguments(value), names[0])]
        kind = self.types[target.attr] if isinstance(target, ast.Attribute) else ""
        if kind in VECTORS:
            return self.vector(names[0], kind, value)
        if isinstance(value, ast.IfExp):
            return self.conditional(names[0], declared, value)
        return self.lines(self.set(names[0], declared, self.expression(value)))

    def set(self, name: str, declared: str, value: str) -> str:
        return self.declare(name, declared, value) if declared else self.assign(name, value)

    def conditional(self, name: str, declared: str, value: ast.IfExp) -> list[str]:
        """Return an assignment of one of two values."""
        raise NotImplementedError

    def lines(self, text: str) -> list[str]:
        return wrap_statement(text, self.width - 12, "", self.indent * 2, self.continued)

    # ---------------------------------------------------------------- expressions

    def arguments(self, call: ast.Call) -> list[str]:
        """Return the arguments of a call without the run."""
        given = [a for a in call.args if not (isinstance(a, ast.Name) and a.id == "run")]
        return [self.expression(a) for a in given]

    def expression(self, node: ast.expr, level: int = 0) -> str:
        text, own = self.leveled_expression(node)
        return f"({text})" if own < level else text

    def operator(self, op: ast.AST) -> tuple[str, int]:
        sign, level = _OPERATORS[type(op)]
        return self.spelled.get(sign, sign), level

    def leveled_expression(self, node: ast.expr) -> tuple[str, int]:
        """Return the text of an expression, and the precedence of its operator."""
        match node:
            case ast.Constant(value=bool() as value):
                return self.truth(value), _ATOM
            case ast.Constant(value=int() as value):
                return str(value), _ATOM
            case ast.Constant(value=float() as value):
                return self.number(value), _ATOM
            case ast.Name(id=name):
                return self.names.get(name) or _DIRECTIONS.get(name, name), _ATOM
            case ast.Attribute(attr=name):
                whole = self.field(name)
                inside = self.element and self.types[name] in VECTORS
                return self.item(whole, self.element) if inside else whole, _ATOM
            case ast.Subscript(value=ast.Attribute(attr=name), slice=index):
                return self.item(self.field(name), self.place(index)), _ATOM
            case ast.Subscript(value=ast.Name(id=name), slice=index) if self.changing and name in PRESENT:
                return self.of_present(name, index), _ATOM
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self.item(self.names.get(name, name), self.place(index)), _ATOM
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return f"-{self.expression(inner, 7)}", self.signed if isinstance(inner, ast.Constant) else 5
            case ast.UnaryOp(op=ast.Not() as op, operand=inner):
                sign, level = self.operator(op)
                return f"{sign}{self.expression(inner, _ATOM)}", level
            case ast.BinOp(left=left, op=op, right=right):
                sign, level = self.operator(op)
                if isinstance(right, ast.Name) and sign in "+-" and self.names.get(right.id) == "0":  # FIRST
                    return self.leveled_expression(left)
                return f"{self.expression(left, level)} {sign} {self.expression(right, level + 1)}", level
            case ast.BoolOp(op=op, values=values):
                sign, level = self.operator(op)
                return f" {sign} ".join(self.expression(v, 3) for v in values), level
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sign, level = self.operator(op)
                return f"{self.expression(left, 5)} {sign} {self.expression(right, 5)}", level
            case ast.Call(func=ast.Name(id=name)):
                return self.value_of(name, node), 4 if self.is_comparison(name) else _ATOM
        raise TypeError(f"the solver's language has no expression '{ast.unparse(node)}'")

    def is_comparison(self, name: str) -> bool:
        """Return whether a function is written as a comparison of two values."""
        return name in _COMPARED and "{" in (self.functions.get(name) or _COUNTED.get(name, ""))

    def of_present(self, name: str, index: ast.expr) -> str:
        """Return an entry of a table of the present configuration."""
        table, width = PRESENT[name]
        present = ast.Attribute(ast.Name("run"), "configuration")
        place = ast.Call(ast.Name("at"), [present, ast.Name(width), index], [])
        return self.item(self.names.get(table, table), self.place(place))

    def place(self, index: ast.expr) -> str:
        """Return the index of an element."""
        return self.expression(index)

    def value_of(self, name: str, call: ast.Call) -> str:
        """Return a call inside an expression, of a function that does not change the run."""
        arguments = self.arguments(call)
        if name in self.solver.functions and self.solver.functions[name].takes_run:
            arguments = [self.run(), *arguments]
        function = self.functions.get(name) or _COUNTED.get(name, name)
        if "{" in function:
            return function.format(*arguments)
        return f"{function}({', '.join(arguments)})"

    def run(self) -> str:
        """Return the run as an argument."""
        return "run"


# Checks of a run's settings, and the statuses with which runs end, for all languages.

# Conditions on keys of [run], in the language of the solver, each with the message of the error if it does
# not hold. The values of the keys follow the message. `chooses` is true if the method chooses its steps.
RULES = (
    ("duration >= 0.0 and duration < INFINITY", "the duration must be finite and not negative"),
    ("step >= 0.0 and step < INFINITY", "the step must be finite and not negative"),
    ("step > 0.0 or chooses", "{fixed} take steps of one size; give step, such as 1e-3"),
    ("rtol >= 0.0 and atol >= 0.0 and rtol + atol > 0.0", "tolerances must be positive"),
    ("max_step > 0.0 and max_steps >= 1", "max_step and max_steps must be positive"),
    ("sample >= 0.0 and sample < INFINITY", "the time between rows must be positive and finite"),
    ("not (sample > 0.0) or duration <= 1e8 * sample", "the time between rows must give at most 1e8 rows"),
)


@dataclass(frozen=True)
class RunStatus:
    """The status of a run: its name, words for users, and its meaning if these do not show it."""

    name: str
    words: str
    about: str = ""


STATUSES = (
    RunStatus("running", "running"),
    RunStatus("finished", "finished"),
    RunStatus("event", "event"),
    RunStatus("diverged", "diverged", "a value is no longer finite"),
    RunStatus("too_small", "step too small", "no step is small enough for the tolerance"),
    RunStatus("accumulates", "events accumulate", "an event happens faster and faster"),
    RunStatus(
        "open", "the loops cannot be closed", "the loops cannot be closed, at the start or after an event"
    ),
    RunStatus("too_many", "too many steps", "more steps than max_steps"),
    RunStatus("singular", "the mass matrix becomes singular", "some motion moves no mass there"),
)
# Statuses that the solver sets. It does not set "open": loops are closed outside of its steps.
SOLVER_STATUSES = tuple(status.name.upper() for status in STATUSES if status.name != "open")

NO_SOLVER = Solver((), {}, {}, {})  # for a printer of settings alone


def setting_checks(printer: SolverPrinter, refusal: str, place: str, words: Mapping[str, str]) -> str:
    """Return statements that check the settings of a run.

    ``refusal`` is a template with a condition, a message and the values that the message states, each marked
    by ``place`` in the message; ``words`` are the program's texts of the settings.
    """
    printer.names = {**printer.names, **words}
    fixed, known = method_names(False, joint="and"), {key.key for key in run_keys()}
    texts = []
    for rule, message in RULES:
        tree = ast.parse(f"not ({rule})", mode="eval").body
        names = dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in known)
        values = {name: words.get(name, name) for name in names}
        stated = " and ".join(f"{name} is {place.format(value)}" for name, value in values.items())
        sentence = f"{message.format(fixed=fixed)}; {stated}"
        texts.append(refusal.format(printer.expression(tree), sentence, ", ".join(["", *values.values()])))
    return "\n".join(texts)


def prefix_settings(prefix: str) -> dict[str, str]:
    """Return the settings as members of a structure."""
    return {key.key: f"{prefix}{key.key}" for key in run_keys()}


def status_words(quote: str = '"', joint: str = ", ") -> str:
    """Return the statuses in words, in the order of their numbers."""
    return joint.join(f"{quote}{status.words}{quote}" for status in STATUSES)
