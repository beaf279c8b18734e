"""The small language as LLVM code: functions of the solver in the loop of a process.

A function of the solver becomes a function of (Control, workspace, *arguments). Scalars of the run are fields
of Control, vectors parts of the workspace, where whole numbers and truth values are reals. Vectors are
assigned element by element in a loop whose sums of products may be fused; every other operation rounds once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf, nan
from typing import Any, cast

from armillary.llvm.building.assembly import ADDRESS, NOTHING, REAL, TRUTH, WHOLE, Block, constant
from armillary.llvm.building.builder import Local, Operand, Repeat, Span, Value
from armillary.llvm.building.records import RecordModule
from armillary.runtime.loop import configurations
from armillary.runtime.loop.configurations import Table
from armillary.runtime.loop.dense import emit_probe
from armillary.runtime.loop.formulas import EPSILON
from armillary.runtime.loop.functions import LoopFunction, LoopModule
from armillary.runtime.loop.layout import NESTS, PASSED, STAGES
from armillary.runtime.loop.runge_kutta import given_functions
from armillary.runtime.loop.thresholds.change_thresholds import LOOKS
from armillary.runtime.loop.thresholds.event_thresholds import LANDING
from armillary.runtime.solver.language import language
from armillary.runtime.solver.language.translator import (
    MODEL,
    VECTORS,
    Solver,
    SolverFunction,
    called,
    read_solver,
)

_TYPES = {"real": REAL, "whole": WHOLE, "count": WHOLE, "index": WHOLE, "truth": TRUTH}
_ENUMERATED = {
    name: value
    for name, value in vars(language).items()
    if name.isupper() and isinstance(value, int) and not isinstance(value, bool)
}
_REALS = {"INFINITY": inf, "NAN": nan, "EPSILON": EPSILON}

Frame = Any  # a function of a loop or of another record, which sections and tables of their kind are given to
Model = Callable[[Frame, Sequence[Span], Sequence[Value | Span]], None]


class SolverCode:
    """Functions of a solver in one loop, each made when it is first called.

    ``sizes`` are the lengths of vectors by kind, and other whole numbers by name, each a number or the name
    of a size of the loop; ``known`` fields of the run that are constants; ``places`` vectors that have other
    names in the workspace; ``tables`` give entries of constant vectors; ``model`` calls the sections of the
    program; ``given`` are functions that the loop has made in another way, ``rare`` those that are not worth
    much of LLVM's time.
    """

    def __init__(
        self,
        program: RecordModule,
        solver: Solver,
        *,
        sizes: Mapping[str, int | str],
        known: Mapping[str, float],
        places: Mapping[str, str],
        tables: Mapping[str, Table],
        model: Mapping[str, Model],
        given: Mapping[str, Frame],
        rare: Collection[str] = (),
    ) -> None:
        self.program, self.solver, self.sizes, self.known = program, solver, sizes, known
        self.places, self.tables, self.model, self.rare = places, tables, model, rare
        self.kinds = {f.name: f.type for f in solver.fields}
        self.made: dict[str, Frame] = dict(given)

    def function(self, name: str) -> Frame:
        """The function of this name."""
        if name not in self.made:
            self.made[name] = _Body(self, self.solver.functions[name]).frame
        return self.made[name]


class _Body:
    """One function under construction."""

    def __init__(self, code: SolverCode, function: SolverFunction) -> None:
        self.code = code
        arguments = tuple(_TYPES.get(kind, ADDRESS) for kind in function.arguments.values())
        result = _TYPES[function.result] if function.result else NOTHING
        # What is called is made before, for a function's text is written as a whole.
        for node in (n for statement in function.body for n in ast.walk(statement)):
            if isinstance(node, ast.Call) and called(node) in code.solver.functions:
                code.function(called(node))
        rare = function.name in code.rare
        # The functions of another record than a run's have no vectors over states.
        self.frame = f = cast(
            "LoopFunction", code.program.function(function.name, result, arguments, rare=rare)
        )
        if function.name in _INLINED:
            f.function.attributes.append("alwaysinline")
        self.locals: dict[str, Local] = {}
        self.vectors: dict[str, Span] = {}
        self.kinds = {**function.locals, **function.arguments}
        for place, (name, kind) in enumerate(function.arguments.items(), 2):
            if kind in VECTORS:
                self.vectors[name] = Span(f, f.function.args[place])
            else:
                self.locals[name] = Local(f, f.argument(place))
        self.loops: list[tuple[Block, Block]] = []  # where `continue` and `break` lead
        self.element: Value | None = None
        self.statements(function.body)
        if not f.builder.block.ended:
            f.give() if result == NOTHING else f.builder.unreachable()

    # ---------------------------------------------------------------- statements

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        f = self.frame
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.declare(name, value)
            case ast.Assign(targets=[target], value=value):
                self.assign(target, value)
            case ast.Expr(value=ast.Call() as call) if called(call) in _REPORTS:
                self.code.model[called(call)](f, [], [self.whole(a) for a in call.args[1:]])
            case ast.Expr(value=ast.Call() as call):
                self.call(call)
            case ast.If():
                self.choice(node)
            case ast.While():
                with f.repeat() as loop:
                    self.leave_unless(node.test, loop)
                    self.nested(node.body, (loop.head, loop.exit))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[*first, count])):
                start = self.whole(first[0]) if first else f.whole(0)
                self.counted(name, start, self.whole(count), node.body)
            case ast.Return(value=value):
                f.give(None if value is None else self.value(value))
            case ast.Break():
                f.builder.branch(self.loops[-1][1])
            case ast.Continue():
                f.builder.branch(self.loops[-1][0])
            case _:
                raise TypeError(f"the solver's language has no statement '{ast.unparse(node)}'")

    def leave_unless(self, test: ast.expr, loop: Repeat) -> None:
        if not isinstance(test, ast.Constant):
            with self.frame.when(~self.value(test)):
                loop.leave()

    def nested(self, body: Sequence[ast.stmt], ends: tuple[Block, Block]) -> None:
        """The body of a loop; what follows is a block of its own, where nothing may lead."""
        self.loops.append(ends)
        self.statements(body)
        self.loops.pop()
        if self.frame.builder.block.ended:
            self.frame.builder.block = Block(self.frame.function)

    def counted(self, name: str, first: Value, count: Value, body: Sequence[ast.stmt]) -> None:
        f = self.frame
        index = self.locals[name] = Local(f, first)
        with f.repeat() as loop:
            with f.when(index.get() >= count):
                loop.leave()
            following = Block(f.function)
            self.nested(body, (following, loop.exit))
            f.builder.branch(following)
            f.builder.block = following
            index.set(index.get() + 1)

    def choice(self, node: ast.If) -> None:
        condition = self.value(node.test)
        with self.frame.when(condition):
            self.statements(node.body)
        if node.orelse:
            with self.frame.when(~condition):
                self.statements(node.orelse)

    def declare(self, name: str, value: ast.expr) -> None:
        kind = _TYPES[self.kinds[name]]
        found = self.value(value)
        if name in self.locals:
            self.locals[name].set(found)
        else:
            assert found.raw.type == kind, (name, found.raw)
            self.locals[name] = Local(self.frame, found)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        name = called(value)
        if name in MODEL:
            assert isinstance(value, ast.Call)
            places = [self.vector(t) for t in targets]
            self.code.model[name](self.frame, places, [self.argument(a) for a in value.args])
            return
        match target:
            case ast.Attribute(attr=field) if self.code.kinds[field] in VECTORS:
                self.each(field, value)
            case ast.Attribute(attr=field):
                self.store(field, self.value(value))
            case ast.Subscript(value=ast.Attribute(attr=field), slice=index):
                self.part(field)[self.whole(index)] = self.as_real(self.value(value))
            case ast.Name(id=local):
                self.locals[local].set(self.value(value))

    def each(self, field: str, value: ast.expr) -> None:
        """An assignment element by element."""
        f, place, kind = self.frame, self.part(field), self.code.kinds[field]
        with f.each_state() if kind == "States" else f.each(self.size(kind)) as m:
            self.element = m
            place[m] = self.as_real(self.value(value))
            self.element = None

    def store(self, field: str, value: Value) -> None:
        """A scalar of the run."""
        if value.raw.type == TRUTH:
            value = Value(self.frame, self.frame.builder.convert("zext", value.raw, WHOLE))
        self.frame[field] = value

    def call(self, call: ast.Call) -> Value:
        given = [a for a in call.args if not (isinstance(a, ast.Name) and a.id == "run")]
        function = self.code.function(called(call))
        values: list[Value] = []
        for a in given:
            found = self.argument(a)
            values.append(Value(self.frame, found.address) if isinstance(found, Span) else found)
        return self.frame.internal(function, *values)

    # ---------------------------------------------------------------- expressions

    def argument(self, node: ast.expr) -> Value | Span:
        match node:
            case ast.Attribute(attr=name) if self.code.kinds[name] in VECTORS:
                return self.part(name)
            case ast.Name(id=name) if name in self.vectors:
                return self.vectors[name]
        return self.value(node)

    def part(self, field: str) -> Span:
        """A vector of the run."""
        return self.frame.vector(self.code.places.get(field, field))

    def vector(self, node: ast.expr) -> Span:
        found = self.argument(node)
        assert isinstance(found, Span), ast.unparse(node)
        return found

    def as_real(self, value: Value) -> Value:
        if value.real:
            return value
        operation = "uitofp" if value.raw.type == TRUTH else "sitofp"
        return Value(self.frame, self.frame.builder.convert(operation, value.raw, REAL))

    def whole(self, node: ast.expr) -> Value:
        found = self.value(node)
        assert found.raw.type == WHOLE, ast.unparse(node)
        return found

    def value(self, node: ast.expr) -> Value:
        f = self.frame
        match node:
            case ast.Constant(value=bool() as number):
                return self.truth(number)
            case ast.Constant(value=int() as number):
                return f.whole(number)
            case ast.Constant(value=float() as number):
                return f.real(number)
            case ast.Name(id=name):
                return self.named(name)
            case ast.Attribute(attr=name):
                return self.field(name)
            case ast.Subscript(value=ast.Attribute(attr=name), slice=index):
                return self.entry(self.part(name), self.code.kinds[name], self.whole(index))
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.vectors:
                return self.entry(self.vectors[name], self.kinds[name], self.whole(index))
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self.code.tables[name](f, self.whole(index))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                found = self.value(inner)
                return 0 - found if found.raw.type == WHOLE else self.negative(found)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return ~self.value(inner)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operate(op, self.value(left), self.value(right))
            case ast.BoolOp(op=op, values=values):
                first, *others = [self.value(v) for v in values]
                for other in others:
                    first = first & other if isinstance(op, ast.And) else first | other
                return first
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.compare(op, self.value(left), self.value(right))
            case ast.IfExp(test=test, body=yes, orelse=no):
                a, b = self.value(yes), self.value(no)
                return Value(f, f.builder.select(self.value(test).raw, a.raw, b.raw))
            case ast.Call():
                return self.value_of(called(node), node)
        raise TypeError(f"the solver's language has no expression '{ast.unparse(node)}'")

    def truth(self, value: bool) -> Value:
        return self.frame.whole(int(value)).differs(0)

    def negative(self, value: Value) -> Value:
        """−x, a zero with its sign too."""
        return -0.0 - value

    def named(self, name: str) -> Value:
        f = self.frame
        if name in self.locals:
            return self.locals[name].get()
        if name in self.code.sizes:
            return self.size(name)
        if name == "N_CONFIGURATIONS":
            return f["configurations"]
        if name in _REALS:
            return f.real(_REALS[name])
        if name in self.code.solver.constants:
            number = self.code.solver.constants[name]
            return f.whole(number) if isinstance(number, int) else f.real(number)
        return f.whole(_ENUMERATED[name])

    def size(self, name: str) -> Value:
        """A size, which is a constant or a size of the run."""
        size = self.code.sizes[name]
        return self.frame.size(size) if isinstance(size, str) else self.frame.whole(size)

    def field(self, name: str) -> Value:
        kind = self.code.kinds[name]
        if kind in VECTORS:
            assert self.element is not None, (
                f"the vector '{name}' stands for its elements only where one is assigned"
            )
            return self.entry(self.part(name), kind, self.element)
        if name in self.code.known:
            return self.frame.real(self.code.known[name])
        found = self.frame[name]
        return found.differs(0) if kind == "truth" else found

    def entry(self, vector: Span, kind: str, index: Value) -> Value:
        found = vector[index]
        if kind in ("Wholes", "RowNumbers", "SpeedNumbers"):
            return found.to_whole()
        return (
            found.differs(0.0)
            if kind in ("Truths", "Locks", "PlaceFlags", "SpeedFlags", "OutputFlags")
            else found
        )

    def operate(self, op: ast.operator, a: Value, b: Value) -> Value:
        match op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.Div():
                return a / b
        raise TypeError(f"the solver's language has no operator {op!r}")

    def compare(self, op: ast.cmpop, a: Value, b: Value) -> Value:
        match op:
            case ast.Lt():
                return a < b
            case ast.LtE():
                return a <= b
            case ast.Gt():
                return a > b
            case ast.GtE():
                return a >= b
            case ast.Eq():
                return a.equals(b)
            case ast.NotEq():
                return a.differs(b)
        raise TypeError(f"the solver's language has no comparison {op!r}")

    def value_of(self, name: str, call: ast.Call) -> Value:
        f = self.frame
        if name in self.code.solver.functions or name in self.code.made:
            return self.call(call)
        if name == "is_finite":
            return is_finite(f, self.vector(call.args[0]))
        if name == "first_nonfinite":
            return first_nonfinite(f, self.vector(call.args[0]))
        values: list[Operand] = [self.value(a) for a in call.args]
        match name, values:
            case "abs", [Value() as x]:
                return f.magnitude(x)
            case "sqrt", [Value() as x]:
                return f.root(x)
            case "floor", [Value() as x]:
                return f.intrinsic("floor", x)
            case "float", [Value() as x]:
                return x.to_real()
            case "isnan", [Value() as x]:
                return x.differs(x)
            case "min", [a, b]:
                return f.least(a, b)
            case "max", [a, b]:
                return f.most(a, b)
            case "power", [a, Value() as b]:
                return f.real(1.0) if b.raw == constant(REAL, 0.0) else f.power(a, b)
            case "differs", [Value() as a, b]:
                return a.differs(b)
            case "agree", [Value() as a, b]:
                return a.equals(b)
            case "at", [Value() as a, b, c]:
                return a * b + c
            case "below", [Value() as a, b]:
                return a < b
        raise TypeError(f"the solver's language has no function '{name}'")


def is_finite(f: LoopFunction, vector: Span) -> Value:
    return f.total_of_states(lambda m: 0.0 * vector[m]).equals(0.0)


def first_nonfinite(f: LoopFunction, vector: Span) -> Value:
    """The place of the first number that is not finite; there is one."""
    index = Local(f, f.whole(0))
    with f.repeat() as loop:
        with f.when((0.0 * vector[index.get()]).differs(0.0) | (index.get() + 1 >= f.size("used"))):
            loop.leave()
        index.set(index.get() + 1)
    return index.get()


# ---------------------------------------------------------------- the solver of a loop

_RARE = (
    *("change", "read_requests", "next_configuration", "rank_lost_after", "strength_ahead", "horizon"),
    *("has_locks", "with_locks", "strike", "set_released", "suitable", "has_choice", "with_choice"),
    *("choose_speeds", "measure_sizes", "measure_rows", "pair_rows", "solve_pairs", "exchange_worst"),
    *("locate", "land", "cut", "record", "first_place", "end_at_small_step"),
    *("cross", "take_stages", "is_sound", "keep_nests", "shorten", "judge_events", "continue_across"),
    *("plan_passage", "rank_falls", "least_singular_value", "measure_lengths", "read_rows", "turn_rows"),
    *("row_near_place", "across_state", "retreat", "leads_nowhere", "chooses_in_place"),
    "end_at_change",
)
_INLINED = ("sign_of", "closeness")
_REPORTS = ("report", "report_change", "report_passage")


def solver_functions(program: LoopModule) -> dict[str, LoopFunction]:
    """`settle` and `step` of a loop, `probe` where values inside a step can be asked for, and where runs
    can change their configuration `choose_start`, or, of a table without all of them, `choose_for_motion`,
    and rows `row_near_place` for times that are near a place (`is_near_place`).
    """
    shape, tableau = program.shape, program.shape.tableau
    features = {
        "EVENTS": shape.events > 0, "UPDATE": shape.update, "NORMALISE": shape.normalise,
        "JUMPS": shape.stops, "ADAPTIVE": shape.adaptive, "LANDING_EVENTS": shape.scheme is None,
        "SCHEME": shape.scheme is not None, "CONFIGURATIONS": shape.changes is not None,
        "LOCKING_EVENTS": True, "SETTINGS": True, "CHOICES": True, "RATED": True,
        "PARTITIONED": shape.partitioned, "PASSING": shape.passing,
    }  # fmt: skip
    facts = {
        "dense": shape.dense, "adaptive": shape.adaptive, "end_enters_error": tableau.end_enters_error,
        "has_two_errors": len(tableau.errors) > 1, "JUMP_HARD": True,
    }  # fmt: skip
    given: dict[str, LoopFunction] = given_functions(program)
    step = "adaptive_step" if shape.adaptive else "fixed_step"
    known = {"order": float(tableau.order), **(vars(tableau.control) if tableau.control else {})}
    has = {name for name, there in features.items() if there}
    choosing = "choose_start" if shape.changes and shape.changes.listed else "choose_for_motion"
    across = ("across_state", "is_near_place", "row_near_place") if shape.passing else ()
    wanted = ("settle", step, *((choosing,) if shape.changes else ()), *across)
    solver = read_solver(has, (), wanted, facts=facts, given={*given, "probe"}, commented=False)
    code = SolverCode(
        program,
        solver,
        sizes=_SIZES,
        known=known,
        places={"finish": "end", "k_end": f"k{tableau.stages}", **{f"nest{i}": f"F{i}" for i in range(3)}},
        tables={**TABLES, **(configurations.TABLES if shape.changes else {})},
        model=SECTIONS,
        given=given,
        rare=_RARE,
    )
    if shape.dense:
        code.made["probe"] = emit_probe(program, code.function("across_state") if across else None)
    made = {name: code.function(name) for name in wanted}
    return {**code.made, "step": made[step]}


_SIZES: dict[str, int | str] = {
    "N_STATES": "used", "Memory": "memory", "N_MEMORY": "memory",
    **dict.fromkeys(("Reals", "Wholes", "Truths", "N_EVENTS"), "events"),
    "Motion": "motion", "Speeds": "speeds", "Locks": "lockable", "Geometry": "geometry",
    "Jacobian": "jacobian", "N_JACOBIAN": "jacobian", "N_ELEMENTS": "elements", "N_ROWS": "rows",
    "N_COORDINATES": "coordinates", "N_SPEEDS": "speeds", "N_LOCKABLE": "lockable",
    "N_OWN_EVENTS": "own_events", "Ratings": "members", "N_MEMBERS": "members",
    "N_SETTINGS": "settings", "N_OWN_MOTION": "own_motion",
    "RowReals": "rows", "Slopes": "slopes", "Nests": "nests", "Outputs": "outputs", "N_OUTPUTS": "outputs",
    "OutputFlags": "outputs", "N_STAGES": STAGES, "N_NESTS": NESTS, "N_LOOKS": len(LOOKS),
}  # fmt: skip


TABLES: dict[str, Table] = {
    "DIRECTION": lambda f, k: f.vector("direction")[k].to_whole(),
    "STOPS": lambda f, k: f.vector("terminal")[k] > 0.0,
    "LANDS": lambda f, k: f.vector("terminal")[k] >= LANDING,
    "JUMP_TIME": lambda f, k: f.outside("stops")[k],
}


def _at_state(call: Callable[[LoopFunction, Value, Span, Span], None]) -> Model:
    """A section at a time and a state, with the vector that it gives."""

    def called_at(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
        t, state = given
        assert isinstance(t, Value) and isinstance(state, Span)
        call(f, t, state, targets[0])

    return called_at


def _fire(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    k, t, state = given
    memory, new_state = targets
    if not f.shape.fire:
        return
    assert isinstance(k, Value) and isinstance(t, Value) and isinstance(state, Span)
    f.fire(k, t, state, f.vector("stage"))
    stage, fired = f.vector("stage"), f.vector("new_memory")
    with f.each(f.size("used")) as m:
        new_state[m] = stage[m]
    with f.each(f.size("memory")) as i:
        memory[i] = fired[i]


def _report(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    """An event into the log; it has been counted."""
    (k,) = given
    assert isinstance(k, Value)
    _log(f, k.to_real())


def _log(f: LoopFunction, number: Value) -> None:
    log, place = f.outside("log"), (f["firings"] - 1) * 2
    log[place] = f["t"]
    log[place + 1] = number


def _report_change(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    """The number of a configuration into the log, as −1 − c."""
    f["firings"] = f["firings"] + 1
    _log(f, -1.0 - f["configuration"].to_real())


def _of_present(name: str) -> Model:
    return _at_state(
        lambda f, t, state, target: f.of_configuration(name, f["configuration"], t, state, target)
    )


def _of_configuration(name: str) -> Model:
    def call(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
        c, t, motion = given
        assert isinstance(c, Value) and isinstance(t, Value) and isinstance(motion, Span)
        f.of_configuration(name, c, t, motion, targets[0])

    return call


def _report_passage(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    """The time and the length of a step across a place where rank is lost into the log, two entries."""
    log = f.outside("log")
    for number in ("singular", "h_taken"):
        f["firings"] = f["firings"] + 1
        place = (f["firings"] - 1) * 2
        log[place] = f[number]
        log[place + 1] = float(PASSED)


def _outputs(f: LoopFunction, targets: Sequence[Span], given: Sequence[Value | Span]) -> None:
    t, state, _ = given
    assert isinstance(t, Value) and isinstance(state, Span)
    f.outputs(t, state, "memory", targets[0].address)


SECTIONS: dict[str, Model] = {
    "outputs": _outputs,
    "report_passage": _report_passage,
    **{name: _of_configuration(name) for name in ("enter", "impulse")},
    **{name: _of_present(name) for name in ("leave", "geometry", "ratings")},
    "report_change": _report_change,
    "derivatives": _at_state(lambda f, t, state, target: f.derivatives(t, state, target)),
    "events": _at_state(lambda f, t, state, target: f.events(t, state)),  # into g
    "update": _at_state(lambda f, t, state, target: f.update(t, state)),  # into new_memory
    "normalise": _at_state(lambda f, t, state, target: f.normalise(t, state)),  # in place
    "fire": _fire,
    "report": _report,
}
