"""C for optimisers: rates with Jacobians, adjoints and Hessians, for acados, CasADi and hand-written solvers.

<name>_functions.c has every `OptimizerFunction` with the interface of CasADi's generated code (``name``,
``name_work``, ``name_sparsity_in`` …). Functions for external models of acados have the arguments and results
that acados prescribes:

    explicit   ẋ = f(x, u, p)           expl_ode_fun, expl_vde_forw, expl_vde_adj, expl_ode_hess
    implicit   ẋ − f(x, u, p) = 0       impl_dae_fun, impl_dae_fun_jac_x_xdot_z, impl_dae_jac_x_xdot_u_z,
                                        impl_dae_fun_jac_x_xdot_u, impl_dae_fun_jac_x_xdot_u_z, impl_dae_hess

<name>_functions.h declares plain functions for hand-written solvers. All functions are straight
code: no loops except copies of arrays, no allocation, no state. So the number of their operations bounds
their time.

Source: acados, acados_template/casadi_function_generation.py (generate_c_code_explicit_ode,
generate_c_code_implicit_ode) and acados/utils/external_function_generic.h. These files define the names, the
types of pointers and the order of arguments and results: the multipliers come before the time, parameters
last. If a step size is given, functions of discrete dynamics are written, too (``discrete.py``). Functions
for GNSF and derivatives by parameters (…_p) are not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from armillary.algebra.arguments import real, several
from armillary.algebra.calculus import evaluate_all, gradient, tangents
from armillary.algebra.expression import UNIT, ZERO, Expr, symbol, total
from armillary.algebra.walk import symbols, transform
from armillary.analysis.places import check_smooth
from armillary.errors import ArmillaryError, ParameterError
from armillary.export.c.discrete import NEEDED, discrete_code
from armillary.export.c.model import CModel
from armillary.export.c.printer import Signature, block, counts, function
from armillary.export.text.printer import wrap_statement
from armillary.export.text.source import Source, make_source
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.pieces import with_functions
from armillary.program.sensitivities import directions
from armillary.runtime.models.parameters import parameter_table
from armillary.runtime.start.initial import initial_memory

ARGUMENTS = "double t, const double *state, const double *constants, const double *memory, double *out"


@dataclass(frozen=True, eq=False)
class Matrix:
    """A result: its shape, and its non-zero elements (row, column, expression), column by column."""

    rows: int
    columns: int
    elements: tuple[tuple[int, int, Expr], ...]

    @property
    def dense(self) -> bool:
        return len(self.elements) == self.rows * self.columns


@dataclass(frozen=True, eq=False)
class OptimizerFunction:
    """One function: names of its arguments in order, its results, and a text about these."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[Matrix, ...]
    about: str


