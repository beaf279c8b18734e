"""The solver in JAX: step functions of all methods, values for the template of runs, and contacts."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from armillary.export.jax.flow import GIVEN, FlowPrinter
from armillary.export.python.solver import (
    Named,
    PythonContacts,
    PythonSolverPrinter,
    constant_lines,
    section_lines,
    size_lines,
    solver_texts,
)
from armillary.export.text.configurations import ContactSource, change_tables, contact_constants
from armillary.export.text.files import fill, template
from armillary.export.text.printer import wrap_statement
from armillary.export.text.solver_printer import NO_SOLVER
from armillary.export.text.source import Source
from armillary.mechanics.contact.blocks import WITHOUT_REBOUND
from armillary.mechanics.contact.contact_thresholds import NOTHING
from armillary.solver.language.translator import SolverFunction, read_solver, solver_for
from armillary.solver.methods.method_text import exported_methods
from armillary.solver.methods.tableau import Method, Rosenbrock, Tableau
from armillary.solver.tables import TRUTHS
from armillary.solver.thresholds import ROUNDINGS, SNAP

WIDTH = 110


def solver_values(made: Source) -> dict[str, str]:
    """Return values for the template of rollouts, which are runs with fixed steps.

    They are the step functions, their names, and times of jumps.
    """
    methods = exported_methods(False, made.stiff, multistep=False)
    explicit = [m for m in methods if not m.rosenbrock]
    printer = JaxSolverPrinter(read_solver((), explicit, [f"{m.name}_stages" for m in explicit]))
    implicit = [_implicit_method(m) for m in methods if m.rosenbrock]
    return {
        "methods": "\n\n\n".join([printer.text().rstrip("\n"), *implicit]),
        "implicit": implicit_text(),
        "method_names": ", ".join(f'"{m.name}": {m.name}' for m in methods),
        "jump_times": _list_items([*(repr(t) for t, jumps in made.program.stops if jumps), "jnp.inf"]),
        "snap": repr(SNAP),
        "roundings": repr(ROUNDINGS),
    }


def implicit_text() -> str:
    """Return the text of the class of linearly implicit methods, and of the function of their stages."""
    return template(__package__, "implicit.txt").rstrip("\n")


def _implicit_method(method: Method) -> str:
    """Return the text of the step function of a linearly implicit method."""
    about = f"{method.description[0].lower()}{method.description[1:]}"
    name = method.name
    return "\n".join([
        *wrap_statement(f"{name.upper()} = {_rosenbrock_text(method.coefficients)}", WIDTH, "", "    "),
        "", "",
        f"def {name}(t: float, state: Vector, h: float, constants: Vector, memory: Vector) -> Vector:",
        f'    """One step: {about}."""',
        "    def rates(t: float, state: Vector) -> Vector:",
        "        return derivatives(t, state, constants, memory)",
        "",
        f"    found = implicit_stages(rates, {name.upper()}, t, state, h)",
        f"    return state + jnp.array({name.upper()}.end) @ found",
    ])  # fmt: skip


def run_values(made: Source, has: Collection[str], named: Named) -> dict[str, str]:
    """Return values for the template of runs."""
    methods = exported_methods(True, made.stiff, multistep=False)
    wanted = ["start_run", "turn" if "reclosing" in has else "find_row"]
    loops = made.assembly.solver if made.assembly is not None else NO_SOLVER
    described = {word for word in has if word not in ("implicit", "driven")}  # implicit.txt implements these
    found_solver = solver_for(described, True, wanted, methods=methods, guard=made.guard, given=GIVEN)
    printer = FlowPrinter(found_solver, loops.functions)
    found, every = change_tables(made), (made, *made.others)
    tables = dict(found.tables)
    if not made.changing:  # without other configurations a run ends at internal events, too
        tables["STOPS"] = [int(e.stop) for e in made.description.events]
    lines = []
    for name, values in tables.items():
        kind = "bool" if name in TRUTHS else "int"
        texts = [str(bool(v)) if name in TRUTHS else str(v) for v in values]
        text = f"[{', '.join(texts)}]"
        whole = f"{name} = {text if name == 'USED_STATES' else f'jnp.array({text}, dtype={kind})'}"
        lines += wrap_statement(whole, WIDTH, "", "    ")
    for name, reals in found.reals.items():
        lines += wrap_statement(f"{name} = jnp.array([{', '.join(map(repr, reals))}])", WIDTH, "", "    ")
    if made.set_places:
        places = ", ".join(str(bool(place)) for place in made.set_places)
        lines += wrap_statement(f"SETS_PLACE = jnp.array([{places}])", WIDTH, "", "    ")
    lines.append(f"CONSTANTS = {[len(one.program.constants) for one in every]}")
    fires = [
        "(" + "".join(f"{named(one, f'fire_{k + 1}')}, " for k in range(len(one.program.fire))) + "),"
        for one in every
    ]
    times = [(repr(t), str(jumps)) for t, jumps in made.program.stops]
    return {
        "tableaux": "\n".join(_tableau_lines(m.coefficients) for m in methods),
        "implicit": implicit_text(),
        "change_sizes": size_lines(found),
        "change_tables": "\n".join(lines),
        "sections": section_lines(made, named, WIDTH),
        "fires": "\n".join(f"    {line}" for line in fires),
        "jump_times": _list_items([*(t for t, _ in times), "jnp.inf"]),
        "jump_hard": _list_items([*(j for _, j in times), "True"]),
        "solver_constants": constant_lines(printer.solver, loops),
        "fields": "\n".join(printer.fields()),
        "solver": printer.text().rstrip("\n"),
    }


def _tableau_lines(t: Tableau | Rosenbrock) -> str:
    """Return the text of a method's tableau."""
    text = _rosenbrock_text(t) if isinstance(t, Rosenbrock) else _explicit_text(t)
    return "\n".join(wrap_statement(f"{text},", WIDTH, "    ", "        "))


