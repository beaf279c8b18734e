"""A sketch of a mechanism as vector graphics: links, joints by their symbols, springs, names and coordinates.

A mechanism whose hinges are all parallel is seen along the hinges, any other from an oblique direction.
Lengths are to scale; symbols have a fixed size.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from armillary.algebra.arguments import file_path, one_of
from armillary.errors import ArmillaryError
from armillary.limited_files import write_file
from armillary.model.bodies.body import Body
from armillary.model.joints import Drift, Slide, Tumble, Turn
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import DataMapping, DataTable, Given
from armillary.viewer.appearance import COLOURS, SURROUNDINGS, Appearance
from armillary.viewer.page_data import PoseFunction, Poses
from armillary.viewer.surfaces import surfaces_of

_WIDTH, _TALLEST, _MARGIN, _SYMBOL = 720.0, 620.0, 60.0, 9.0
_GROUND = "#8a949d"
_PARALLEL = 1e-6  # 1 − |cosine of the angle| between hinges below which they count as parallel
VIEWS = ("auto", "oblique", "x", "y", "z")


def draw(
    model: CompiledModel,
    path: str | os.PathLike[str] | None = None,
    *,
    view: str = "auto",
    initial: DataMapping | Sequence[float] | None = None,
    parameters: DataMapping | None = None,
) -> Drawing:
    """Return a sketch of the mechanism at the start of runs, as SVG text, which notebooks show as the
    picture; with ``path`` it is also written to that file.

    ``view`` is the direction of sight: "x", "y" or "z" of the ground, "oblique", or "auto": along the hinges
    if all are parallel, else oblique.
    """
    one_of(view, VIEWS, "there is no view ")
    place = None if path is None or path == "svg" else file_path(path, "the sketch")
    if place is not None and place.suffix.lower() != ".svg":
        raise ArmillaryError(f"a sketch is written as .svg, not as '{place.name}'")
    state = model.state(initial, parameters)
    poses = PoseFunction(model.equations).at(0.0, state[None, :], dict(parameters or {}))
    text = Drawing(Sketch(Appearance(model.equations, dict(parameters or {})), poses, view).svg())
    if place is not None:
        write_file(place, text)
    return text


class Drawing(str):
    """SVG text that a notebook shows as the picture; ``print`` shows the text."""

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"Drawing(SVG text of {len(self)} characters; a notebook shows the picture)"


class Sketch:
    """The drawing of one configuration."""

    def __init__(self, look: Appearance, poses: Poses, view: str = "auto") -> None:
        self.look, self.poses = look, poses
        self.index = {name: i for i, name in enumerate(poses.names)}
        self.up = np.array(look.up())
        self.right, self.upward = self._axes(view)
        self.springs = [
            [
                self.place_in_ground(look.named.get(end["body"], look.ground), end["at"])
                for end in spring["ends"]
            ]
            for spring in look.springs()
        ]
        ends = [self._ends(body) for body in look.bodies]
        self.shapes = self._shapes()
        drawn: list[Iterable[np.ndarray]] = [*ends, *self.springs, *(corners for corners, _ in self.shapes)]
        self._scale(np.array([np.zeros(3), *(p for places in drawn for p in places)]))
        self.lines: list[str] = []

    # ------------------------------------------------------------ positions

    def place_in_ground(self, body: Body, place: object) -> np.ndarray:
        """Return a point of a body, in the ground's axes."""
        if body.name not in self.index:
            return np.asarray(place, dtype=float)
        i = self.index[body.name]
        found: np.ndarray = self.poses.positions[0, i] + self.poses.rotations[0, i] @ np.asarray(
            place, dtype=float
        )
        return found

    def direction(self, body: Body, axis: np.ndarray) -> np.ndarray:
        """Return a direction of a body, in the ground's axes."""
        found: np.ndarray = self.poses.rotations[0, self.index[body.name]] @ axis
        return found

    def _ends(self, body: Body) -> list[np.ndarray]:
        """Return the position of a body's joint and of the points where others are attached, else of its mass
        centre.
        """
        found = [
            self.place_in_ground(body, (0, 0, 0)),
            *(self.place_in_ground(body, p) for p in self.look.attachment_points(body)),
        ]
        centre = self.place_in_ground(body, self.look.numbers(body.com_coordinates))
        return found if len(found) > 1 else [*found, centre]

    def _has_shape(self, body: Body) -> bool:
        return self.look.has_shape(body)

    def _shapes(self) -> list[tuple[np.ndarray, str]]:
        """Return the corners of given shapes in the ground's axes, each with its colour; first the ground."""
        found = []
        coloured = zip(self.look.bodies, (COLOURS[i % len(COLOURS)] for i in range(len(self.look.bodies))),
                       strict=True)  # fmt: skip
        for body, colour in [(self.look.ground, _GROUND), *coloured]:
            if not self._has_shape(body):
                continue
            for part in self.look.parts(body):
                if part["kind"] in SURROUNDINGS:
                    continue
                for surface, own in surfaces_of(part, self.look.meshes.found):
                    places = np.array([self.place_in_ground(body, p) for p in surface.vertices])
                    found.append((places, own or colour))
        return found

    def _hinges(self) -> list[np.ndarray]:
        found = []
        for body in self.look.bodies:
            for kind, axis in self.look.joint_axes(body):
                if kind is Turn:
                    found.append(self.direction(body, axis))
        return found

    def _axes(self, view: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the directions to the right and upwards on the paper."""
        hinges = self._hinges()
        if view in "xyz":
            towards = np.eye(3)["xyz".index(view)]
        elif view == "auto" and hinges and all(1 - abs(h @ hinges[0]) < _PARALLEL for h in hinges):
            towards = hinges[0] * (1.0 if hinges[0].sum() > 0 else -1.0)
        else:
            side = np.eye(3)[int(np.argmin(np.abs(self.up)))]
            front = side - self.up * (side @ self.up)
            towards = -front / np.linalg.norm(front) + 0.75 * np.cross(front, self.up) + 0.6 * self.up
        towards = towards / np.linalg.norm(towards)
        upward = self.up - towards * (self.up @ towards)
        if np.linalg.norm(upward) < 1e-6:  # seen from above: y points upwards, or x
            upward = np.eye(3)[1 if abs(towards[1]) < 0.9 else 0]
            upward = upward - towards * (upward @ towards)
        upward = upward / np.linalg.norm(upward)
        return np.cross(upward, towards), upward

    def _scale(self, points: np.ndarray) -> None:
        flat = np.stack([points @ self.right, points @ self.upward], axis=1)
        low, high = flat.min(axis=0), flat.max(axis=0)
        span = np.maximum(high - low, 0.05 * max(self.look.size, float(np.max(high - low))))
        self.factor = float(min((_WIDTH - 2 * _MARGIN) / span[0], (_TALLEST - 2 * _MARGIN) / span[1]))
        spare = (_WIDTH - 2 * _MARGIN) / self.factor - span[0]
        low, span = low - np.array([0.5 * spare, 0.0]), span + np.array([spare, 0.0])
        self.low, self.high = low, low + span
        self.height = float(span[1]) * self.factor + 2 * _MARGIN

    def paper(self, point: np.ndarray) -> tuple[float, float]:
        """Return coordinates on the paper, from its upper left corner."""
        x, y = point @ self.right - self.low[0], self.high[1] - point @ self.upward
        return _MARGIN + x * self.factor, _MARGIN + y * self.factor

    # ------------------------------------------------------------ drawing

    def svg(self) -> str:
        """Return the whole drawing."""
        ground = self.look.ground
        for surface, colour in self.shapes:
            self._outline(surface, colour)
        for i, body in enumerate(self.look.bodies):
            if not self._has_shape(body):
                self._link(body, COLOURS[i % len(COLOURS)])
        for one, other in self.springs:
            self._spring(one, other)
        for body, place in self.look.closures():
            self._circle(*self.paper(self.place_in_ground(body, place)), 0.75 * _SYMBOL)
        for body in self.look.bodies:
            self._joint(body, fixed=body.parent is ground)
        for i, body in enumerate(self.look.bodies):
            self._names(body, COLOURS[i % len(COLOURS)])
        self._directions()
        size = f"{_WIDTH:.0f} {self.height:.0f}"
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{_WIDTH:.0f}" '
            f'height="{self.height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="12" '
            'stroke-linejoin="round" stroke-linecap="round">'
        )
        title = f"<title>{escape(self.look.name)}</title>"
        return "\n".join([head, title, *self.lines, "</svg>"]) + "\n"

    def _add(self, tag: str, content: str = "", **attributes: object) -> None:
        shown = " ".join(f'{key.replace("_", "-")}="{value}"' for key, value in attributes.items())
        self.lines.append(f"<{tag} {shown}>{content}</{tag}>" if content else f"<{tag} {shown}/>")

    def _path(self, points: Iterable[tuple[float, float]], closed: bool = False, **style: Given) -> None:
        text = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
        self._add("polygon" if closed else "polyline", points=text, **({"fill": "none"} | style))

    def _outline(self, corners: np.ndarray, colour: str) -> None:
        """Draw the outline of a shape: the hull of its corners."""
        flat = np.array([self.paper(p) for p in corners])
        around = flat[_hull(flat)]
        self._path(map(tuple, around), closed=True, fill=colour, fill_opacity=0.22, stroke=colour,
                   stroke_width=1.6)  # fmt: skip

    def _link(self, body: Body, colour: str) -> None:
        corners = np.array([self.paper(p) for p in self._ends(body)])
        if np.max(np.ptp(corners, axis=0)) < 1.0:
            return
        if len(corners) > 2:
            around = corners[_hull(corners)]
            self._path(map(tuple, around), closed=True, fill=colour, fill_opacity=0.16, stroke=colour,
                       stroke_width=3)  # fmt: skip
        self._path(map(tuple, corners[:2]), stroke=colour, stroke_width=4.5)

    def _joint(self, body: Body, *, fixed: bool) -> None:
        x, y = self.paper(self.place_in_ground(body, (0, 0, 0)))
        steps = self.look.joint_axes(body)
        if fixed and steps and not any(isinstance(s, Drift) for s in body.assembly.steps):
            self._support(x, y)
        style: DataTable = {"fill": "#fff", "stroke": "#222", "stroke_width": 1.6}
        for kind, axis in steps:
            if kind is Tumble:
                self._circle(x, y, _SYMBOL)
                self._circle(x, y, 0.45 * _SYMBOL, fill="#222")
                continue
            along = self.direction(body, axis)
            flat = np.array([along @ self.right, -(along @ self.upward)])
            length = float(np.linalg.norm(flat))
            if kind is Turn and length < 0.3:
                self._circle(x, y, 0.75 * _SYMBOL)
                continue
            d = flat / length if length > 1e-9 else np.array([1.0, 0.0])
            n, long, wide = np.array([-d[1], d[0]]), (1.5 if kind is Slide else 1.2) * _SYMBOL, 0.75 * _SYMBOL
            if kind is Turn:
                wide = 0.5 * _SYMBOL
            here = np.array([x, y])
            box = [here + i * long * d + j * wide * n for i, j in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
            self._path(map(tuple, box), closed=True, **style)
            dashes: DataTable = {} if kind is Slide else {"stroke_dasharray": "5 2 1 2"}
            ends = [tuple(here + side * 1.7 * long * d) for side in (-1, 1)]
            self._path(ends, stroke="#222", stroke_width=1, **dashes)

    def _circle(self, x: float, y: float, radius: float, fill: str = "#fff") -> None:
        place = {"cx": f"{x:.2f}", "cy": f"{y:.2f}", "r": f"{radius:.2f}"}
        self._add("circle", **place, fill=fill, stroke="#222", stroke_width=1.6)

    def _support(self, x: float, y: float) -> None:
        """Draw the ground under a joint: a triangle on a hatched line."""
        s = 1.5 * _SYMBOL
        style: DataTable = {"stroke": "#222", "stroke_width": 1.4}
        self._path([(x, y), (x - s, y + 1.5 * s), (x + s, y + 1.5 * s)], closed=True, fill="#fff", **style)
        self._path([(x - 1.6 * s, y + 1.5 * s), (x + 1.6 * s, y + 1.5 * s)], **style)
        for k in range(-3, 4):
            at = x + k * 0.45 * s
            self._path([(at, y + 1.5 * s), (at - 0.4 * s, y + 1.95 * s)], stroke="#222", stroke_width=1)

    def _spring(self, one: np.ndarray, other: np.ndarray) -> None:
        a, b = np.array(self.paper(one)), np.array(self.paper(other))
        d = b - a
        length = float(np.linalg.norm(d))
        if length < 1.0:
            return
        n = np.array([-d[1], d[0]]) / length
        zigzag = [a, a + 0.15 * d]
        zigzag += [a + (0.15 + 0.7 * (k + 0.5) / 8) * d + n * (6 if k % 2 else -6) for k in range(8)]
        self._path([tuple(p) for p in [*zigzag, a + 0.85 * d, b]], stroke="#555", stroke_width=1.5)

    def _names(self, body: Body, colour: str) -> None:
        ends = np.array([self.paper(p) for p in self._ends(body)])
        if self.look.numbers([body.mass])[0] > 0 or len(ends) > 1:
            x, y = ends.mean(axis=0)
            self._text(x + 8, y - 8, body.name, fill=colour, font_weight="600")
        names = [q.data.name for q in body.joint_coordinates]
        if names:
            shown = names[0] if len(names) == 1 else f"{names[0]} … {names[-1].rpartition('.')[2]}"
            x, y = ends[0][0] + 12, ends[0][1] + 18
            self._text(x, y, shown, fill="#333", font_style="italic", font_size="11")

    def _text(self, x: float, y: float, words: str, **style: object) -> None:
        halo = {"paint_order": "stroke", "stroke": "#fff", "stroke_width": "3"}
        self._add("text", escape(words), x=f"{x:.1f}", y=f"{y:.1f}", **halo, **style)

    def _directions(self) -> None:
        """Draw the axes of the ground in the lower left corner, and gravity, if any."""
        x, y, length = 34.0, self.height - 30.0, 22.0
        for letter, axis in zip("xyz", np.eye(3), strict=True):
            dx, dy = length * float(axis @ self.right), -length * float(axis @ self.upward)
            if abs(dx) + abs(dy) > 3:
                self._arrow(x, y, dx, dy, letter)
        if self.look.pull() > 0:
            dx, dy = -26 * float(self.up @ self.right), 26 * float(self.up @ self.upward)
            if abs(dx) + abs(dy) > 3:
                self._arrow(_WIDTH - 30, 24, dx, dy, "g")

    def _arrow(self, x: float, y: float, dx: float, dy: float, label: str) -> None:
        self._path([(x, y), (x + dx, y + dy)], stroke="#777", stroke_width=1.3)
        d = np.array([dx, dy]) / np.hypot(dx, dy)
        n, tip = np.array([-d[1], d[0]]), np.array([x + dx, y + dy])
        head = [tuple(tip), tuple(tip - 6 * d + 3 * n), tuple(tip - 6 * d - 3 * n)]
        self._path(head, closed=True, fill="#777")
        self._text(x + 1.35 * dx - 3, y + 1.35 * dy + 4, label, fill="#777", font_style="italic")


def _hull(points: np.ndarray) -> list[int]:
    """Return the indices of the convex hull of points in a plane, in order around it."""
    order = sorted(range(len(points)), key=lambda i: tuple(points[i]))

    def half(indices: Iterable[int]) -> list[int]:
        found: list[int] = []
        for i in indices:
            while len(found) > 1 and _turning_side(points[found[-2]], points[found[-1]], points[i]) <= 0:
                found.pop()
            found.append(i)
        return found[:-1]

    return half(order) + half(reversed(order))


def _turning_side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
