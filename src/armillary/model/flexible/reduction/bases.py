"""Reduction of a structure to modes: free, fixed and Craig-Bampton bases.

free           elastic modes of the part as it floats; its rigid motions are the body's and are left out
fixed          modes with some freedoms clamped to the body (a cantilever)
craig-bampton  static modes of an interface, each with one of its freedoms moved by one unit and the others
               held, and normal modes with the whole interface held; then made orthogonal among themselves
               (Craig and Bampton 1968). What is attached at the interface finds its exact static flexibility.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armillary.algebra.arguments import one_of
from armillary.errors import ModelError, shown
from armillary.model.flexible.checks import AXES, how_many, known_node
from armillary.model.flexible.part import Array, MatrixLike
from armillary.model.flexible.reduction.eigenpairs import (
    MasslessMotion,
    SingularMatrix,
    lowest_pairs,
    ritz,
    solve_static,
)
from armillary.model.flexible.reduction.integrals import rigid_motions

# Strain energy of a rigid motion is rounding: this share of what its separate elements would have.
_RIGID = 1e-11
# Positions and stiffness printed with six digits still fit each other to this.
_TIED = 1e-7

BASES = ("free", "fixed", "craig-bampton")


@dataclass(frozen=True)
class Structure:
    """Nodes with three or six freedoms each, and the matrices between all of them, dense or sparse."""

    where: str
    names: list[str]
    positions: Array  # n × 3
    mass: MatrixLike
    stiffness: MatrixLike

    @property
    def freedoms(self) -> int:
        """Freedoms per node."""
        return int(self.mass.shape[0]) // len(self.names)

    @cached_property
    def rigid(self) -> Array:
        """Six rigid motions as columns."""
        return rigid_motions(self.positions)[:, : self.freedoms].reshape(-1, 6)

    def label(self, freedom: int) -> str:
        """A freedom in the user's names."""
        return f"node '{self.names[freedom // self.freedoms]}' {AXES[freedom % self.freedoms]}"

    def chosen(self, entries: object, what: str) -> Array:
        """Freedoms by number from nodes ("root") and single freedoms of nodes ("root.rz")."""
        axes = AXES[: self.freedoms]
        found: set[int] = set()
        if entries is None:
            return np.array([], dtype=int)
        if not isinstance(entries, str | int | Iterable):
            raise ModelError(f"{self.where}: {what}={shown(entries)} must be names of nodes or freedoms")
        for entry in map(str, (entries,) if isinstance(entries, str | int) else entries):
            name, _, axis = entry.rpartition(".")
            if entry in self.names or name not in self.names:
                first = self.freedoms * known_node(entry, self.names, self.where, what)
                found.update(range(first, first + self.freedoms))
            elif axis in axes:
                found.add(self.freedoms * self.names.index(name) + axes.index(axis))
            else:
                raise ModelError(
                    f"{self.where}: {what} has '{entry}', but the freedoms of a node are {', '.join(axes)}"
                )
        return np.array(sorted(found), dtype=int)


@dataclass(frozen=True)
class Kept:
    """The freedoms of a structure that may move, and the rigid motions that nothing holds."""

    structure: Structure
    freedoms: Array
    rigid: Array  # columns over these freedoms

    def block(self, rows: Array, columns: Array) -> tuple[MatrixLike, MatrixLike]:
        """Mass and stiffness between some freedoms of the structure."""
        return self.structure.mass[rows][:, columns], self.structure.stiffness[rows][:, columns]

    def singular(self, freedom: int) -> ModelError:
        """The error about a freedom that has no resistance."""
        return ModelError(
            f"{self.structure.where}: the reduction is singular at {self.structure.label(freedom)}: nothing "
            "holds it (neither stiffness nor mass, a mechanism, or a stiffness that is not positive); fix it "
            "with fixed=, or complete the matrices there"
        )


