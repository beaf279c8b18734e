"""Figures of a page: the bodies of a system as data and, of a run, where they are in every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.errors import ArmillaryError, nearest
from armillary.program.equations import DerivedEquations
from armillary.results import Run
from armillary.results.plots.picture_options import PictureOptions
from armillary.results.units import label_units
from armillary.untyped import DataMapping, DataTable
from armillary.viewer.arrows import Arrows, arrows_of
from armillary.viewer.pages.encoding import packed
from armillary.viewer.parts.appearance import COLOURS, Appearance
from armillary.viewer.parts.meshes import MeshStore
from armillary.viewer.poses import PoseFunction, Poses

_KEPT = 60  # outputs that a page offers, the model's own first
_FAR = 50.0  # times the size of a system: with 16 bits a step is 1/1300 of that size
_EVEN = 1e-9  # by which times may deviate from equal steps, as a part of a step
ARROW_LEVELS = 2047  # levels of arrows, which are drawn and shown with three digits
ROWS = 20_000  # of a motion in a page: more are thinned


def bodies_of(equations: DerivedEquations, parameters: Mapping[str, float]) -> DataTable:
    """A figure without a motion: bodies, springs and bending parts with the values of parameters.

    The page moves it by a motion of its own; seven numbers per body of ``bodies``, in this order, then the
    amplitudes of all modes (``web/scripts/motion.js``).
    """
    return content_of(Appearance(equations, parameters))


def content_of(look: Appearance) -> DataTable:
    """The drawing of a system, as data of a page."""
    index = {body.name: i for i, body in enumerate(look.bodies)}
    bodies = [
        {
            "name": body.name,
            "colour": COLOURS[i % len(COLOURS)],
            "parts": look.parts(body),
            "com": look.numbers(body.com_coordinates).tolist(),
            "parent": -1 if body.parent is None else index.get(body.parent.name, -1),
        }
        for i, body in enumerate(look.bodies)
    ]
    ground = {"name": "ground", "colour": "#8a949d", "parts": look.parts(look.ground), "com": [0, 0, 0]}
    return {
        "name": look.name,
        "bodies": bodies,
        "ground": ground,
        "springs": look.springs(),
        "bending": look.bending(),
        "up": look.up(),
        "size": look.size,
        "lengths": look.lengths,
        "meshes": look.meshes,
    }


@dataclass(frozen=True, eq=False)
class PageFigure:
    """The figure of a run: its bodies as data, and in each row seven numbers per body, the amplitudes of all
    modes, and outputs.
    """

    content: DataTable
    time: np.ndarray
    channels: np.ndarray
    amplitudes: np.ndarray
    columns: np.ndarray
    outputs: list[dict[str, str]]
    arrows: Arrows
    meshes: MeshStore

    def packed(self) -> DataTable:
        """The figure as data of a page. Bodies that travel far are placed from those that carry them, so that
        16 bits resolve where they are on each other: ``bases`` has the index of that body, or −1.
        """
        bases = carriers(self.content, self.channels)
        return self.content | {
            "time": times_of(self.time),
            "bases": bases,
            "poses": packed(relative(self.channels, bases)),
            "amplitudes": packed(self.amplitudes),
            "columns": packed(self.columns, gaps=True),
            "outputs": self.outputs,
            "arrows": self.arrows.entries,
            "vectors": packed(self.arrows.vectors, ARROW_LEVELS),
        }


def figure_of(
    run: Run, equations: DerivedEquations, options: PictureOptions | None = None, *, arrows: bool = True
) -> PageFigure:
    """The figure of a run; films have no arrows of their own."""
    chosen = options or PictureOptions()
    if run.system != equations.system.name:
        raise ArmillaryError(
            f"the run is one of '{run.system}', the model is '{equations.system.name}'; give the model "
            "that made the run"
        )
    if not len(run):
        raise ArmillaryError(f"the run of '{run.system}' has no rows, so there is nothing to show")
    rows = _rows(run)
    function = PoseFunction(equations)
    poses = function.of_run(run)
    names = [*run.outputs, *(n for n in run.names if n not in set(run.outputs))][:_KEPT]
    outputs = [{"name": n, "units": label_units(run.units[n]), "about": run.descriptions[n]} for n in names]
    look = Appearance(equations, run.parameters)
    content = content_of(look) | {"paths": paths_of(equations, run.parameters, chosen.paths)}
    columns = np.stack([run[n][rows] for n in names], axis=1) if names else np.zeros((1, 0))
    drawn = (
        arrows_of(run, equations, poses, chosen.reactions) if arrows else Arrows([], np.zeros((len(run), 0)))
    )
    return PageFigure(
        content,
        run.time[rows],
        channels(poses)[rows],
        function.amplitudes(run)[rows],
        columns,
        outputs,
        Arrows(drawn.entries, drawn.vectors[rows]),
        look.meshes,
    )


def paths_of(
    equations: DerivedEquations, parameters: Mapping[str, float], names: Sequence[str]
) -> list[DataTable]:
    """Points whose paths are drawn: mass centres of bodies, or points of bodies as "body.point"."""
    look, found = Appearance(equations, parameters), []
    for name in names:
        owner, _, point = name.rpartition(".")
        body = look.named.get(name) or look.named.get(owner)
        if body is None or (name not in look.named and point not in body.points):
            known = [*look.named, *(f"{b.name}.{p}" for b in look.bodies for p in b.points)]
            raise ArmillaryError(
                f"'{look.name}' has no body or point '{name}' for a path{nearest(name, known)}"
            )
        at = body.com_coordinates if name in look.named else body.points[point].coordinates
        found.append({"name": name, "body": body.name, "at": look.numbers(at).tolist()})
    return found


def carriers(content: DataMapping, channels: np.ndarray) -> list[int]:
    """For each body the index of its parent where it travels far, else −1."""
    travelled = np.ptp(channels, axis=0).reshape(-1, 7)[:, :3].max(axis=1)
    bodies = zip(content["bodies"], travelled, strict=True)
    return [body["parent"] if way > _FAR * content["size"] else -1 for body, way in bodies]


def relative(channels: np.ndarray, bases: Sequence[int]) -> np.ndarray:
    """Channels with positions from the origins of these bodies, in the ground's axes."""
    made = channels.copy()
    for b, base in enumerate(bases):
        if base >= 0:
            made[:, 7 * b : 7 * b + 3] -= channels[:, 7 * base : 7 * base + 3]
    return made


