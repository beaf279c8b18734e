"""Heights of an OpenCRG road below a position, for arrays and as part of a compiled model.

The pieces of the reference line are straight lines between its points. The cross section at a point has the
direction of the bisector of the two adjoining pieces, so between two points P1 and P2 the cross sections fan
out; v is measured along the normal n of the piece. With the direction t of the piece, its length l, and a, b
the shifts along t per unit of v of the cross sections at P1 and P2,

    v = (P − P1)·n        u = u1 + Δu ((P − P1)·t − a v) / (l + (b − a) v)

Heights are bilinear in (u, v) over the grid, plus the height of the reference line and bank times v, both
linear along u. So the height is continuous, and its slopes jump at the lines of the grid.

A position may project onto several pieces of a curved line. The right piece is found from the wheel's u one
step before, in the memory WHEEL_road_u: ROUNDS projections start from this u. So a track may cross itself and
be closed. Beyond its ends the line continues along its first and last piece.

Source: ASAM OpenCRG 1.2.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

import armillary as arm
from armillary.vehicles.opencrg.files import CrgFile, fill_missing, read_crg
from armillary.vehicles.road import Road, Surface
from armillary.vehicles.tyres.tyre import Scalar

ROUNDS = 2  # projections per evaluation: the first finds the piece, the second gives u and v on it
LARGEST = 2_000_000  # cells of a grid that a model may contain
MISSING = {"refuse": 0, "zero": 1, "neighbour": 2}  # modes of `fill_missing`


@dataclass(frozen=True)
class CrgRoad(Road):
    """A road of an OpenCRG file, whose axes x, y and z are the ground's; see `crg_road`.

    file      result of `read_crg`
    friction  scale of the tyre's friction, a number or a function of (x, y)
    kind      "linear" as ASAM defines it, or "smooth": bicubic heights with continuous slopes
    missing   heights that the file lacks: "refuse", "zero", or "neighbour" for the next height across
    start     u near which wheels on a curved road begin a run
    """

    file: CrgFile = field(kw_only=True)
    kind: str = "linear"
    missing: str = "refuse"
    start: float | None = None

    def __post_init__(self) -> None:
        file = self.file
        if self.missing not in MISSING:
            raise arm.ModelError(
                f"{file.path}: missing={self.missing!r} is not known; use {', '.join(MISSING)}"
            )
        if file.z.size > LARGEST:
            raise arm.ModelError(
                f"{file.path}: {file.z.size} heights are too many for a model (at most {LARGEST}); take a "
                "part with read_crg(…).crop(u=(low, high), every=2)"
            )
        gaps = np.isnan(fill_missing(file.z, MISSING[self.missing], 0.0))
        if np.any(gaps):
            row, column = np.argwhere(gaps)[0]
            raise arm.ModelError(
                f"{file.path}: {gaps.sum()} heights are missing, the first at u = {file.u[row]:g} m, v = "
                f"{file.v[column]:g} m; give missing='neighbour' or 'zero', or crop the road"
            )
        if not file.straight:
            self._check_line()

    def height_at(self, u: Scalar, v: Scalar) -> Scalar:
        """Return the height at (u, v), which may be expressions, numbers or arrays."""
        if not any(isinstance(value, arm.Expr) for value in (u, v)):
            scratch = arm.System("place")
            symbols = [scratch.parameter(name, 0.0, units="m") for name in ("u", "v")]
            found = arm.evaluate(
                self.height_at(*symbols), {"u": np.asarray(u, float), "v": np.asarray(v, float)}
            )
            return found
        grid, reference, bank = self._tables
        file = self.file
        outside: list[tuple[Scalar, float, bool]] = []
        places = []
        for value, limits, axis in ((u, file.u, "U"), (v, file.v, "V")):
            mode, low, high = self._border(axis), float(limits[0]), float(limits[-1])
            offset = float(file.options.get(f"BORDER_OFFSET_{axis}", 0.0))
            inside = arm.min(arm.max(value, low), high)
            if mode == "repeat":
                inside = low + arm.mod(value - low, high - low)
            elif mode == "reflect":
                inside = high - arm.abs(arm.mod(value - low, 2 * (high - low)) - (high - low))
            elif mode == "zero" or offset:
                outside.append((arm.or_(value < low, value > high), offset, mode == "zero"))
            places.append(inside)
        along, across = places
        height = grid(along, across) + reference(along) + bank(along) * across
        for away, offset, zero in reversed(outside):
            height = arm.select(away, offset if zero else height + offset, height)
        return self._fade(u, height)

    def below_wheel(self, system: arm.System, name: str, x: Scalar, y: Scalar) -> Surface:
        """Return the surface below a wheel; a curved road adds the memory NAME_road_u."""
        hint: Scalar = 0.0
        if not self.file.straight:
            hint = system.memory(f"{name}_road_u", self._start, units="m", about="place along the road")
            system.update(hint, self.project(x, y, hint)[0])
        edges: list[Scalar] = []
        for value, limits, axis in zip(
            self.project(x, y, hint), (self.file.u, self.file.v), "UV", strict=True
        ):
            if self._border(axis) == "none":
                edges += [value - float(limits[0]), float(limits[-1]) - value]
        if edges:
            distance = edges[0]
            for edge in edges[1:]:
                distance = arm.min(distance, edge)
            system.event(
                f"{name}_leaves_road", distance, direction=-1, stop=True,
                about="the road file has no heights beyond its borders (BORDER_MODE 0)",
            )  # fmt: skip
        return self._at(x, y, hint)

    def below(self, x: Scalar, y: Scalar) -> Surface:
        """Return the surface at a position; on a curved road its u must be near ``start``."""
        return self._at(x, y, self._start)

    def _at(self, x: Scalar, y: Scalar, hint: Scalar) -> Surface:
        made = Road(lambda a, b: self.height_at(*self.project(a, b, hint)), self.friction)
        return made.below(x, y)

    def project(self, x: Scalar, y: Scalar, near: Scalar = 0.0) -> tuple[Scalar, Scalar]:
        """Return (u, v) of a position on the ground, as expressions; the search begins at u = ``near``."""
        file = self.file
        first, last = float(file.u[0]), float(file.u[-1])
        if file.straight:
            ahead = np.array([file.x[-1] - file.x[0], file.y[-1] - file.y[0]])
            tx, ty = map(float, ahead / np.hypot(*ahead))
            dx, dy = x - float(file.x[0]), y - float(file.y[0])
            scale = (last - first) / float(np.hypot(*ahead))
            return first + scale * (dx * tx + dy * ty), dy * tx - dx * ty
        step = float(file.u[1] - file.u[0])
        u: Scalar = near
        v: Scalar = 0.0
        for _ in range(ROUNDS):
            here = self._wrap(u)
            piece = {label: table(here) for label, table in self._pieces.items()}
            dx, dy = x - piece["x"], y - piece["y"]
            v = dy * piece["tx"] - dx * piece["ty"]
            along = dx * piece["tx"] + dy * piece["ty"]
            u = self._piece_begin(here) + step * (along - piece["a"] * v) / (piece["l"] + piece["c"] * v)
        return (self._wrap(u) if self._closed else u), v

    def place(self, u: float | np.ndarray, v: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y of positions (u, v), for arrays."""
        file = self.file
        u, v = np.asarray(u, dtype=float), np.asarray(v, dtype=float)
        pieces = self._piece_arrays()
        step = float(file.u[1] - file.u[0])
        index = np.clip(np.floor((u - file.u[0]) / step).astype(int), -1, len(file.u) - 1) + 1
        p = {name: values[index] for name, values in pieces.items()}
        part = (u - p["u"]) / step
        along = part * p["l"] + v * (p["a"] + part * p["c"])
        return p["x"] + along * p["tx"] - v * p["ty"], p["y"] + along * p["ty"] + v * p["tx"]

    def _piece_begin(self, u: Scalar) -> Scalar:
        """Return u at the beginning of the piece that contains u."""
        first, step = float(self.file.u[0]), float(self.file.u[1] - self.file.u[0])
        number = arm.floor((u - first) / step)
        return first + step * arm.min(arm.max(number, 0.0), float(len(self.file.u) - 1))

    @property
    def _start(self) -> float:
        return float(self.file.u[0]) if self.start is None else self.start

    @property
    def _closed(self) -> bool:
        return self.file.options.get("REFLINE_CONTINUATION", 0.0) == 1

    def _wrap(self, u: Scalar) -> Scalar:
        """Return u of a closed line within the length of the line; other lines are unbounded."""
        if not self._closed:
            return u
        first, last = float(self.file.u[0]), float(self.file.u[-1])
        return first + arm.mod(u - first, last - first)

    def _border(self, axis: str) -> str:
        mode = int(self.file.options.get(f"BORDER_MODE_{axis}", 2))
        return ("none", "zero", "keep", "repeat", "reflect")[mode]

    def _fade(self, u: Scalar, height: Scalar) -> Scalar:
        """Return the height, blended with the reference line's height in the smooth zones at both ends."""
        file = self.file
        for label, end, sign in (("UBEG", 0, 1), ("UEND", -1, -1)):
            zone = file.options.get(f"BORDER_SMOOTH_{label}", 0.0)
            if zone > 0:
                base = float(file.reference_z[end])
                share = arm.min(arm.max(sign * (u - float(file.u[end])) / zone, 0.0), 1.0)
                height = base + share * (height - base)
        return height

    @cached_property
    def _tables(self) -> tuple[arm.Table2, arm.Table, arm.Table]:
        """Tables of grid heights over (u, v), line heights over u, and bank over u, all without units."""
        file = self.file
        z = fill_missing(file.z, MISSING[self.missing], 0.0)
        grid = arm.Table2(file.u, file.v, z, kind=self.kind, name="road_grid")
        line = arm.Table(file.u, file.reference_z, kind=self.kind, name="road_line")
        return grid, line, arm.Table(file.u, file.bank, kind=self.kind, name="road_bank")

    def _piece_arrays(self) -> dict[str, np.ndarray]:
        """Return the numbers of each piece of the line, with a straight piece added at both ends."""
        file = self.file
        points = np.stack([file.x, file.y], axis=1)
        ahead = np.diff(points, axis=0)
        length = np.hypot(ahead[:, 0], ahead[:, 1])
        tangent = ahead / length[:, None]
        chord = points[2:] - points[:-2]
        if self._closed:
            chord = np.concatenate([[points[1] - points[-2]], chord, [points[1] - points[-2]]])
        else:
            chord = np.concatenate([[ahead[0]], chord, [ahead[-1]]])
        # The cross section's shift along the piece per unit along its normal.
        across = np.stack([-chord[:, 1], chord[:, 0]], axis=1)
        normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1)
        shifts = [
            np.sum(section * tangent, axis=1) / np.sum(section * normal, axis=1)
            for section in (across[:-1], across[1:])
        ]
        step = float(file.u[1] - file.u[0])

        def pad(values: np.ndarray, before: float, behind: float) -> np.ndarray:
            return np.concatenate([[before], values, [behind]])

        return {
            "u": pad(file.u[:-1], file.u[0], file.u[-1]),
            "x": pad(file.x[:-1], file.x[0], file.x[-1]),
            "y": pad(file.y[:-1], file.y[0], file.y[-1]),
            "tx": pad(tangent[:, 0], tangent[0, 0], tangent[-1, 0]),
            "ty": pad(tangent[:, 1], tangent[0, 1], tangent[-1, 1]),
            "a": pad(shifts[0], 0.0, 0.0),
            "c": pad(shifts[1] - shifts[0], 0.0, 0.0),
            "l": pad(length, step, step),
        }

    @cached_property
    def _pieces(self) -> dict[str, Callable[[Scalar], Scalar]]:
        file = self.file
        step = float(file.u[1] - file.u[0])
        breaks = np.concatenate([[file.u[0] - step], file.u, [file.u[-1] + step]])
        return {
            name: _make_steps(f"road_{name}", breaks, values) for name, values in self._piece_arrays().items()
        }

    def _check_line(self) -> None:
        """Raise an error if cross sections intersect, or if the ends of a closed line are apart."""
        file, pieces = self.file, self._piece_arrays()
        low, high = float(file.v[0]), float(file.v[-1])
        widths = [pieces["l"] + pieces["c"] * v for v in (low, high)]
        narrow = np.minimum(*widths)[1:-1]
        if np.any(narrow <= 0):
            raise arm.ModelError(
                f"{file.path}: the reference line turns so sharply at u = "
                f"{file.u[int(np.argmin(narrow))]:g} m that cross sections of the road meet within v = "
                f"{low:g} to {high:g} m; crop the road's width"
            )
        gap = float(np.hypot(file.x[-1] - file.x[0], file.y[-1] - file.y[0]))
        if self._closed and gap > 1e-3 * (file.u[1] - file.u[0]):
            raise arm.ModelError(
                f"{file.path}: REFLINE_CONTINUATION = 1 closes the track, but its ends are {gap:g} m apart; "
                "correct the reference line, or set 0"
            )


