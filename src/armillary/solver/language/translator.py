"""Reader of the solver's files, written in the small language, and of the fields of its records.

`read_solver` selects the functions that a program needs, decides conditions on its features, and finds what
printers need: the types of locals, the functions that change the run, and an order in which every function
comes before its callers.

The text of record.py is the one declaration of a run. The structures, classes and trees of exported programs
and the process's block of scalars and workspace (solver/llvm/layout.py) are all made from these fields.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files

import numpy as np

from armillary.mechanics.constraints import closing_thresholds, dependent_speeds
from armillary.mechanics.contact import contact_thresholds
from armillary.numerics import roots_thresholds
from armillary.solver import thresholds
from armillary.solver.language import language
from armillary.solver.methods.method_text import exported_methods, fields, source
from armillary.solver.methods.tableau import Method

MODEL = (
    *("derivatives", "outputs", "events", "update", "normalise", "fire", "pivot_shares", "partial_rates"),
    *("evaluate_end", "leave", "enter", "impulse", "adjust", "geometry", "ratings", "loop_figures"),
    *("condition_values", "condition_slopes", "path_figures"),
)
# Features of the solver; a system's features are words of export/text/source.py.
FEATURES = tuple(name for name, value in vars(language).items() if value is True)
_OF_SYSTEMS = (
    *("events", "update", "normalise", "jumps", "masses", "configurations", "landing_events", "rated"),
    *("contacts", "locking_events", "settings", "adjusting", "choices", "reclosing", "passing", "clocked"),
    *("late_search", "implicit", "differentiated", "driven", "sparse"),
)
# Expressions for sizes of the present configuration: in programs with several configurations, and with one.
_PRESENT_SIZES = {
    "N_PRESENT_STATES": ("run.used", "N_STATES"),
    "N_PRESENT_UNKNOWNS": ("EXTENT[FIRST]", "N_UNKNOWNS"),
    "N_PRESENT_ENTRIES": ("EXTENT[FIRST + 1]", "N_ENTRIES"),
}
OF_METHODS = ("adaptive", "end_enters_error", "has_two_errors")  # false for all methods of fixed steps
VECTORS = tuple(name for name, value in vars(language).items() if value is np.ndarray)
# For each description: the file of its record, and the files of its functions.
_RUN = (
    *("record.py", "step_control.py", "choices.py", "forecasts.py", "events.py", "firing.py", "passages.py"),
    "changes.py",
    *("armillary.numerics:elimination.py", "linearly_implicit.py", "steps.py", "rows.py"),
)
ROOTS = ("armillary.numerics:factors.py", "armillary.numerics:roots.py")
ROOTS_RECORD = "armillary.numerics:language.py"
_LOOPS = (f"{ROOTS_RECORD},assembly.py", *ROOTS, "armillary.numerics:scatter.py", "assembly.py")
# The first file has the record, and functions too.
_CONTACTS = (
    *("armillary.mechanics.contact:problem.py",) * 2,
    "armillary.mechanics.contact:held_rows.py",
    "armillary.mechanics.contact:independent_rows.py",
    "armillary.mechanics.contact:statuses.py",
    "armillary.mechanics.contact:status_search.py",
)
# Constants that exported programs repeat by name: reals, except counts of events.
_COUNTS = ("CASCADE", "MOST_STUCK", "LONGEST_STREAK")
CONSTANTS: dict[str, float] = {}
for module in (
    thresholds,
    dependent_speeds,
    closing_thresholds,
    contact_thresholds,
    roots_thresholds,
):
    named = {
        k: v if k in _COUNTS else float(v)
        for k, v in vars(module).items()
        if k.isupper() and not isinstance(v, dict | tuple)
    }
    if twice := CONSTANTS.keys() & named.keys():
        raise TypeError(f"{module.__name__}: {sorted(twice)} would replace constants of other files")
    CONSTANTS |= named
# Constants of single precision: the rounding, and thresholds that are larger there.
SINGLE = (
    closing_thresholds.SINGLE
    | thresholds.SINGLE
    | roots_thresholds.SINGLE
    | {"EPSILON": 2.0**-23, "SNAP": 1e-3, "NO_DIAGONAL": 1e-4}
)


@dataclass(frozen=True)
class Description:
    """Files that describe a numerical method: those of its record, whose fields are joined, and those of its
    functions.
    """

    record: tuple[str, ...]
    functions: tuple[str, ...]


@dataclass(frozen=True)
class SolverFunction:
    """A function of the solver: arguments (without the run) and locals by name, with their types."""

    name: str
    about: str
    arguments: Mapping[str, str]
    result: str | None
    takes_run: bool
    changes_run: bool
    locals: Mapping[str, str]
    body: Sequence[ast.stmt]

    @cached_property
    def calls(self) -> Sequence[str]:
        """The functions that the body calls, in an order that depends on the body alone."""
        nodes = (node for statement in self.body for node in ast.walk(statement))
        return list(dict.fromkeys(called(node) for node in nodes if isinstance(node, ast.Call)))

    @cached_property
    def filled(self) -> frozenset[str]:
        """The vectors of the run whose elements the body assigns."""
        nodes = [node for statement in self.body for node in ast.walk(statement)]
        stored = [n.value for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
        return frozenset(vector.attr for vector in stored if isinstance(vector, ast.Attribute))


@dataclass(frozen=True)
class Solver:
    """The solver of one program: the record of a run, the functions in order, the constants they use."""

    fields: Sequence[Field]
    functions: Mapping[str, SolverFunction]
    constants: Mapping[str, float]
    comments: Mapping[ast.stmt, str]


def in_single(solver: Solver) -> Solver:
    """Return the same functions with the constants of single precision."""
    return replace(
        solver, constants={name: SINGLE.get(name, value) for name, value in solver.constants.items()}
    )


def solver_for(
    has: Collection[str],
    adaptive: bool,
    wanted: Sequence[str],
    *,
    always_dense: bool = True,
    methods: Sequence[Method] = (),
    facts: Mapping[str, bool] | None = None,
    guard: int | None = None,
    given: Collection[str] = (),
) -> Solver:
    """Return the solver of a system with the features ``has``, and with the exported methods or ``methods``.
    With ``always_dense`` it keeps the dense output of every step; otherwise each run decides whether it is
    needed, unless ``facts`` decide it. ``guard`` is the number of the event that guards the only choice of
    dependent speeds. ``given`` are functions that the program defines elsewhere.
    """
    features = {word.upper() for word in _OF_SYSTEMS if word in has}
    features |= {"ADAPTIVE"} if adaptive else set()
    features |= {"ALWAYS_DENSE"} if always_dense else set()
    features |= {"GUARDED"} if guard is not None else set()
    methods = methods or exported_methods(adaptive, "IMPLICIT" in features)
    found = read_solver(features, methods, wanted, facts=facts, given=given)
    return found if guard is None else replace(found, constants={**found.constants, "GUARD": guard})


def read_solver(
    features: Collection[str],
    methods: Sequence[Method],
    wanted: Sequence[str],
    *,
    facts: Mapping[str, bool] | None = None,
    given: Collection[str] = (),
    commented: bool = True,
) -> Solver:
    """Read the functions `wanted` and the functions they call, for a program with these features and methods.

    ``facts`` are functions of the method, fields of the run and tables with a known value; functions named in
    ``given`` are not read. Solvers are cached, and their functions are cached for other solvers.
    """
    decided = tuple(sorted((facts or {}).items()))
    return _read(
        _RUN, frozenset(features), tuple(methods), tuple(wanted), decided, frozenset(given), commented
    )


def read_assembly(features: Collection[str], wanted: Sequence[str], *, commented: bool = True) -> Solver:
    """Read the functions `wanted` that close loops at the start of a run, and the functions they call."""
    return _read(_LOOPS, frozenset(features), (), tuple(wanted), (), frozenset(), commented)


def loop_fields(features: Collection[str]) -> list[Field]:
    """Return the fields of the record for closing loops."""
    return [f for f in read_fields(_LOOPS[0]) if f.is_there(features)]


def read_contacts(wanted: Sequence[str], *, commented: bool = True) -> Solver:
    """Read the functions `wanted` that find forces and impulses of contacts, and the functions they call."""
    return _read(_CONTACTS, frozenset(), (), tuple(wanted), (), frozenset(), commented)


def read_described(description: Description, features: Collection[str], wanted: Sequence[str]) -> Solver:
    """Read the functions `wanted` of a method and the functions they call."""
    described = (",".join(description.record), *description.functions)
    return _read(described, frozenset(features), (), tuple(wanted), (), frozenset(), False)


def described_sources() -> str:
    """Return the source text on which the code of contacts depends."""
    thresholds = _CONTACTS[0].replace("problem", "contact_thresholds")
    return "".join(read_source(name) for name in (*_CONTACTS, thresholds))


@cache
def _read(
    described: tuple[str, ...],
    features: frozenset[str],
    methods: tuple[Method, ...],
    wanted: tuple[str, ...],
    facts: tuple[tuple[str, bool], ...],
    given: frozenset[str],
    commented: bool,
) -> Solver:
    features |= {"FURTHER_TERMS"} if any(m.coefficients.dense for m in methods) else set()
    features |= {"MULTISTEP"} if any(m.coefficients.multistep for m in methods) else set()
    texts = _function_texts(described[1:]) | _method_functions(methods)

    def reading_of(name: str) -> _Reading | None:
        """Return a function as this program needs it; only functions that are needed are parsed."""
        if name in given or name not in texts:
            return None
        words = _words(texts[name])
        decided = tuple((word, value) for word, value in facts if word in words)
        return _read_function(texts[name], features & words, decided, commented)

    found: dict[str, _Reading] = {}
    order = list(_order_functions(wanted, reading_of, found))
    changing = _find_changing_functions({name: found[name] for name in order})
    functions = {name: found[name].functions[name in changing] for name in order}
    comments = {node: text for reading in found.values() for node, text in reading.comments.items()}
    dropped = {"dense"} if "ALWAYS_DENSE" in features else set()
    record = [f for f in read_fields(described[0]) if f.is_there(features) and f.name not in dropped]
    record += [Field(name, kind, "") for name, kind in (fields(methods) if methods else {}).items()]
    used = set().union(*(found[name].names for name in order))
    return Solver(record, functions, {k: v for k, v in CONSTANTS.items() if k in used}, comments)


@cache
def _function_texts(names: tuple[str, ...]) -> dict[str, str]:
    """Return the text of each function in some files."""
    texts = [read_source(name) for name in names]
    return {name: text for each in texts for name, text in _functions(each).items()}


@cache
def _method_functions(methods: tuple[Method, ...]) -> dict[str, str]:
    """Return the text of each function of some methods."""
    return _functions(source(methods)) if methods else {}


def _functions(text: str) -> dict[str, str]:
    """Return the text of each function of a module, which ends at the module's next statement."""
    pieces = re.split(r"^(?=[A-Za-z_@\"#])", text, flags=re.MULTILINE)
    return {found[1]: piece for piece in pieces if (found := re.match(r"def (\w+)", piece))}