def _explicit_text(t: Tableau) -> str:
    parts = ([*t.c, 1.0, *t.extra_c], [*t.a, t.b, *t.extra_a], t.errors, t.dense)
    return f"Tableau({t.stages}, {_as_lists(*parts)})"


def _rosenbrock_text(t: Tableau | Rosenbrock) -> str:
    assert isinstance(t, Rosenbrock)
    parts = (t.c, t.a, t.couplings, t.slopes, t.b, t.errors, t.dense)
    return f"Rosenbrock({t.gamma!r}, {_as_lists(*parts)})"


def _as_lists(*parts: Sequence[object]) -> str:
    return ", ".join(repr([list(p) if isinstance(p, tuple) else p for p in part]) for part in parts)


def _list_items(texts: Sequence[str]) -> str:
    return "\n".join(wrap_statement(", ".join(texts), WIDTH, "    ", "    "))


class JaxSolverPrinter(PythonSolverPrinter):
    """Printer of step functions, with one array operation per vector."""

    def field(self, name: str) -> str:
        return name

    def vector(self, target: str, kind: str, value: ast.expr) -> list[str]:
        return self.lines(f"{target} = {self.expression(value)}")

    def model(self, name: str, targets: Sequence[str], arguments: Sequence[str]) -> list[str]:
        return self.lines(f"{targets[0]} = {name}({', '.join(arguments)}, constants, memory)")

    def function(self, function: SolverFunction) -> list[str]:
        name = function.name.removesuffix("_stages")
        about = function.about.partition(":")[0]
        return [
            f"def {name}(t: float, state: Vector, h: float, constants: Vector, memory: Vector) -> Vector:",
            f'    """One step: {about[0].lower()}{about[1:]}."""',
            "    k0 = derivatives(t, state, constants, memory)",
            *self.body(function),
            "    return trial",
        ]


# The solver of contacts in JAX.
#
# Functions of a dictionary of arrays (flow.py) find forces at given statuses; these functions can be
# compiled, mapped and differentiated forward. Statuses are decided only at events, by the functions of
# exported Python, which compiled code calls on the host: XLA would copy these functions to each place where
# they are called, and take half a minute to compile each copy.

_RATES, _FORCES, _DECISION = "contact_rates", "contact_forces", "contact_problem"