def reduce_structure(
    structure: Structure,
    *,
    basis: str = "fixed",
    fixed: object = (),
    interface: object = (),
    modes: int | None = None,
    frequency_limit: float | None = None,
) -> tuple[Array, Array]:
    """Squares of the angular frequencies (N), and shapes n × 6 × N of unit modal mass, lowest first.

    ``modes`` is their number, ``frequency_limit`` (rad/s) the highest frequency; without both, all modes.
    For a Craig-Bampton basis they count the normal modes; every freedom of the interface adds one.
    """
    where = structure.where
    one_of(basis, BASES, f"{where}: there is no basis ", ModelError)
    modes = None if modes is None else how_many(modes, where, 0 if basis == "craig-bampton" else 1)
    clamped = structure.chosen(fixed, "fixed")
    ends = np.setdiff1d(structure.chosen(interface, "interface"), clamped)
    if basis == "free" and len(clamped):
        raise ModelError(f"{where}: basis 'free' holds nothing; leave out fixed=, or use basis='fixed'")
    if basis == "craig-bampton" and not len(ends):
        raise ModelError(f"{where}: a Craig-Bampton basis needs interface= nodes that are not fixed")
    if basis != "craig-bampton" and len(ends):
        raise ModelError(f"{where}: basis '{basis}' has no interface=; use basis='craig-bampton'")
    moving = np.setdiff1d(np.arange(structure.mass.shape[0]), clamped)
    if not len(moving):
        raise ModelError(f"{where}: every freedom is fixed, so nothing can move; fix fewer nodes")
    free = basis != "fixed" and not len(clamped)
    kept = Kept(structure, moving, _rigid(structure, basis) if free else np.zeros((len(moving), 0)))
    if basis == "craig-bampton":
        squares, vectors = _craig_bampton(kept, ends, modes, frequency_limit)
    else:
        squares, vectors = _elastic(kept, modes, frequency_limit)
    whole = np.zeros((structure.mass.shape[0], len(squares)))
    whole[moving] = vectors
    shapes = np.zeros((len(structure.names), 6, len(squares)))
    shapes[:, : structure.freedoms] = whole.reshape(len(structure.names), structure.freedoms, -1)
    return squares, shapes


def _rigid(structure: Structure, basis: str) -> Array:
    """Rigid motions as independent columns: six, five for points on a line, three for one point.

    None for an interface of a part whose own stiffness ties it to the body.
    """
    vectors, values, _ = np.linalg.svd(structure.rigid, full_matrices=False)
    rigid = vectors[:, values > 1e-10 * values[0]]
    strain, scale = _strain(structure.stiffness, rigid)
    worst = int(np.argmax(strain / scale))
    if strain[worst] > _TIED * scale[worst] and basis == "craig-bampton":
        return rigid[:, :0]
    if strain[worst] > _TIED * scale[worst]:
        at = int(np.argmax(np.abs(structure.stiffness @ rigid[:, worst])))
        raise ModelError(
            f"{structure.where}: the stiffness resists rigid motion, most at {structure.label(at)}; "
            "a free basis needs a part tied to nothing: use basis='fixed', or check positions="
        )
    return rigid


def _strain(stiffness: MatrixLike, vectors: Array) -> tuple[Array, Array]:
    """φᵀKφ of each column, and what it would be if nothing cancelled, |φ|ᵀ|K||φ|."""
    size = np.abs(vectors)
    scale = np.sum(size * (abs(stiffness) @ size), axis=0)
    return np.sum(vectors * (stiffness @ vectors), axis=0), np.maximum(scale, np.finfo(float).tiny)


def _elastic(kept: Kept, modes: int | None, limit: float | None) -> tuple[Array, Array]:
    """Modes of the kept freedoms without their rigid motions."""
    where, rigid = kept.structure.where, kept.rigid
    mass, stiffness = kept.block(kept.freedoms, kept.freedoms)
    massive, away = int(np.count_nonzero(mass.diagonal() > 0)), rigid.shape[1]
    there = massive - away
    asked = there if modes is None else modes
    if asked > there or not there:
        raise ModelError(
            f"{where}: {asked} modes requested, but there are {there}: {massive} freedoms with mass"
            + (f", of which rigid motion takes {away}" if away else "")
        )
    try:
        squares, vectors = lowest_pairs(mass, stiffness, asked + away, limit)
    except SingularMatrix as fault:
        raise kept.singular(int(kept.freedoms[fault.row])) from None
    except MasslessMotion as fault:
        at = kept.structure.label(int(kept.freedoms[fault.row]))
        raise ModelError(
            f"{where}: {asked} modes requested, but one of them moves no mass, most at {at}: the mass matrix "
            "is singular there; request fewer modes, or check the matrix"
        ) from None
    strain, scale = _strain(stiffness, vectors)
    _no_negative(kept, squares, strain / scale, vectors)
    loose = np.flatnonzero(strain <= _RIGID * scale)
    if len(loose) > away:
        at = kept.structure.label(int(kept.freedoms[np.argmax(np.abs(vectors[:, loose[-1]]))]))
        remedy = (
            "it is a mechanism besides the rigid motions: stiffen the part there"
            if away
            else "rigid motion is the body's own: clamp the part with fixed= nodes, or use basis='free'"
        )
        raise ModelError(
            f"{where}: mode {loose[-1] + 1 - away} has zero frequency and moves {at} most; {remedy}"
        )
    if away:  # the solver mixes a little rigid motion in
        momentum = mass @ rigid
        mixed = np.linalg.lstsq(rigid.T @ momentum, momentum.T @ vectors[:, away:], rcond=None)[0]
        squares, vectors = ritz(mass, stiffness, vectors[:, away:] - rigid @ mixed)
    if limit is not None:
        below = squares <= limit**2
        if not np.any(below):
            raise ModelError(
                f"{where}: no mode lies below frequency_limit={limit:g} rad/s; the lowest is at "
                f"{np.sqrt(squares[0]):.6g}"
            )
        squares, vectors = squares[below], vectors[:, below]
    return squares, vectors