class _Fold(ast.NodeTransformer):
    """A transformer that decides conditions on features and drops the excluded code."""

    def __init__(self, features: Collection[str], facts: Mapping[str, bool]) -> None:
        self.features = features
        self.facts = {"dense": True, **facts} if "ALWAYS_DENSE" in features else facts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if sizes := _PRESENT_SIZES.get(node.id):
            several, one = sizes
            return ast.parse(several if "CONFIGURATIONS" in self.features else one, mode="eval").body
        return ast.Constant(node.id in self.features) if node.id in FEATURES else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        decided = node.attr in self.facts and isinstance(node.ctx, ast.Load)
        return ast.Constant(self.facts[node.attr]) if decided else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        table = node.value.id if isinstance(node.value, ast.Name) else ""
        return ast.Constant(self.facts[table]) if table in self.facts else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = called(node)
        if name in self.facts:
            return ast.Constant(self.facts[name])
        return ast.Constant(False) if name in OF_METHODS and "ADAPTIVE" not in self.features else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        decisive = isinstance(node.op, ast.Or)
        left = [v for v in node.values if not (isinstance(v, ast.Constant) and v.value is not decisive)]
        if any(isinstance(v, ast.Constant) for v in left):
            return ast.Constant(decisive)
        if len(left) <= 1:
            return left[0] if left else ast.Constant(not decisive)
        node.values = left
        return node

    def visit_If(self, node: ast.If) -> ast.If | list[ast.stmt] | None:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node if node.body else None

    def visit_While(self, node: ast.While) -> ast.While | None:
        self.generic_visit(node)
        return None if isinstance(node.test, ast.Constant) and not node.test.value else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        self.generic_visit(node)
        call = called(node.value)
        return None if call == "normalise" and "NORMALISE" not in self.features else node