class OptimizerSource:
    """The optimiser functions of one system as expressions, and their symbols."""

    def __init__(self, equations: DerivedEquations, parameters: Sequence[str]) -> None:
        check_smooth(equations)
        system, t = equations.system, equations.targets
        owner, plain = system.identity, equations.reduction.plain
        inputs = {n: m for n, m in system.memories.items() if m.input}
        if rates := [n for n, m in inputs.items() if m.rate_of]:
            raise ArmillaryError(
                f"'{system.name}' needs the rate of an input ('{rates[0]}'), which optimisers do not give; "
                "make the input a state whose rate is an input"
            )
        self.equations, self.x = equations, list(t.integrated)
        self.u = [plain(m.symbol) for m in inputs.values()]
        self.input_places = [list(system.memories).index(n) for n in inputs]
        wanted = [str(name) for name in several(parameters, "parameters=")]
        unknown = [name for name in wanted if name not in system.parameters]
        if unknown:
            raise ParameterError(f"parameters=: '{system.name}' has no parameter '{unknown[0]}'")
        found = directions(equations, wanted) if wanted else ()
        self.parameter_names = tuple(d.name for d in found)
        self.p = [symbol(f"chosen {d.name}", "variable", owner=owner) for d in found]
        chosen = dict(zip((d.symbol for d in found), self.p, strict=True))

        def make_symbols(label: str, count: int) -> list[Expr]:
            return [symbol(f"{label}_{i + 1}", "variable", owner=owner) for i in range(count)]

        n, m = len(self.x), len(self.u)
        self.f = transform(t.rates, chosen.get) if chosen else list(t.rates)
        self.Sx, self.Su = make_symbols("along_state", n * n), make_symbols("along_input", n * m)
        self.weights, self.xdot = make_symbols("weight", n), make_symbols("slope", n)
        self.direction = make_symbols("direction", n + m)
        self.arguments: dict[str, list[Expr]] = {
            "x": self.x, "u": self.u, "p": self.p, "xdot": self.xdot, "z": [], "Sx": self.Sx, "Su": self.Su,
            "lambda": self.weights, "t": [t.time], "direction": self.direction,
        }  # fmt: skip
        with derivation():
            self.functions = self._make()

    # ------------------------------------------------------------ derivatives

    def _make(self) -> list[OptimizerFunction]:
        x, u, f, n, m = self.x, self.u, self.f, len(self.x), len(self.u)
        both = [*x, *u]
        jac = [tangents(f, {s: UNIT}) for s in both]  # by columns
        weighted = total([(1, w * r) for w, r in zip(self.weights, f, strict=True)])
        adjoint = gradient(weighted, both)
        rates = column(f)
        jac_x, jac_u = matrix(jac[:n], n), matrix(jac[n:], n)
        minus_x, minus_u = (matrix([[-e for e in c] for c in part], n) for part in (jac[:n], jac[n:]))
        identity = matrix([[UNIT if i == j else ZERO for i in range(n)] for j in range(n)], n)
        none, off = matrix([], n), column([s - r for s, r in zip(self.xdot, f, strict=True)])
        forward_x = [tangents(f, dict(zip(x, self.Sx[j * n : (j + 1) * n], strict=True))) for j in range(n)]
        forward_u = [
            tangents(f, {**dict(zip(x, self.Su[j * n : (j + 1) * n], strict=True)), u[j]: UNIT})
            for j in range(m)
        ]
        seeds = [
            *(self.Sx[j * n : (j + 1) * n] + [ZERO] * m for j in range(n)),
            *(self.Su[j * n : (j + 1) * n] + [UNIT if i == j else ZERO for i in range(m)] for j in range(m)),
        ]
        bent = [tangents(adjoint, dict(zip(both, seed, strict=True))) for seed in seeds]
        projected = [
            total([(1, a * b) for a, b in zip(seeds[i], bent[j], strict=True)])
            for j in range(n + m)
            for i in range(j, n + m)
        ]
        second = [tangents(adjoint, {s: UNIT}) for s in both]
        product = tangents(adjoint, dict(zip(both, self.direction, strict=True)))
        zeros = [ZERO] * n
        wide = [[-e for e in c[:n]] + zeros + [-e for e in c[n:]] for c in second]
        implicit = matrix([*wide[:n], *[[ZERO] * (2 * n + m)] * n, *wide[n:]], 2 * n + m)
        explicit, dae = ("x", "u", "p"), ("x", "xdot", "u", "z", "t", "p")
        return [
            OptimizerFunction("expl_ode_fun", explicit, (rates,), "f"),
            OptimizerFunction(
                "expl_vde_forw", ("x", "Sx", "Su", "u", "p"),
                (rates, matrix(forward_x, n), matrix(forward_u, n)), "f, ∂f/∂x Sx, ∂f/∂x Su + ∂f/∂u",
            ),
            OptimizerFunction(
                "expl_vde_adj", ("x", "lambda", "u", "p"), (column(adjoint),), "∂f/∂(x, u)ᵀ λ"
            ),
            OptimizerFunction(
                "expl_ode_hess", ("x", "Sx", "Su", "lambda", "u", "p"), (column(adjoint), column(projected)),
                "∂f/∂(x, u)ᵀ λ, and the lower triangle of Sᵀ ∂²(λᵀf)/∂(x, u)² S by columns, S = [Sx Su; 0 I]",
            ),
            OptimizerFunction("impl_dae_fun", dae, (off,), "ẋ − f"),
            OptimizerFunction(
                "impl_dae_fun_jac_x_xdot_z", dae, (off, minus_x, identity, none), "ẋ − f, by x, ẋ, z"
            ),
            OptimizerFunction(
                "impl_dae_jac_x_xdot_u_z", dae, (minus_x, identity, minus_u, none), "ẋ − f by x, ẋ, u, z"
            ),
            OptimizerFunction(
                "impl_dae_fun_jac_x_xdot_u", dae, (off, minus_x, identity, minus_u), "ẋ − f, by x, ẋ, u"
            ),
            OptimizerFunction(
                "impl_dae_fun_jac_x_xdot_u_z", dae, (off, minus_x, identity, minus_u, none),
                "ẋ − f, by x, ẋ, u, z",
            ),
            OptimizerFunction(
                "impl_dae_hess", ("x", "xdot", "u", "z", "lambda", "t", "p"), (implicit,),
                "∂²(λᵀ(ẋ − f))/∂(x, ẋ, z, u)²",
            ),
            OptimizerFunction("jacobian", ("t", *explicit), (rates, jac_x, jac_u), "f, ∂f/∂x, ∂f/∂u"),
            OptimizerFunction(
                "hessian", ("t", *explicit, "lambda"), (matrix(second, n + m),), "∂²(λᵀf)/∂(x, u)²"
            ),
            OptimizerFunction(
                "hessian_product", ("t", *explicit, "lambda", "direction"), (column(product),),
                "∂²(λᵀf)/∂(x, u)² times a direction",
            ),
        ]  # fmt: skip

    def check_autonomous(self) -> None:
        """Raise an error if the rates depend on time, which is no argument of acados' explicit functions."""
        if self.equations.targets.time in symbols(*self.f):
            raise ArmillaryError(
                f"the rates of '{self.equations.system.name}' depend on time, which is no argument of "
                "explicit models of acados; describe it by a state whose rate is 1, s.state('clock', rate=1)"
            )


