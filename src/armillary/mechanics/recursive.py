"""Articulated bodies: the equations uncoupled joint by joint, at a cost linear in the number of links.

For a link about its origin, in its own axes, with angular and linear acceleration (α, a) counted beyond the
remainders:

    n = J α + H a + p_n        f = Hᵀ α + M a + p_f

J, H, M is the articulated inertia, starting as the rigid one (J, h̃, m 1). A degree of freedom along
direction d with unknown x and applied force τ has U·(α, a) + D x = τ − p_d, U the d-th column and D its d-th
element; eliminating x leaves

    I − U Uᵀ/D,   p + U (τ − p_d)/D

whose d-th row and column vanish. The rest goes to the parent, turned and moved.

Source: Featherstone (1983), with two changes. All acceleration remainders are taken out beforehand (Kane), so
that no articulated inertia is ever multiplied with a bias acceleration, and remainders meet only the
regrouped rigid inertias, which are sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.triples import ZEROS, minus, named, plus, skew, times, total
from armillary.algebra.vectors import Matrix, Triple
from armillary.mechanics.articulated import Articulated, arriving, carried, joined
from armillary.mechanics.inertia_force import modal_forces, net_wrenches
from armillary.mechanics.kane import free
from armillary.mechanics.loads import Applied, along
from armillary.mechanics.modal_block import blocks, feel
from armillary.mechanics.modal_elimination import Bent, flexed, without_modes
from armillary.mechanics.tree import LINEAR, Freedom, Tree, deformed
from armillary.mechanics.uncouple import pivot_inverse


@dataclass(frozen=True, eq=False)
class Solved:
    """Acceleration along one direction: value − gain·(α, a) of the others; less what arrives it is x."""

    freedom: Freedom
    value: Any
    gain: tuple[Any, ...]


def accelerations(tree: Tree, applied: Applied, *, still: bool = False) -> dict[int, Any]:
    """x by speed index; ``still`` at rest and without gravity, from the applied loads alone."""
    felt = _rigid(tree, applied, still)
    modal = blocks(tree, modal_forces(tree, applied, still=still))
    bent: dict[int, list[Bent]] = {}
    solved: list[list[Solved]] = [[] for _ in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        body = felt[i].named(link.name)
        feel(tree, i, modal, body.answer, (body.n, body.f))
        if i in modal:
            body, bent[i] = without_modes(body, modal[i])
        for d in reversed(free(link)):
            body, found = _eliminated(body, d, applied.forces.get(d.index, 0))
            solved[i].append(found)
        if link.parent >= 0:
            felt[link.parent] = joined(felt[link.parent], carried(tree, i, body))
    return _outward(tree, solved, bent)


def _rigid(tree: Tree, applied: Applied, still: bool) -> list[Articulated]:
    found = []
    wrenches = [(ZEROS, ZEROS)] * len(tree.links) if still else net_wrenches(tree, applied)
    for link, (n, f) in zip(map(deformed, tree.links), wrenches, strict=True):
        m = link.mass
        found.append(Articulated(link.inertia, skew(link.first), ((m, 0, 0), (0, m, 0), (0, 0, m)), n, f))
    return found


def _eliminated(body: Articulated, d: Freedom, applied: Any) -> tuple[Articulated, Solved]:
    """The inertia without one degree of freedom, and how to find its acceleration."""
    k, linear = d.direction % 3, d.direction >= LINEAR
    U = (*(row[k] for row in body.H), *body.M[k]) if linear else (*body.J[k], *body.H[k])
    D = U[d.direction]
    inverse = pivot_inverse(D, d.name, d.index)
    U = tuple(0 if i == d.direction else u for i, u in enumerate(U))
    gain = tuple(fn.named(times(u, inverse), f"g_{d.index + 1}_{i + 1}") for i, u in enumerate(U))
    drive = fn.named(
        minus(times(applied, d.sign), times(along(d, body.n, body.f), d.sign)), f"e_{d.index + 1}"
    )
    name = f"{d.index + 1}"
    J = _less(body.J, U[:3], gain[:3], None if linear else k, None if linear else k, f"J_{name}")
    H = _less(
        body.H, gain[:3], U[3:], None if linear else k, k if linear else None, f"H_{name}", symmetric=False
    )
    M = _less(body.M, U[3:], gain[3:], k if linear else None, k if linear else None, f"M_{name}")
    n = named([plus(p, times(g, drive)) for p, g in zip(body.n, gain[:3], strict=True)], f"n_{name}")
    f = named([plus(p, times(g, drive)) for p, g in zip(body.f, gain[3:], strict=True)], f"f_{name}")
    passed = times(applied, d.sign)
    if linear:
        f = tuple(passed if i == k else x for i, x in enumerate(f))
    else:
        n = tuple(passed if i == k else x for i, x in enumerate(n))
    value = fn.named(times(drive, inverse), f"b_{d.index + 1}")
    return Articulated(J, H, M, n, f), Solved(d, value, gain)


def _less(
    a: Matrix, u: Any, g: Any, row: int | None, column: int | None, name: str, *, symmetric: bool = True
) -> Matrix:
    """a − u gᵀ with the eliminated row and column set to zero exactly."""
    out: list[list[Any]] = [[0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i if symmetric else 0, 3):
            if i == row or j == column:
                continue
            out[i][j] = fn.named(minus(a[i][j], times(u[i], g[j])), f"{name}_{i + 1}{j + 1}")
            if symmetric:
                out[j][i] = out[i][j]
    return tuple(tuple(r) for r in out)  # type: ignore[return-value]


def _outward(tree: Tree, solved: list[list[Solved]], bent: dict[int, list[Bent]]) -> dict[int, Any]:
    """x of every joint and mode, ground first, with the accelerations that they give the links."""
    x: dict[int, Any] = {}
    reached: list[tuple[Triple, Triple]] = []
    for i, link in enumerate(tree.links):
        alpha, a = arriving(link, reached)
        if link.carrier not in (-1, i):
            alpha, a = flexed(tree, i, alpha, a, x)
        for found in reversed(solved[i]):
            d = found.freedom
            here = (*alpha, *a)
            reached_d = minus(
                found.value, total([times(g, y) for g, y in zip(found.gain, here, strict=True)])
            )
            reached_d = fn.named(reached_d, f"acc_{d.index + 1}")
            x[d.index] = times(fn.named(minus(reached_d, here[d.direction]), f"x_{d.index + 1}"), d.sign)
            moved = list(here)
            moved[d.direction] = reached_d
            alpha, a = tuple(moved[:3]), tuple(moved[3:])
        for mode in reversed(bent.get(i, ())):
            x[mode.freedom.index] = mode.rate(alpha, a, x)
        if link.carrier == i:
            alpha, a = flexed(tree, i, alpha, a, x)
        reached.append((alpha, a))
    return x