def called(node: ast.expr | None) -> str:
    """Return the name of the function that an expression calls, or an empty text."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


@dataclass(frozen=True)
class _Reading:
    """A function as programs with some features need it."""

    # for programs in which no function that it calls changes the run, and for those in which one does
    functions: tuple[SolverFunction, SolverFunction]
    calls: Sequence[str]
    names: Collection[str]
    stores: bool  # whether it stores into the run itself
    comments: Mapping[ast.stmt, str]


# Names that code has in place of a feature, with the feature that decides about the code; see _Fold.
_IMPLIED = {
    "normalise": "NORMALISE",
    "dense": "ALWAYS_DENSE",
    **dict.fromkeys(OF_METHODS, "ADAPTIVE"),
    **dict.fromkeys(_PRESENT_SIZES, "CONFIGURATIONS"),
}


@cache
def _words(text: str) -> frozenset[str]:
    """Return the words of a text, and the features that its words imply."""
    found = set(re.findall(r"\w+", text))
    return frozenset(found | {_IMPLIED[word] for word in found & _IMPLIED.keys()})


@cache
def _read_function(
    text: str, features: frozenset[str], facts: tuple[tuple[str, bool], ...], commented: bool
) -> _Reading:
    """Read a function for programs that agree in the features and facts that it names.

    Most functions name few of them, so many programs share a function: a further solver is read in 1 to 30 ms
    instead of 40 to 100.
    """
    tree = ast.parse(text)
    comments = _comments(tree, text) if commented else {}
    nodes = list(ast.walk(_Fold(features, dict(facts)).visit(tree.body[0])))
    calls = [called(node) for node in nodes if isinstance(node, ast.Call)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    places = [node for node in nodes if isinstance(node, ast.Attribute | ast.Subscript)]
    stores = any(isinstance(node.ctx, ast.Store) for node in places)
    function = _function(nodes)
    return _Reading((function, replace(function, changes_run=True)), calls, names, stores, comments)


def _order_functions(
    wanted: Sequence[str], reading_of: Callable[[str], _Reading | None], found: dict[str, _Reading]
) -> Iterator[str]:
    """Yield the needed functions, each after the functions it calls; ``found`` gets the reading of each."""
    for name in wanted:
        reading = None if name in found else reading_of(name)
        if reading is not None:
            found[name] = reading
            yield from _order_functions(reading.calls, reading_of, found)
            yield name


def _find_changing_functions(readings: Mapping[str, _Reading]) -> set[str]:
    """Return the functions that change the run, directly or through others; callees must come first."""
    found = {"report", "close_again"}
    for name, reading in readings.items():
        if reading.stores or not found.isdisjoint(reading.calls):
            found.add(name)
    return found


def _function(nodes: Sequence[ast.AST]) -> SolverFunction:
    """Return a function of the solver from the nodes of its tree, of which the first is its definition."""
    node = nodes[0]
    assert isinstance(node, ast.FunctionDef)
    arguments = {a.arg: ast.unparse(a.annotation) for a in node.args.args if a.annotation}
    takes_run = arguments.pop("run", None) is not None
    local: dict[str, str] = {}
    for inner in nodes:
        if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            local[inner.target.id] = ast.unparse(inner.annotation)
        if isinstance(inner, ast.For) and isinstance(inner.target, ast.Name):
            local[inner.target.id] = "index"
    for inner in nodes:
        if isinstance(inner, ast.Compare):
            sides = [inner.left, *inner.comparators]
            indices = [s.id for s in sides if isinstance(s, ast.Name) and local.get(s.id) == "index"]
            if indices and any(isinstance(s, ast.Constant) for s in sides):
                raise TypeError(
                    f"{node.name} compares the loop variable {indices[0]} with a number, but indices begin "
                    "at 1 in some languages: compare it with FIRST"
                )
    if "r" in local:  # the name of the run in Fortran and MATLAB
        raise TypeError(f"{node.name} has a local variable r, which is the run in some languages: rename it")
    result = ast.unparse(node.returns) if node.returns else "None"
    about = " ".join((ast.get_docstring(node) or "").split())
    kind = None if result == "None" else result
    return SolverFunction(node.name, about, arguments, kind, takes_run, False, local, node.body[1:])


def _comments(tree: ast.Module, text: str) -> dict[ast.stmt, str]:
    """Return comments by statement: on the statement's line, or on the line before it."""
    by_line = dict(_comment_lines(text))
    found: dict[ast.stmt, str] = {}
    statements = [n for n in _statements(tree) if n.col_offset]
    for node in sorted(statements, key=lambda n: n.lineno):
        here = by_line.pop(node.lineno, "") or by_line.pop(node.lineno - 1, "")
        if here:
            found[node] = here
    return found