def crg_road(
    source: str | os.PathLike[str] | CrgFile,
    *,
    friction: float | Callable[[Scalar, Scalar], Scalar] = 1.0,
    kind: str = "linear",
    missing: str = "refuse",
    start: float | None = None,
) -> CrgRoad:
    """Return the road of an OpenCRG file for wheels and cars.

    source    a path, or the result of `read_crg`: ``read_crg(path).crop(u=(0, 200), every=2)`` is a part
    friction  scale of the tyre's friction, a number or a function of (x, y)
    kind      "linear": bilinear between the points of the grid, as ASAM defines it, with slopes that jump at
              its lines; "smooth": bicubic with continuous slopes
    missing   heights that the file lacks: "refuse", "zero", or "neighbour" for the next height across
    start     u near which wheels on a curved road begin a run, by default the road's beginning; an error of a
              few pieces does no harm. Runs may set it for each wheel by the memories WHEEL_road_u

    These options of the file are applied: border modes (beyond a border of mode 0 a run ends), offsets,
    smooth ends and closed reference lines.
    """
    file = source if isinstance(source, CrgFile) else read_crg(source)
    return CrgRoad(friction=friction, file=file, kind=kind, missing=missing, start=start)


def _make_steps(name: str, breaks: np.ndarray, values: np.ndarray) -> Callable[[Scalar], Scalar]:
    """Return a piecewise constant function, the derivative of a table of its integral."""
    if np.ptp(values) <= 1e-12 * np.max(np.abs(values)):
        return lambda u: float(values[0])
    integral = np.concatenate([[0.0], np.cumsum(values * np.diff(breaks))])
    table = arm.Table(breaks, integral, kind="linear", outside="extend", name=name)
    scratch = arm.System(name)
    place = scratch.parameter("place", 0.0)
    slope = arm.derivative(table(place), place)

    def law(u: Scalar) -> Scalar:
        return arm.substitute(slope, {place: u}) if isinstance(slope, arm.Expr) else slope

    return law