def contact_texts(sources: Sequence[ContactSource], width: int) -> list[str]:
    """Return the texts of the contact functions that sections call, with their constants and tables."""
    if not sources:
        return []
    lines = ["# " + "-" * 76 + " contacts", ""]
    lines += [f"{name} = {value!r}" for name, value in contact_constants(sources).items()]
    return ["\n".join([*lines, ""]), *(text for source in sources for text in _contact_solver(source, width))]


def _contact_solver(source: ContactSource, width: int) -> list[str]:
    known = {n: b for n, b in source.called.items() if b.name in (_RATES, _FORCES)}
    texts: list[str] = []
    if known:
        printer = JaxContacts(ContactSource(known, source.tag))
        texts += [_data_text(printer, width), printer.text(), *map(printer.block_function, known)]
    for name, decision in source.called.items():
        if decision.name == _DECISION:
            host = ContactSource({f"{name}_on_host": decision}, f"{source.tag}_on_host")
            texts += [*solver_texts(PythonContacts(host), width), _decision(name, host)]
    return texts


def _data_text(printer: JaxContacts, width: int) -> str:
    """Return the text of the sizes and tables of contacts."""
    source = printer.source
    lines = [f"{printer.names[name]} = {size}" for name, size in source.sizes.items()]
    for name, numbers in source.whole_tables(0).items():
        lines += wrap_statement(
            f"{printer.names[name]} = jnp.array({numbers!r}, dtype=int)", width, "", "    "
        )
    return "\n".join([*lines, ""])


def _decision(name: str, source: ContactSource) -> str:
    """Return the text of a function that decides contact statuses, and of its derivative."""
    block = source.block
    taken = {p.field: p for p in source.takes(f"{name}_on_host")}
    given = {p.field: p for p in source.gives(f"{name}_on_host")}
    rows = block.shape.rows
    normal = {k: n for n, slip in rows for k in slip}
    contact = {k: c for c, (n, slip) in enumerate(rows) for k in (*(() if n is None else (n,)), *slip)}
    values = {
        "name": name,
        "results": str(block.count),
        "smooth": str(block.smooth),
        "without": str(WITHOUT_REBOUND),
        "nothing": repr(NOTHING),
        "rows": str(block.sizes["N_CONTACT_ROWS"]),
        "speeds": str(block.sizes["N_CONTACT_SPEEDS"]),
        "contact": repr([contact[k] for k in range(len(contact))]),
        "normal": repr([normal.get(k) or 0 for k in range(len(contact))]),
        "slips": repr([float(k in normal) for k in range(len(contact))]),
        "pressed": repr([float(normal.get(k) is not None) for k in range(len(contact))]),
        **{f"in_{field}": f"{p.first} : {p.first + p.length}" for field, p in taken.items()},
        **{f"out_{field}": f"{p.first} : {p.first + p.length}" for field, p in given.items()},
    }
    return fill(template(__package__, "contacts.txt"), values)


class JaxContacts(FlowPrinter):
    """Printer of the functions that find contact forces."""

    def __init__(self, source: ContactSource) -> None:
        super().__init__(source.solver)
        self.source = source
        self.names = {"FIRST": "0", "NONE": "-1"} | {name: name + source.tag for name in source.sizes}
        self.names |= {name: name + source.tag for name in source.block.tables}

    def block_function(self, name: str) -> str:
        """Return the text of a function from an array of arguments to an array of results."""
        entry, lengths = self.source.entry(name), self.source.lengths
        given = {p.field: f"given[{p.first} : {p.first + p.length}]" for p in self.source.takes(name)}
        lines = ["@jax.jit", f"def {name}(given: Array) -> Array:"]
        lines += [f'    """{self.solver.functions[entry].about}"""', "    v = {"]
        for f in self.solver.fields:
            blank = f"jnp.zeros({lengths[f.type]}{', dtype=int' if f.type == 'Wholes' else ''})"
            about = f"  # {f.about}" if f.about else ""
            lines.append(f'        "{f.name}": {given.get(f.name, blank)},{about}')
        found = ", ".join(f'v["{p.field}"]' for p in self.source.gives(name))
        lines += ["    }", f"    v = {{**v, **{entry}(v)}}", f"    return jnp.concatenate([{found}])", ""]
        return "\n".join(lines)
