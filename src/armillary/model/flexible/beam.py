"""Uniform straight beams after Euler and Bernoulli, with cross-sections and exact modes.

The modes are standing waves of bending, stretching and twisting. Bending solves w'''' = k⁴ w. From about the
tenth mode on, the difference of the usual functions sinh and cosh is lost in rounding. So shapes are written
with functions that stay within ±1,

    w = a cos kx + b sin kx + c e^(−kx) + d e^(−k(L−x))

and the hundredth mode is as accurate as the first. Stretching and twisting have u'' = −k² u, with the
solutions u = a cos kx + b sin kx. The conditions at the ends give k and the coefficients; a free tip may
carry a mass and an inertia. Source of the equations: Blevins (1979), chap. 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated

import numpy as np

from armillary.algebra.arguments import records_arguments
from armillary.errors import ModelError, nearest
from armillary.model.flexible.part import (
    Array,
    FlexibleNode,
    FlexiblePart,
    lumped_mass,
    modal_integrals,
    settle,
    shortening_size,
)
from armillary.model.flexible.part_input import (
    Direction,
    how_many,
    local_axes,
    modal_damping,
    node_records,
    one_or_more,
    place_name,
    poisson,
    read_array,
    read_positive,
    station_names,
    turn_shapes,
)
from armillary.model.reading.kinds import (
    NUMBER,
    NUMBERS,
    WORDS,
    Either,
    ListOf,
    Number,
    ObjectForm,
    OneOf,
    TableOf,
    Words,
)
from armillary.untyped import Given


@dataclass(frozen=True)
class Section:
    """A cross-section in local y and z: area, second moments of area about y and z, torsion constant."""

    area: Number
    Iy: Number
    Iz: Number
    J: Number

    def __post_init__(self) -> None:
        for name in ("area", "Iy", "Iz", "J"):
            value = float(read_array(getattr(self, name), "Section", name, ()))
            if value < 0:
                raise ModelError(f"Section: {name} must not be negative, but it is {value:g}")

    @classmethod
    def circle(cls, radius: Number) -> Section:
        """Return a solid circle."""
        return cls.tube(radius, radius)

    @classmethod
    def tube(cls, radius: Number, thickness: Number) -> Section:
        """Return a ring of outer ``radius`` and wall ``thickness``."""
        outer, wall = (
            read_positive(radius, "Section", "radius"),
            read_positive(thickness, "Section", "thickness"),
        )
        if wall > outer:
            raise ModelError(f"Section: the wall of {wall:g} is thicker than the radius {outer:g}")
        inner = outer - wall
        moment = np.pi / 4 * (outer**4 - inner**4)
        return cls(np.pi * (outer**2 - inner**2), moment, moment, 2 * moment)

    @classmethod
    def rectangle(cls, y: Number, z: Number) -> Section:
        """Return a solid rectangle with sides ``y`` and ``z``.

        J = a b³ (1/3 − 64/π⁵ (b/a) Σ tanh(nπa/2b)/n⁵), n odd, b the shorter side (Timoshenko and Goodier,
        art. 109).
        """
        y, z = read_positive(y, "Section", "y"), read_positive(z, "Section", "z")
        long, short = max(y, z), min(y, z)
        n = np.arange(1, 40, 2)
        series = float(np.sum(np.tanh(n * np.pi * long / (2 * short)) / n**5.0))
        torsion = long * short**3 * (1 / 3 - 64 / np.pi**5 * short / long * series)
        return cls(y * z, y * z**3 / 12, z * y**3 / 12, torsion)


# Sections in a text model: section = { tube = [0.05, 0.002] }
SECTIONS = (
    ObjectForm("area", Section),
    ObjectForm("circle", Section.circle, "radius"),
    ObjectForm("tube", Section.tube, spread=True),
    ObjectForm("rectangle", Section.rectangle, spread=True),
)
SECTION = OneOf(SECTIONS)


# Step of the search for roots kL, which are about π apart; with heavy tips they may be closer.
_STEP = 0.01


@dataclass(frozen=True)
class Wave:
    """One standing wave on 0 ≤ x ≤ length."""

    length: float
    number: float  # k
    coefficients: Array  # a, b, c, d of a bending wave; a, b of another wave

    def values(self, x: Array, order: int = 0) -> Array:
        """Return the wave, or its derivative of some order, at places x."""
        functions = _beam_functions(self.number * np.asarray(x), self.number * self.length, order)
        count = len(self.coefficients)
        return self.number**order * np.tensordot(self.coefficients, functions[:count], 1)

    def scale(self, factor: float) -> Wave:
        """Return the wave times a factor."""
        return Wave(self.length, self.number, self.coefficients * factor)


def _beam_functions(phase: Array, full: Array | float, order: int) -> Array:
    """Return cos kx, sin kx, e^(−kx) and e^(−k(L−x)), differentiated ``order`` times by the phase kx;
    ``full`` is kL.
    """
    turned = phase + order * np.pi / 2
    sign = (-1.0) ** order
    return np.stack([np.cos(turned), np.sin(turned), sign * np.exp(-phase), np.exp(phase - full)])


def bending_waves(
    length: float, root: str, tip: str, count: int, mass: float = 0.0, inertia: float = 0.0
) -> list[Wave]:
    """Return the first ``count`` elastic waves of bending of a beam with mass μ per length.

    A free tip may carry a mass m and an inertia I, given as ``mass`` = m/μL and ``inertia`` = I/μL³.
    """
    return [Wave(length, full / length, shape) for full, shape in _bending(root, tip, count, mass, inertia)]


@lru_cache(maxsize=256)
def _bending(root: str, tip: str, count: int, mass: float, inertia: float) -> list[tuple[float, Array]]:
    """Return kL and the coefficients of the first ``count`` waves.

    Results are cached, since the search takes some 15 ms. They are the same in both planes of a beam and for
    any length.
    """

    def conditions(full: Array) -> Array:
        """Return the matrix, … × 4 × 4, of the conditions at the ends on the four coefficients; the largest
        element of each row is ±1.
        """

        def row(at_tip: bool, order: int) -> Array:
            return np.moveaxis(_beam_functions(full * at_tip, full, order), 0, -1)

        orders = {"clamped": (0, 1), "pinned": (0, 2), "free": (2, 3)}
        rows = [row(False, order) for order in orders[root]]
        if tip == "free":
            # EI w''' = −mω²w and EI w'' = Iω²w', with ω² = EI k⁴/μ
            rows.append(row(True, 2) - (inertia * full**3)[..., None] * row(True, 1))
            rows.append(row(True, 3) + (mass * full)[..., None] * row(True, 0))
        else:
            rows += [row(True, order) for order in orders[tip]]
        matrix = np.stack(rows, axis=-2)
        found: Array = matrix / np.max(np.abs(matrix), axis=-1, keepdims=True)
        return found

    # Near k = 0 the four functions are nearly dependent. The search starts above that, so that it finds no
    # roots from rounding, nor the root k = 0 of rigid motions.
    starts = {"clamped": 0.03, "pinned": 0.06, "free": 0.5}
    start = starts[root] if tip == "free" else max(starts[root], starts[tip])
    waves = []
    for full in roots(lambda k: np.linalg.det(conditions(k)), count, start):
        waves.append((full, np.linalg.svd(conditions(np.array(full)))[2][-1]))
    return waves


def line_waves(length: float, root: str, tip: str, count: int, load: float = 0.0) -> list[Wave]:
    """Return the first elastic waves of stretching or twisting.

    ``load`` is the mass or moment of inertia of the tip relative to that of the beam.
    """
    held = root != "free"

    def condition(full: Array) -> Array:
        value, slope = (np.sin(full), np.cos(full)) if held else (np.cos(full), -np.sin(full))
        found: Array = slope - load * full * value if tip == "free" else value
        return found

    start = 1e-3 if held and tip == "free" else 0.5
    shape = np.array([0.0, 1.0] if held else [1.0, 0.0])
    return [Wave(length, full / length, shape) for full in roots(condition, count, start)]


def roots(function: Callable[[Array], Array], count: int, start: float) -> list[float]:
    """Return the first roots above ``start`` of a function of kL."""
    found: list[float] = []
    low = start
    while len(found) < count:
        grid = np.arange(low, low + 10 * np.pi, _STEP)
        values = function(grid)
        crossed = np.flatnonzero(np.diff(values > 0))  # this also finds roots at points of the grid
        left, right, sign = grid[crossed], grid[crossed + 1], np.sign(values[crossed])
        for _ in range(60):
            middle = 0.5 * (left + right)
            same = np.sign(function(middle)) == sign
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        found += (0.5 * (left + right)).tolist()
        low = float(grid[-1])
    return found[:count]


ENDS = ("clamped", "pinned", "free")
MOTIONS = ("y", "z", "axial", "torsion")
# Largest ratio of the tip's mass (or inertia) to the beam's. A heavier tip with the beam is a rigid body on a
# spring, and its k is too small to be computed.
_HEAVY = 1e5


_gauss = lru_cache(maxsize=64)(np.polynomial.legendre.leggauss)


@dataclass(frozen=True)
class _Mode:
    """A wave with its direction of motion and its angular frequency."""

    motion: str
    wave: Wave
    frequency: float


@records_arguments
class Beam:
    """A uniform straight Euler-Bernoulli beam, from its root at ``origin`` ``along`` a direction of the body.

        EI w'''' + μ ẅ = 0 in the local x-y and x-z planes,   EA u'' = μ ü,   GJ φ'' = ι φ̈

    Local x is ``along``, local y is the part of ``across`` perpendicular to x, and local z = x × y. Without
    ``across``, local y is the first of the body's axes y, z, x that is not nearly along local x. So the local
    axes are the body's (x, y, z) for a beam along x, (y, z, x) for one along y, and (z, y, −x) for one along
    z. The motions "y" and "z" are bending along local y and local z: a beam along y that bends only along the
    body's z is ``along="y", across="x", motions="z"``.

    The rigidities are ``EI`` (one number, or two, about local y and z; EI about z resists motion along y),
    ``EA`` and ``GJ``. ``mass_per_length`` is μ, and ``polar`` ι, for torsion, is the moment of inertia per
    length about the axis. Instead of these, ``E``, ``G`` (or ``nu``), ``density`` and a ``section`` may be
    given. Motions without a rigidity are left out.

    ``root`` and ``tip`` are "clamped", "pinned" (position and twist held, free to rotate in bending) or
    "free"; rigid motions belong to the body and are not modes. ``tip_mass`` and ``tip_inertia`` (moments
    about local x, y, z) describe a small body on a free tip. ``stations`` names further nodes by their
    distance from the root; nodes "root" and "tip" always exist. Rotary inertia of bending is neglected, as in
    Euler and Bernoulli's theory.

    Spin *softens* this model of a beam, and at fast spin its deflection grows without bound, unless
    ``flexible(…, stiffening=True)`` lets the beam shorten as it bends.
    """

    def __init__(
        self,
        length: Number,
        *,
        EI: Annotated[object, NUMBERS] = None,
        EA: Annotated[object, NUMBER] = None,
        GJ: Annotated[object, NUMBER] = None,
        mass_per_length: Annotated[object, NUMBER] = None,
        polar: Annotated[object, NUMBER] = None,
        E: Annotated[object, NUMBER] = None,
        G: Annotated[object, NUMBER] = None,
        nu: Annotated[object, NUMBER] = None,
        density: Annotated[object, NUMBER] = None,
        section: Annotated[Section | None, SECTION] = None,
        root: Words = "clamped",
        tip: Words = "free",
        tip_mass: Annotated[object, NUMBER] = 0.0,
        tip_inertia: Annotated[object, NUMBERS] = 0.0,
        motions: Annotated[object, Either((WORDS, ListOf(WORDS)))] = None,
        stations: Annotated[object, Either((NUMBERS, TableOf(NUMBER, keys=False)))] = (),
        origin: Annotated[object, NUMBERS] = (0.0, 0.0, 0.0),
        along: Direction = "x",
        across: Direction = None,
    ) -> None:
        where = "Beam"
        self.length = read_positive(length, where, "length")
        if section is not None:
            given = {"EI": EI, "EA": EA, "GJ": GJ, "mass_per_length": mass_per_length, "polar": polar}
            if twice := [name for name, value in given.items() if value is not None]:
                raise ModelError(f"{where}: {twice[0]}= is given and follows from the section too; give one")
            if not isinstance(section, Section):
                raise ModelError(
                    f"{where}: section={section!r} is not a Section; make one, e.g. Section.circle(radius)"
                )
            modulus, weight = read_positive(E, where, "E"), read_positive(density, where, "density")
            if G is not None and nu is not None:
                raise ModelError(f"{where}: G= is given and follows from E and nu too; give one")
            shear = G if nu is None else modulus / (2 * (1 + poisson(nu, where)))
            EI, EA = (modulus * section.Iy, modulus * section.Iz), modulus * section.area
            GJ = None if shear is None else read_positive(shear, where, "G") * section.J
            mass_per_length, polar = weight * section.area, weight * (section.Iy + section.Iz)
        elif material := [
            n for n, v in (("E", E), ("G", G), ("nu", nu), ("density", density)) if v is not None
        ]:
            raise ModelError(f"{where}: {material[0]}= needs a section=, or give EI and mass_per_length")
        self.mass_per_length = read_positive(mass_per_length, where, "mass_per_length")
        self.polar = 0.0 if polar is None else read_positive(polar, where, "polar", zero=True)
        for end, kind in (("root", root), ("tip", tip)):
            if kind not in ENDS:
                raise ModelError(
                    f"{where}: {end}={kind!r} is not one of {', '.join(ENDS)}{nearest(str(kind), ENDS)}"
                )
        self.root, self.tip = root, tip
        self.tip_mass = read_positive(tip_mass, where, "tip_mass", zero=True)
        self.tip_inertia = one_or_more(tip_inertia, 3, where, "tip_inertia")
        if np.min(self.tip_inertia) < 0:
            raise ModelError(f"{where}: tip_inertia {self.tip_inertia} has a negative moment")
        if (self.tip_mass or np.any(self.tip_inertia)) and tip != "free":
            raise ModelError(f"{where}: a tip body needs tip='free', not {tip!r}; a held tip does not move")
        self.rigidities = self._read_rigidities(EI, EA, GJ, where)
        self.motions = self._read_motions(motions, where)
        self.axes = local_axes(along, across, where)
        self.origin = read_array(origin, where, "origin", (3,))
        self.stations = {"root": 0.0, "tip": self.length, **self._read_stations(stations, where)}

    def _read_rigidities(self, EI: object, EA: object, GJ: object, where: str) -> dict[str, float]:
        """Return the rigidity of each motion, by name; EI about z resists bending along y."""
        found: dict[str, float] = {}
        if EI is not None:
            about_y, about_z = one_or_more(EI, 2, where, "EI")
            found["y"], found["z"] = read_positive(about_z, where, "EI"), read_positive(about_y, where, "EI")
        if EA is not None:
            found["axial"] = read_positive(EA, where, "EA")
        if GJ is not None:
            found["torsion"] = read_positive(GJ, where, "GJ")
            if not self.polar:
                raise ModelError(f"{where}: torsion (GJ) needs polar=, the moment of inertia per length")
        if not found:
            raise ModelError(f"{where}: it has no rigidity; give EI, EA or GJ, or E, density and a section")
        return found

    def _read_motions(self, motions: Given, where: str) -> tuple[str, ...]:
        if motions is None:
            return tuple(self.rigidities)
        alone = isinstance(motions, str) or not isinstance(motions, Iterable)
        chosen = (motions,) if alone else tuple(motions)
        if not chosen:
            raise ModelError(f"{where}: motions is empty; leave it out, or name some of {', '.join(MOTIONS)}")
        for motion in chosen:
            if motion not in self.rigidities:
                known = ", ".join(self.rigidities)
                raise ModelError(
                    f"{where}: there is no motion {motion!r} of this beam{nearest(str(motion), MOTIONS)}; it "
                    f"has rigidity for {known}"
                )
        return chosen

    def _read_stations(self, stations: object, where: str) -> dict[str, float]:
        found = station_names(stations, ("root", "tip"), where)
        return {name: self._station(s, f"{where}: station '{name}'") for name, s in found.items()}

    def _station(self, s: object, where: str) -> float:
        found = float(read_array(s, where, "its distance from the root", ())) + 0.0  # no −0
        if not 0 <= found <= self.length:
            raise ModelError(f"{where}: {found:g} lies outside the beam, 0 to {self.length:g}")
        return found

    def _waves(self, motion: str, count: int) -> list[_Mode]:
        """Return the first modes of one motion, with unit modal mass.

        Their sign is such that the tip moves in the positive direction. If the tip hardly moves, this holds
        for the root, else for the middle.
        """
        own = self.mass_per_length * self.length
        if motion in ("y", "z"):
            inertia = float(self.tip_inertia[2 if motion == "y" else 1])
            tip = self.tip_mass / own, inertia / (own * self.length**2)
            waves = bending_waves(self.length, self.root, self.tip, count, *tip)
            rate = np.sqrt(self.rigidities[motion] / self.mass_per_length)
            loads, density, power = (self.tip_mass, inertia), self.mass_per_length, 2
        else:
            density, load = (
                (self.mass_per_length, self.tip_mass)
                if motion == "axial"
                else (self.polar, float(self.tip_inertia[0]))
            )
            waves = line_waves(self.length, self.root, self.tip, count, load / (density * self.length))
            rate = np.sqrt(self.rigidities[motion] / density)
            loads, power = (load, 0.0), 1
        places, weights = self._quadrature(waves[-1].number)
        found = []
        for wave in waves:
            modal = density * float(weights @ wave.values(places) ** 2)
            end = np.array([self.length])
            modal += float(loads[0] * wave.values(end)[0] ** 2 + loads[1] * wave.values(end, 1)[0] ** 2)
            # Values at the tip, the root and the middle; in the second mode between pins none of these moves.
            size = wave.values(np.array([self.length, 0.0, self.length / 2]))
            everywhere = wave.values(places)
            if np.max(np.abs(size)) < 0.1 * np.max(np.abs(everywhere)):
                size = everywhere
            sign = np.sign(size[np.argmax(np.abs(size) > 0.5 * np.max(np.abs(size)))])
            found.append(_Mode(motion, wave.scale(sign / np.sqrt(modal)), float(rate * wave.number**power)))
        return found

    def _quadrature(self, number: float) -> tuple[Array, Array]:
        """Return Gauss points and weights that integrate products of waves with wave numbers up to
        ``number``.
        """
        points, weights = _gauss(40 + int(1.2 * number * self.length))
        return 0.5 * self.length * (1 + points), 0.5 * self.length * weights

    def _lowest(self, modes: object, limit: float | None, where: str) -> list[_Mode]:
        if modes is None and limit is None:
            raise ModelError(f"{where}: give modes=, the number of modes of the beam, or frequency_limit=")
        modes = None if modes is None else how_many(modes, where)
        candidates: list[_Mode] = []
        for motion in self.motions:
            count = modes
            if count is None:  # waves are about π apart in kL
                rigidity = self.rigidities[motion]
                inertia = self.polar if motion == "torsion" else self.mass_per_length
                speed, power = np.sqrt(rigidity / inertia), 0.5 if motion in ("y", "z") else 1.0
                count = 3 + int((limit / speed) ** power * self.length / np.pi)
            candidates += self._waves(motion, count)
        candidates.sort(key=lambda mode: mode.frequency)
        if limit is not None:
            lowest = candidates[0].frequency
            candidates = [mode for mode in candidates if mode.frequency <= limit]
            if not candidates:
                raise ModelError(
                    f"{where}: no mode lies below frequency_limit={limit:g} rad/s; the lowest is at "
                    f"{lowest:.6g}"
                )
        return candidates if modes is None else candidates[:modes]

    def _check_tip(self, where: str) -> None:
        own = self.mass_per_length * self.length
        shares = [self.tip_mass / own, *(self.tip_inertia[1:] / (own * self.length**2))]
        if self.polar:
            shares.append(self.tip_inertia[0] / (self.polar * self.length))
        if max(shares) > _HEAVY:
            raise ModelError(
                f"{where}: the body on the tip is {max(shares):.3g} times as heavy as the beam; make it a "
                "separate body at the node 'tip'"
            )

    def flexible_part(
        self,
        where: str,
        *,
        modes: int | None = None,
        frequency_limit: object = None,
        damping: object = None,
        damping_matrix: object = None,
        second_order: bool = True,
        stiffening: bool = False,
    ) -> FlexiblePart:
        """Return the lowest modes of all motions as a flexible part."""
        self._check_tip(where)
        if stiffening and self.tip != "free":
            raise ModelError(
                f"{where}: stiffening lets the tip move along the beam as it bends, but it is {self.tip}; "
                "use tip='free'"
            )
        limit = None if frequency_limit is None else read_positive(frequency_limit, where, "frequency_limit")
        chosen = self._lowest(modes, limit, where)
        places, weights = self._quadrature(max(mode.wave.number for mode in chosen))
        places = np.append(places, self.length)
        masses = np.append(self.mass_per_length * weights, self.tip_mass)
        inertias = np.zeros((len(places), 3, 3))
        inertias[:-1, 0, 0] = self.polar * weights
        inertias[-1] = np.diag(self.tip_inertia)
        bend = self._shortening(chosen, places, places, masses) if stiffening else None
        integrals = modal_integrals(
            lumped_mass(masses, self.axes @ inertias @ self.axes.T),
            self._positions(places),
            self._shapes(chosen, places),
            second_order=second_order,
            shortening=bend,
        )
        K = np.diag(np.diag(integrals["M"]) * np.array([mode.frequency for mode in chosen]) ** 2)

        def nodes(names: list[str], s: Array) -> dict[str, FlexibleNode]:
            bent = self._shortening(chosen, s, places, masses) if stiffening else None
            return node_records(names, self._positions(s), self._shapes(chosen, s), bent)

        def anywhere(place: object) -> FlexibleNode:
            s = self._station(place, f"node at {place!r}")
            name = place_name(s)
            return replace(nodes([name], np.array([s]))[name], place=s)

        part = FlexiblePart(
            **integrals,
            K=K,
            C=modal_damping(integrals["M"], K, where, damping=damping, damping_matrix=damping_matrix),
            nodes=nodes(list(self.stations), np.array(list(self.stations.values()))),
            anywhere=anywhere,
        )
        return settle(part, shortening_size(masses, bend))

    def _positions(self, s: Array) -> Array:
        return self.origin + np.outer(s, self.axes[:, 0])

    def _shapes(self, modes: list[_Mode], s: Array, axes: Array | None = None) -> Array:
        """Return the shapes n × 6 × N at distances s from the root, in body axes unless others are given."""
        local = np.zeros((len(s), 6, len(modes)))
        for p, mode in enumerate(modes):
            wave = mode.wave
            if mode.motion == "y":
                local[:, 1, p], local[:, 5, p] = wave.values(s), wave.values(s, 1)
            elif mode.motion == "z":
                local[:, 2, p], local[:, 4, p] = wave.values(s), -wave.values(s, 1)
            else:
                local[:, 0 if mode.motion == "axial" else 3, p] = wave.values(s)
        return turn_shapes(self.axes if axes is None else axes, local)

    def _shortening(self, modes: list[_Mode], s: Array, places: Array, masses: Array) -> Array:
        """Return the foreshortening G_pq(s) = −x̂ ∫₀ˢ w_p'·w_q' ds with slopes w' in both planes, as an array
        n × 3 × N × N for n distances s and N modes.

        The root is not displaced by foreshortening. If it is free, the centre of the ``masses`` at ``places``
        is not displaced instead.
        """
        drawn = self._slope_products(modes, s)
        if self.root == "free":
            drawn = drawn - np.tensordot(masses, self._slope_products(modes, places), 1) / np.sum(masses)
        along = self.axes[:, 0]
        found: Array = -along[None, :, None, None] * drawn[:, None]
        return found

    def _slope_products(self, modes: list[_Mode], s: Array) -> Array:
        """Return ∫₀ˢ w_p'·w_q' ds as an array n × N × N."""
        points, weights = self._quadrature(max(mode.wave.number for mode in modes))
        found = np.zeros((len(s), len(modes), len(modes)))
        for i, end in enumerate(s / self.length):
            slopes = self._shapes(modes, points * end, np.eye(3))[:, 4:6]
            found[i] = np.einsum("g,gap,gaq->pq", weights * end, slopes, slopes, optimize=True)
        return found