def column(values: Sequence[Expr]) -> Matrix:
    """Return a column with all elements, including zeros."""
    return Matrix(len(values), 1, tuple((i, 0, e) for i, e in enumerate(values)))


def matrix(columns: Sequence[Sequence[Expr]], rows: int) -> Matrix:
    """Return a matrix from its columns, without zero elements."""
    found = tuple((i, j, e) for j, c in enumerate(columns) for i, e in enumerate(c) if e is not ZERO)
    return Matrix(rows, len(columns), found)


# ---------------------------------------------------------------------------------------- text


def optimizer_files(
    equations: DerivedEquations, parameters: Sequence[str], step: float | None = None
) -> dict[str, str]:
    """Return the files <name>_functions.c, <name>_functions.h and README.md by name."""
    if step is not None and not 0 < (step := real(step, "step=")) < inf:
        raise ParameterError(f"step= must be a finite time, more than zero, not {step:g}")
    found = OptimizerSource(equations, parameters)
    found.check_autonomous()
    results = {f.name: [e for r in f.results for _, _, e in r.elements] or [ZERO] for f in found.functions}
    inputs = [*found.p, *found.Sx, *found.Su, *found.weights, *found.xdot, *found.direction]
    made = with_functions(equations, results, inputs)
    source = make_source(equations)
    model = CModel(replace(source, equations=made))
    first = len(made.program.state)
    for i, s in enumerate(made.program.inputs):
        model.sections.places[s] = ("state", first + i)
        model.sections.identifiers.of[s] = model.sections.identifiers.namer.fresh(s.data.name)
    texts, costs = [], {}
    for f, section in zip(found.functions, made.program.stepping, strict=True):
        targets = [f"out[{i}]" for i in range(len(section.results))]
        signature = Signature(f"{model.stem}_{f.name}_values", ARGUMENTS, targets, "static ")
        costs[f.name] = counts(section.operations)
        texts.append(function(signature, f"{f.about}: {costs[f.name]}.", model.sections.body(section)))
    body = "\n".join(texts)
    code = _Text(found, model, source, inputs, costs, step)
    return {
        f"{model.stem}_functions.h": code.header(),
        f"{model.stem}_functions.c": code.code(model.helper_functions(body), body),
        "README.md": code.readme(),
    }


