"""kane_script.py MODEL FILE.c: a benchmark model derived with SymPy's KanesMethod and written as C.

Fast practice: frames and points with the generalised speeds set by hand, parameters as symbols (equal
numbers of one kind share a symbol), common subexpressions of mass matrix and forcing together, powers
written as products. Prints the CPU seconds of each stage and the operations, as JSON.
"""

# mypy: disable-error-code="import-not-found,import-untyped,misc"
from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sympy as sm
import sympy.physics.mechanics as me
from sympy.printing.c import C99CodePrinter

from benchmarks.models import MODELS, Link, Model, Vector

# Dense LDLᵀ over the lower triangle, then forward, diagonal and backward substitution.
SOLVE = """
for (int j = 0; j < NV; j++) {
  double d = M[j*NV+j];
  for (int k = 0; k < j; k++) d -= M[j*NV+k]*M[j*NV+k]*M[k*NV+k];
  M[j*NV+j] = d;
  const double r = 1.0/d;
  for (int i = j+1; i < NV; i++) {
    double s = M[i*NV+j];
    for (int k = 0; k < j; k++) s -= M[i*NV+k]*M[j*NV+k]*M[k*NV+k];
    M[i*NV+j] = s*r;
  }
}
for (int i = 0; i < NV; i++) for (int k = 0; k < i; k++) a[i] -= M[i*NV+k]*a[k];
for (int i = 0; i < NV; i++) a[i] /= M[i*NV+i];
for (int i = NV-1; i >= 0; i--) for (int k = i+1; k < NV; k++) a[i] -= M[k*NV+i]*a[k];
}
"""


@dataclass
class Parameters:
    """Symbols for numbers; a zero stays an exact zero, as a user would write it."""

    values: dict[tuple[str, float], sm.Symbol] = field(default_factory=dict)

    def __call__(self, kind: str, number: float) -> sm.Expr:
        if number == 0:
            return sm.S.Zero
        size = abs(float(number))
        symbol = self.values.setdefault((kind, size), sm.Symbol(f"{kind}_{len(self.values)}", positive=True))
        return symbol if number > 0 else -symbol

    def vector(self, frame: Any, components: Vector, kind: str) -> Any:
        axes = zip(components, (frame.x, frame.y, frame.z), strict=True)
        return sum((self(kind, c) * axis for c, axis in axes if c), me.Vector(0))


@dataclass
class Variables:
    q: Sequence[Any]
    u: Sequence[Any]
    tau: Sequence[sm.Symbol]


def free_base(x: Variables, N: Any, frame: Any, point: Any) -> tuple[list, list]:
    """Kinematical equations and loads of a free base, speeds in its own axes."""
    t, (e0, e1, e2, e3), (w1, w2, w3) = me.dynamicsymbols._t, x.q[3:7], x.u[3:6]
    axes = (frame.x, frame.y, frame.z)
    frame.orient_quaternion(N, (e0, e1, e2, e3))
    frame.set_ang_vel(N, w1 * frame.x + w2 * frame.y + w3 * frame.z)
    velocity = sum((u * axis for u, axis in zip(x.u[:3], axes, strict=True)), me.Vector(0))
    point.set_vel(N, velocity)
    in_ground = velocity.express(N)
    kinematics = [q.diff(t) - in_ground.dot(n) for q, n in zip(x.q[:3], (N.x, N.y, N.z), strict=True)]
    kinematics += [
        e0.diff(t) - (-e1 * w1 - e2 * w2 - e3 * w3) / 2,
        e1.diff(t) - (e0 * w1 + e2 * w3 - e3 * w2) / 2,
        e2.diff(t) - (e0 * w2 + e3 * w1 - e1 * w3) / 2,
        e3.diff(t) - (e0 * w3 + e1 * w2 - e2 * w1) / 2,
    ]
    force = sum((T * axis for T, axis in zip(x.tau[:3], axes, strict=True)), me.Vector(0))
    torque = sum((T * axis for T, axis in zip(x.tau[3:6], axes, strict=True)), me.Vector(0))
    return kinematics, [(point, force), (frame, torque)]


def joint(
    link: Link, q: Any, u: Any, tau: Any, N: Any, parent: tuple, child: tuple, number: Parameters
) -> list:
    """A revolute or prismatic joint set up between (frame, point) pairs; gives its loads."""
    (parent_frame, parent_point), (frame, point) = parent, child
    axis = getattr(parent_frame, link.axis_name)
    offset = number.vector(parent_frame, link.at, "l")
    effort = tau - number("k", link.stiffness) * q - number("c", link.damping) * u
    if link.joint == "revolute":
        frame.orient_axis(parent_frame, axis, q)
        frame.set_ang_vel(parent_frame, u * axis)
        point.set_pos(parent_point, offset)
        point.v2pt_theory(parent_point, N, parent_frame)
        return [(frame, effort * axis), (parent_frame, -effort * axis)]
    frame.orient_axis(parent_frame, axis, 0)
    frame.set_ang_vel(parent_frame, 0)
    point.set_pos(parent_point, offset + q * axis)
    point.set_vel(parent_frame, u * axis)
    point.v1pt_theory(parent_point, N, parent_frame)
    return [(point, effort * axis), (parent_point, -effort * axis)]


