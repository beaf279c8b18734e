"""Articulated bodies: the equations uncoupled joint by joint, at a cost linear in the number of links.

For a link about its origin, in its own axes, with angular and linear acceleration (α, a) counted beyond the
remainders:

    n = J α + H a + p_n        f = Hᵀ α + M a + p_f

J, H, M is the articulated inertia, starting as the rigid one (J, h̃, m 1). A degree of freedom along
direction d with unknown x and applied force τ has U·(α, a) + D x = τ − p_d, U the d-th column and D its d-th
element; eliminating x leaves

    I − U Uᵀ/D,   p + U (τ − p_d)/D

whose d-th row and column vanish. The rest goes to the parent: turned, then moved by the offset r,

    M' = M     H' = H + r̃ M     J' = J − H r̃ + r̃ H'ᵀ.

Source: Featherstone (1983), with two changes. All acceleration remainders are taken out beforehand (Kane), so
that no articulated inertia is ever multiplied with a bias acceleration, and remainders meet only the
regrouped rigid inertias, which are sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armillary.algebra import functions as fn
from armillary.algebra.vectors import Matrix, Triple, cross_triples
from armillary.mechanics.inertia_force import net_wrenches
from armillary.mechanics.kane import free
from armillary.mechanics.loads import Applied, along, to_parent
from armillary.mechanics.rotation import general_named, symmetric_named
from armillary.mechanics.tree import LINEAR, Freedom, Link, Tree, matrix_sum
from armillary.mechanics.triples import ZEROS, add, minus, named, plus, times, total
from armillary.mechanics.uncouple import pivot_inverse


@dataclass(frozen=True, eq=False)
class Articulated:
    """Inertia felt at a link's origin and the wrench p that it takes to leave it without acceleration."""

    J: Matrix
    H: Matrix
    M: Matrix
    n: Triple
    f: Triple


@dataclass(frozen=True, eq=False)
class Solved:
    """Acceleration along one direction: value − gain·(α, a) of the others; less what arrives it is x."""

    freedom: Freedom
    value: Any
    gain: tuple[Any, ...]


def accelerations(tree: Tree, applied: Applied, *, still: bool = False) -> dict[int, Any]:
    """x by speed index; ``still`` at rest and without gravity, from the applied loads alone."""
    felt = _rigid(tree, applied, still)
    solved: list[list[Solved]] = [[] for _ in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        body = _named(felt[i], link.name)
        for d in reversed(free(link)):
            body, found = _eliminated(body, d, applied.forces.get(d.index, 0))
            solved[i].append(found)
        if link.parent >= 0:
            felt[link.parent] = _joined(felt[link.parent], _carried(tree, i, body))
    return _outward(tree, solved)


def _rigid(tree: Tree, applied: Applied, still: bool) -> list[Articulated]:
    found = []
    wrenches = [(ZEROS, ZEROS)] * len(tree.links) if still else net_wrenches(tree, applied)
    for link, (n, f) in zip(tree.links, wrenches, strict=True):
        x, y, z = link.first
        m = link.mass
        H: Matrix = ((0, minus(0, z), y), (z, 0, minus(0, x)), (minus(0, y), x, 0))
        found.append(Articulated(link.inertia, H, ((m, 0, 0), (0, m, 0), (0, 0, m)), n, f))
    return found


def _named(body: Articulated, name: str) -> Articulated:
    return Articulated(
        symmetric_named(body.J, f"J_{name}"),
        general_named(body.H, f"H_{name}"),
        symmetric_named(body.M, f"M_{name}"),
        named(body.n, f"n_{name}"),
        named(body.f, f"f_{name}"),
    )


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


def _carried(tree: Tree, index: int, body: Articulated) -> Articulated:
    """A link's articulated inertia at its parent's origin, in the parent's axes."""
    link = tree.links[index]
    M = link.rotation.symmetric_to_parent(body.M, f"Mp_{link.name}")
    H = link.rotation.general_to_parent(body.H, f"Hp_{link.name}")
    J = link.rotation.symmetric_to_parent(body.J, f"Jp_{link.name}")
    n, f = to_parent(tree, index, body.n, body.f)
    r = link.offset
    shifted = general_named(matrix_sum(H, _tilde_times(r, M)), f"Hs_{link.name}")
    moved = matrix_sum(matrix_sum(J, _minus_times_tilde(H, r)), _tilde_times(r, _transposed(shifted)))
    return Articulated(_upper(moved), shifted, M, n, f)


def _transposed(a: Matrix) -> Matrix:
    return tuple(zip(*a, strict=True))  # type: ignore[return-value]


def _tilde_times(r: Triple, a: Matrix) -> Matrix:
    """r̃ a: the cross product of r with each column."""
    columns = [cross_triples(r, column) for column in _transposed(a)]
    return _transposed(tuple(columns))  # type: ignore[arg-type]


def _minus_times_tilde(a: Matrix, r: Triple) -> Matrix:
    """−a r̃: r × each row, since a r̃ = −(r̃ aᵀ)ᵀ."""
    return tuple(cross_triples(r, row) for row in a)  # type: ignore[return-value]


def _upper(a: Matrix) -> Matrix:
    """A symmetric matrix from its upper half, whose elements may be written differently below."""
    return tuple(tuple(a[min(i, j)][max(i, j)] for j in range(3)) for i in range(3))  # type: ignore[return-value]


def _joined(a: Articulated, b: Articulated) -> Articulated:
    return Articulated(
        matrix_sum(a.J, b.J), matrix_sum(a.H, b.H), matrix_sum(a.M, b.M), add(a.n, b.n), add(a.f, b.f)
    )


def _outward(tree: Tree, solved: list[list[Solved]]) -> dict[int, Any]:
    """x of every joint, ground first, with the accelerations that they give the links."""
    x: dict[int, Any] = {}
    reached: list[tuple[Triple, Triple]] = []
    for i, link in enumerate(tree.links):
        alpha, a = _arriving(link, reached)
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
        reached.append((alpha, a))
    return x


def _arriving(link: Link, reached: list[tuple[Triple, Triple]]) -> tuple[Triple, Triple]:
    if link.parent < 0:
        return ZEROS, ZEROS
    alpha, a = reached[link.parent]
    place = named(add(a, cross_triples(alpha, link.offset)), f"ap_{link.name}")
    turned, moved = link.rotation.to_child(alpha), link.rotation.to_child(place)
    return named(turned, f"al_{link.name}"), named(moved, f"al_{link.name}")