@dataclass(frozen=True, eq=False)
class _Text:
    """The texts of one system's files."""

    found: OptimizerSource
    model: CModel
    source: Source
    inputs: Sequence[Expr]
    costs: dict[str, str]
    step: float | None

    @property
    def _stem(self) -> str:
        return self.model.stem

    def header(self) -> str:
        """Return <name>_functions.h."""
        stem, s = self._stem, self.found
        names = [p.data.name for p in s.x], [e.data.name for e in s.u], s.parameter_names
        head = block([
            f"{stem}_functions.h: {self.source.description.name} for optimisers",
            "",
            *(f"{label}: {', '.join(group) or 'none'}" for label, group in zip("xup", names, strict=True)),
            "",
            "Numbers are in the model's own units (SI unless stated). Matrices are stored column by column.",
            "Functions are straight code without allocation, states or loops over data, so their operations,",
            "which stand beside them, bound their time.",
        ])  # fmt: skip
        lines = [head, f"#ifndef {stem.upper()}_FUNCTIONS_H", f"#define {stem.upper()}_FUNCTIONS_H", ""]
        lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        sizes = {"STATES": len(s.x), "INPUTS": len(s.u), "PARAMETERS": len(s.p)}
        lines += [f"#define {stem.upper()}_{name} {size}" for name, size in sizes.items()]
        for f in self._plain():
            lines += ["", f"/* {f.about}: {self.costs[f.name]}. */", f"{self._declaration(f)};"]
        return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])

    def _plain(self) -> list[OptimizerFunction]:
        return [f for f in self.found.functions if not f.name.startswith(("expl", "impl"))]

    def _declaration(self, f: OptimizerFunction, prefix: str = "") -> str:
        words = {"lambda": "weights"}
        given = ["double t", *(f"const double *{words.get(a, a)}" for a in f.arguments if a != "t")]
        outs = [f"double *out{i + 1}" for i in range(len(f.results))]
        return f"void {self._stem}_{prefix}{f.name}({', '.join([*given, *outs])})"

    def code(self, helpers: str, body: str) -> str:
        """Return <name>_functions.c."""
        stem = self._stem
        head = block([
            f"{stem}_functions.c: {self.source.description.name}: rates and their derivatives",
            "",
            "Functions named *_expl_* and *_impl_* have CasADi's interface, with the arguments of acados'",
            "external models. acados compiles with casadi_int as int: -Dcasadi_int=int.",
        ])  # fmt: skip
        parts = [
            head, f'#include "{stem}_functions.h"', "#include <math.h>\n#include <stddef.h>",
            "#ifndef casadi_int\n#define casadi_int long long int\n#endif\n#ifndef casadi_real\n"
            "#define casadi_real double\n#endif",
            self._tables(), helpers, body, *(self._plain_code(f) for f in self._plain()),
            *(self._casadi_code(f) for f in self.found.functions), self._discrete_code(),
        ]  # fmt: skip
        return "\n\n".join(part for part in parts if part) + "\n"

    def _tables(self) -> str:
        """Return tables of the constants, for default parameters, and of the initial memory."""
        program = self.model.program
        table = parameter_table(self.found.equations)
        values = dict(zip(table.names, zip(table.defaults, table.factors, strict=True), strict=True))
        inside = {}
        for p in program.parameters:
            default, factor = values[p.data.name]
            if default is None and p.data.name not in self.found.parameter_names:
                raise ParameterError(
                    f"'{p.data.name}' has no default; give it one, or name it in parameters="
                )
            inside[p] = (1.0 if default is None else default) * factor
        numbers = [float(v) for v in evaluate_all(program.precompute.results, inside)]
        memory = [float(v) for v in initial_memory(self.found.equations)]
        return "\n".join(
            self._table(name, values) for name, values in (("constants", numbers), ("memory", memory))
        )

    def _table(self, name: str, values: Sequence[float]) -> str:
        items = ", ".join(self.model.printer.number(v).text for v in values) or "0.0"
        text = f"static const double {self._stem}_{name}_values[{max(len(values), 1)}] = {{{items}}};"
        return "\n".join(wrap_statement(text, 110, "", "    "))

    def _gather(self, f: OptimizerFunction, sources: dict[str, str]) -> list[str]:
        """Return lines that copy arguments into the arrays of a section and call it; NULL means zeros."""
        found, stem = self.found, self._stem
        n, memory = len(self.model.program.state), len(list(found.equations.system.memories))
        lines = [
            f"    double state[{n + len(self.inputs)}];",
            f"    double memory[{max(memory, 1)}];",
            f"    double out[{max(sum(len(r.elements) for r in f.results), 1)}];",
            f"    for (int i = 0; i < {max(memory, 1)}; i++)",
            f"        memory[i] = {stem}_memory_values[i];",
        ]
        place = {s: n + i for i, s in enumerate(self.inputs)}
        for name in f.arguments:
            symbols_of, given = found.arguments[name], sources[name]
            if not symbols_of or name == "t":
                continue
            if name == "u":
                lines += [
                    f"    memory[{k}] = {given} ? {given}[{i}] : 0.0;"
                    for i, k in enumerate(found.input_places)
                ]
                continue
            first = 0 if name == "x" else place[symbols_of[0]]
            lines += [
                f"    for (int i = 0; i < {len(symbols_of)}; i++)",
                f"        state[{first} + i] = {given} ? {given}[i] : 0.0;",
            ]
        time = sources.get("t", "0.0")
        call = f"{stem}_{f.name}_values({time}, state, {stem}_constants_values, memory, out);"
        return [*lines, f"    {call}"]

    def _discrete_code(self) -> str:
        """Return the functions of a step, if one is given, and plain functions that they call."""
        if self.step is None:
            return ""
        plain = [f"static {self._plain_code(f, 'plain_')}" for f in self.found.functions if f.name in NEEDED]
        n, m = len(self.found.x), len(self.found.u)
        return "\n\n".join([*plain, discrete_code(self._stem, self.step, n, m, self._interface)])

    def _plain_code(self, f: OptimizerFunction, prefix: str = "") -> str:
        words = {a: "weights" if a == "lambda" else a for a in f.arguments}
        lines = [self._declaration(f, prefix), "{", "    (void)t;", *self._gather(f, words)]
        lines += [f"    (void){words[a]};" for a in f.arguments if not self.found.arguments[a]]
        first = 0
        for k, r in enumerate(f.results):
            target = f"out{k + 1}"
            if r.dense:
                lines += self._copy(target, first, len(r.elements), "    ")
            else:
                lines += [
                    f"    for (int i = 0; i < {r.rows * r.columns}; i++)",
                    f"        {target}[i] = 0.0;",
                ]
                lines += [f"    {target}[{i + j * r.rows}] = out[{first + e}];"
                          for e, (i, j, _) in enumerate(r.elements)]  # fmt: skip
            first += len(r.elements)
        return "\n".join([*lines, "}"])

    @staticmethod
    def _copy(target: str, first: int, count: int, indent: str) -> list[str]:
        return [f"{indent}for (int i = 0; i < {count}; i++)", f"{indent}    {target}[i] = out[{first} + i];"]

    def _casadi_code(self, f: OptimizerFunction) -> str:
        """Return one of the functions with CasADi's interface."""
        name = f"{self._stem}_{f.name}"
        name = f"{name}_casadi" if f in self._plain() else name
        sources = {a: f"arg[{i}]" for i, a in enumerate(f.arguments)}
        if "t" in sources:
            sources["t"] = f"({sources['t']} ? {sources['t']}[0] : 0.0)"
        lines = self._gather(f, sources)
        first = 0
        for k, r in enumerate(f.results):
            if r.elements:
                lines += [
                    f"    if (res[{k}] != NULL)",
                    *self._copy(f"res[{k}]", first, len(r.elements), " " * 8),
                ]
            first += len(r.elements)
        results = [(r.rows, r.columns, r) for r in f.results]
        return self._casadi_interface(name, f.arguments, results, [*lines, "    return 0;"])

    def _interface(
        self, name: str, arguments: Sequence[str], shapes: Sequence[tuple[int, int]], call: str
    ) -> str:
        """Return a function with CasADi's interface that consists of one call, with dense results."""
        return self._casadi_interface(name, arguments, [(*shape, None) for shape in shapes], [call])

    def _casadi_interface(
        self,
        name: str,
        arguments: Sequence[str],
        results: Sequence[tuple[int, int, Matrix | None]],
        body: Sequence[str],
    ) -> str:
        """Return a function with CasADi's interface, and the functions with its sizes and sparsities."""
        lines = [
            f"int {name}(const casadi_real **arg, casadi_real **res, casadi_int *iw,",
            f"{' ' * len(f'int {name}(')}casadi_real *w, int mem)",
            "{", "    (void)iw; (void)w; (void)mem;", *body, "}", "",
        ]  # fmt: skip
        shapes = [(len(self.found.arguments[a]), 1, None) for a in arguments]
        lines += self._patterns(name, "in", shapes)
        lines += self._patterns(name, "out", results)
        sizes = {"n_in": len(arguments), "n_out": len(results)}
        lines += [f"casadi_int {name}_{what}(void) {{ return {size}; }}" for what, size in sizes.items()]
        lines += [
            f"int {name}_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w)",
            "{",
            *(f"    if (sz_{a}) *sz_{a} = {sizes[k]};" for a, k in (("arg", "n_in"), ("res", "n_out"))),
            "    if (sz_iw) *sz_iw = 0;", "    if (sz_w) *sz_w = 0;", "    return 0;", "}",
        ]  # fmt: skip
        return "\n".join(lines)

    @staticmethod
    def _patterns(name: str, side: str, shapes: Sequence[tuple[int, int, Matrix | None]]) -> list[str]:
        """Return CasADi's sparsity patterns.

        A pattern is: rows, columns, then 1 if dense, else column starts and row indices.
        """
        lines = [f"const casadi_int *{name}_sparsity_{side}(casadi_int i)", "{"]
        cases = []
        for k, (rows, columns, r) in enumerate(shapes):
            if r is None or r.dense:
                numbers = [rows, columns, 1]
            else:
                starts = [sum(j < c for _, j, _ in r.elements) for c in range(columns + 1)]
                numbers = [rows, columns, *starts, *(i for i, _, _ in r.elements)]
            text = f"static const casadi_int s{k}[{len(numbers)}] = {{{', '.join(map(str, numbers))}}};"
            lines += wrap_statement(text, 110, "    ", "        ")
            cases.append(f"    case {k}: return s{k};")
        return [*lines, "    switch (i) {", *cases, "    default: return NULL;", "    }", "}"]

    def readme(self) -> str:
        """Return README.md."""
        stem, h = self._stem, self.step
        discrete = "" if h is None else (
            f" `{stem}_dyn_disc_phi_fun`,\n`…_fun_jac` and `…_fun_jac_hess` are those of discrete models: a "
            f"step of {h:g} s by RK4 with held inputs,\nfour times the operations of `expl` functions."
        )  # fmt: skip
        rows = "\n".join(
            f"| `{stem}_{f.name}` | {', '.join(f.arguments)} | {f.about} | {self.costs[f.name]} |"
            for f in self.found.functions
        )
        return f"""# {self.source.description.name} for optimisers

`{stem}_functions.c` compiles by itself (`cc -std=c99 -O3 -c`). It has no globals that change, no allocation
and no loops over data: the operations of a function bound its time for all numbers.

| function | arguments | results | operations |
| --- | --- | --- | --- |
{rows}

**acados.** Functions `{stem}_expl_*` and `{stem}_impl_*` have CasADi's interface and the arguments of acados'
external models; compile with `-Dcasadi_int=int` and set them as `external_function_param_casadi`.{discrete}

**CasADi.** As a shared library: `casadi.external("{stem}_expl_ode_fun", "./{stem}_functions.so")`. There the
functions of the next paragraph have `_casadi` after their names.

**Hand-written solvers.** `{stem}_jacobian`, `{stem}_hessian` and `{stem}_hessian_product` of
`{stem}_functions.h` take and give plain arrays, matrices column by column.
"""