def derive(model: Model, x: Variables, number: Parameters) -> tuple[Any, Any]:
    """Mass matrix and forcing."""
    N, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(N, 0)
    placed: dict[int, tuple] = {-1: (N, origin)}
    bodies, loads, kinematics = [], [], []
    for i, link in enumerate(model.links):
        frame, point = placed[i] = (me.ReferenceFrame(f"A{i}"), me.Point(f"P{i}"))
        iq, iv = model.place(i)
        if link.joint == "free":
            equations, base_loads = free_base(x, N, frame, point)
            kinematics += equations
            loads += base_loads
        else:
            kinematics.append(x.q[iq].diff(me.dynamicsymbols._t) - x.u[iv])
            own = joint(link, x.q[iq], x.u[iv], x.tau[iv], N, placed[link.parent], placed[i], number)
            loads += [(place, load) for place, load in own if place not in (N, origin)]
        com = point.locatenew(f"C{i}", number.vector(frame, link.com, "r"))
        com.v2pt_theory(point, N, frame)
        mass = number("m", link.mass)
        inertia = me.inertia(frame, *(number("I", moment) for moment in link.inertia))
        bodies.append(me.RigidBody(f"B{i}", com, frame, mass, (inertia, com)))
        if any(model.gravity):
            loads.append((com, mass * number.vector(N, model.gravity, "g")))
    kane = me.KanesMethod(N, x.q, x.u, kinematics)
    kane.kanes_equations(bodies, loads)
    return kane.mass_matrix, kane.forcing


def count(expressions: Iterable[Any], nv: int) -> dict[str, int]:
    """Operations of the expressions and of the dense solution."""
    additions = multiplications = divisions = functions = 0
    waiting = list(expressions)
    while waiting:
        e = waiting.pop()
        if e.is_Add:
            additions += len(e.args) - 1
        elif e.is_Mul:  # a factor of −1 is a sign, and free
            multiplications += len(e.args) - 1 - (sm.S.NegativeOne in e.args)
        elif e.is_Pow and e.exp.is_Integer and e.exp > 0:
            multiplications += int(e.exp) - 1
        elif e.is_Pow:
            divisions += 1
        elif isinstance(e, (sm.sin, sm.cos)):
            functions += 1
        elif e.is_Atom or e.is_Function:
            continue
        waiting.extend(e.args)
    for j in range(nv):  # factorisation, column by column, then the two substitutions
        additions += j * (nv - j)
        multiplications += 2 * j * (nv - j) + (nv - j - 1)
    additions += nv * (nv - 1)
    multiplications += nv * (nv - 1)
    divisions += 2 * nv
    return dict(
        additions=additions, multiplications=multiplications, divisions=divisions, functions=functions
    )


class Printer(C99CodePrinter):
    """C99 with small powers as products (pow() would be called otherwise) and states as array elements."""

    def __init__(self, names: dict[Any, str]) -> None:
        super().__init__()
        self.names = names

    def _print_Pow(self, e: Any) -> str:
        if e.exp.is_Integer and 2 <= int(e.exp) <= 4:
            return "(" + "*".join([self.parenthesize(e.base, 100)] * int(e.exp)) + ")"
        return super()._print_Pow(e)

    def _print_Function(self, e: Any) -> str:
        return self.names.get(e) or super()._print_Function(e)

    _print_AppliedUndef = _print_Function

    def _print_Symbol(self, e: Any) -> str:
        return self.names.get(e) or super()._print_Symbol(e)


def c_source(shared: list, results: list, x: Variables, number: Parameters, nv: int) -> str:
    names: dict[Any, str] = {}
    for letter, symbols in (("q", x.q), ("u", x.u), ("tau", x.tau)):
        names.update({symbol: f"{letter}[{i}]" for i, symbol in enumerate(symbols)})
    printer = Printer(names)
    entries = [(i, j) for i in range(nv) for j in range(i + 1)]
    lines = ["#include <math.h>"]
    lines += [f"static const double {symbol} = {value!r};" for (_, value), symbol in number.values.items()]
    lines += [
        "void forward_dynamics(const double* restrict q, const double* restrict u,",
        f"                      const double* restrict tau, double* restrict a)\n{{\ndouble M[{nv * nv}];",
    ]
    lines += [f"const double {symbol} = {printer.doprint(e)};" for symbol, e in shared]
    lines += [f"M[{i * nv + j}] = {printer.doprint(e)};" for (i, j), e in zip(entries, results, strict=False)]
    lines += [f"a[{i}] = {printer.doprint(e)};" for i, e in enumerate(results[len(entries) :])]
    return "\n".join(lines) + SOLVE.replace("NV", str(nv))


def main(key: str, path: str) -> None:
    model, number, nv = MODELS[key], Parameters(), MODELS[key].nv
    x = Variables(
        list(me.dynamicsymbols(f"q0:{model.nq}")),
        list(me.dynamicsymbols(f"u0:{nv}")),
        list(sm.symbols(f"tau0:{nv}")),
    )
    start = time.process_time()
    M, f = derive(model, x, number)
    derived = time.process_time()
    shared, results = sm.cse(
        [M[i, j] for i in range(nv) for j in range(i + 1)] + list(f), symbols=sm.numbered_symbols("z")
    )
    reduced = time.process_time()
    Path(path).write_text(c_source(shared, results, x, number, nv))
    record = {
        "derive_seconds": derived - start,
        "cse_seconds": reduced - derived,
        "print_seconds": time.process_time() - reduced,
        "operations": count([*(e for _, e in shared), *results], nv),
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main(*sys.argv[1:])