def _no_negative(kept: Kept, squares: Array, share: Array, vectors: Array) -> None:
    if np.min(share) < -1e-9:
        p = int(np.argmin(share))
        at = kept.structure.label(int(kept.freedoms[np.argmax(np.abs(vectors[:, p]))]))
        raise ModelError(
            f"{kept.structure.where}: the stiffness matrix is not positive: ω² = {squares[p]:.6g} of a "
            f"motion that is largest at {at}; check its signs and the order of its rows"
        )


def _craig_bampton(kept: Kept, ends: Array, modes: int | None, limit: float | None) -> tuple[Array, Array]:
    """Static modes of the interface and normal modes with the interface held, orthogonal to each other."""
    structure, size = kept.structure, len(kept.freedoms)
    inner = np.setdiff1d(kept.freedoms, ends)
    at_ends, at_inner = np.searchsorted(kept.freedoms, ends), np.searchsorted(kept.freedoms, inner)
    static = np.zeros((size, len(ends)))
    static[at_ends, np.arange(len(ends))] = 1.0
    columns = [static]
    if len(inner):
        try:
            coupling = structure.stiffness[inner][:, ends]
            static[at_inner] = -solve_static(structure.stiffness[inner][:, inner], coupling)
        except SingularMatrix as fault:
            raise kept.singular(int(inner[fault.row])) from None
        if modes != 0:
            held = Kept(structure, inner, np.zeros((len(inner), 0)))
            _, normal = _elastic(held, modes, limit)
            columns.append(np.zeros((size, normal.shape[1])))
            columns[-1][at_inner] = normal
    elif modes:
        raise ModelError(f"{structure.where}: every moving freedom is interface, so there are 0 normal modes")
    basis = np.hstack(columns)
    mass, stiffness = kept.block(kept.freedoms, kept.freedoms)
    _independent(kept, ends, basis.T @ (mass @ basis))
    squares, vectors = ritz(mass, stiffness, basis)
    away = kept.rigid.shape[1]
    strain, scale = _strain(stiffness, vectors)
    _no_negative(kept, squares, strain / scale, vectors)
    loose = int(np.count_nonzero(strain <= _RIGID * scale))
    if loose != away or len(squares) == away:
        raise ModelError(
            f"{structure.where}: {loose} Craig-Bampton modes have zero frequency, {away} were "
            "expected from rigid motion; interface= and fixed= together must hold the part in all directions"
        )
    return squares[away:], vectors[:, away:]


def _independent(kept: Kept, ends: Array, mass: Array) -> None:
    """Static and normal modes that move the masses in different ways; else the freedom at fault is named."""
    own = np.diag(mass)
    if np.min(own) > 0:
        scale = 1 / np.sqrt(own)
        values, vectors = np.linalg.eigh(mass * np.outer(scale, scale))
        if values[0] > 1e-12:
            return
        fault = int(np.argmax(np.abs(vectors[: len(ends), 0])))
    else:
        fault = int(np.argmin(own))
    raise ModelError(
        f"{kept.structure.where}: the interface is redundant: {kept.structure.label(int(ends[fault]))} moves "
        "no mass that the other interface freedoms do not move; leave it out of interface="
    )