@cache
def _comment_lines(text: str) -> dict[int, str]:
    return {
        t.start[0]: t.string.lstrip("# ")
        for t in tokenize.generate_tokens(io.StringIO(text).readline)
        if t.type == tokenize.COMMENT
    }


def _statements(block: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a block and of nested blocks."""
    for node in (*getattr(block, "body", ()), *getattr(block, "orelse", ())):
        yield node
        yield from _statements(node)


_FILES = "armillary.solver"


@dataclass(frozen=True)
class Field:
    """A part of a run: its type and meaning, and the conditions under which it is declared."""

    name: str
    type: str
    about: str
    conditions: tuple[ast.expr, ...] = ()

    def is_there(self, features: Collection[str]) -> bool:
        """Return whether a program with some features has the field."""
        return all(_holds(condition, features) for condition in self.conditions)


def read_source(name: str) -> str:
    """Read a file of the solver; a name `package:file` is a file of another package."""
    package, _, file = name.rpartition(":")
    return files(package or _FILES).joinpath(file).read_text(encoding="utf-8")


@cache
def read_fields(name: str = "record.py") -> tuple[Field, ...]:
    """Read all fields of the first class of a file, in order; ``name`` may list files, with commas."""
    found: list[Field] = []
    for text in map(read_source, name.split(",")):
        record = next(n for n in ast.parse(text).body if isinstance(n, ast.ClassDef))
        found += _fields_of(record.body, text.splitlines(), ())
    return tuple(found)


def _fields_of(body: list[ast.stmt], lines: list[str], conditions: tuple[ast.expr, ...]) -> list[Field]:
    found = []
    for node in body:
        if isinstance(node, ast.If):
            found += _fields_of(node.body, lines, (*conditions, node.test))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            about = lines[node.lineno - 1].partition("#")[2].strip()
            found.append(Field(node.target.id, ast.unparse(node.annotation), about, conditions))
    return found


def _holds(condition: ast.expr, features: Collection[str]) -> bool:
    match condition:
        case ast.Name(id=name):
            return name in features
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _holds(inner, features)
        case ast.BoolOp(op=operator, values=values):
            found = [_holds(value, features) for value in values]
            return any(found) if isinstance(operator, ast.Or) else all(found)
    raise AssertionError(ast.unparse(condition))