def channels(poses: Poses) -> np.ndarray:
    """x, y, z and the quaternion x, y, z, w of each body side by side, without jumps of its sign."""
    n, bodies = poses.positions.shape[:2]
    turned = quaternions(poses.rotations)
    products = turned[1:] * turned[:-1]
    same = np.sum(products, axis=2)
    signs = np.cumprod(np.vstack([np.ones((1, bodies)), np.where(same < 0, -1.0, 1.0)]), axis=0)
    return np.concatenate([poses.positions, turned * signs[..., None]], axis=2).reshape(n, 7 * bodies)


def quaternions(R: np.ndarray) -> np.ndarray:
    """The quaternion e = (x, y, z, w) of each matrix R, which holds 4 e eᵀ: the column with the largest
    diagonal element, made unit (Shepperd 1978).

    SciPy's Rotation does the same; importing it would take 0.4 s before the first page.
    """
    r = np.moveaxis(R, (-2, -1), (0, 1))
    x, y, z = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    xy, xz, yz = r[1, 0] + r[0, 1], r[2, 0] + r[0, 2], r[2, 1] + r[1, 2]
    diagonal = [1 + r[0, 0] - r[1, 1] - r[2, 2], 1 - r[0, 0] + r[1, 1] - r[2, 2]]
    diagonal += [1 - r[0, 0] - r[1, 1] + r[2, 2], 1 + r[0, 0] + r[1, 1] + r[2, 2]]
    rows = [
        [diagonal[0], xy, xz, x],
        [xy, diagonal[1], yz, y],
        [xz, yz, diagonal[2], z],
        [x, y, z, diagonal[3]],
    ]
    products = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
    largest = np.argmax(np.moveaxis(np.array(diagonal), 0, -1), axis=-1)
    column = np.take_along_axis(products, largest[..., None, None], axis=-1)[..., 0]
    return np.asarray(column / np.linalg.norm(column, axis=-1, keepdims=True))


def _rows(run: Run) -> np.ndarray:
    """All rows of a run, or as many as a page holds, evenly, first and last included."""
    if len(run) <= ROWS:
        return np.arange(len(run))
    return np.unique(np.rint(np.linspace(0, len(run) - 1, ROWS)).astype(int))


def times_of(times: np.ndarray) -> DataTable:
    """Equal steps by their number, others one by one."""
    n = len(times)
    step = (times[-1] - times[0]) / (n - 1) if n > 1 else 1.0
    even = np.max(np.abs(times - (times[0] + step * np.arange(n)))) <= _EVEN * abs(step)
    if even:
        return {"rows": n, "start": float(times[0]), "step": float(step)}
    return {"rows": n, "values": times.tolist()}
