"""Figures of a page: the bodies of a system as data, and for a run their poses and arrows in every row.

Arrows show forces and moments of loads, velocities of mass centres, weights, and reactions of joints. One
compiled function computes these vectors for all rows of a run, along the ground's axes. Loads that depend on
values that a run does not hold (a state or memory that is not among its columns) have no arrows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import checked_names
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Triple, is_zero
from armillary.algebra.units import FORCE, MOMENT, SPEED, Dimension
from armillary.algebra.vectors import Vector
from armillary.algebra.walk import symbols
from armillary.analysis.efforts import inverse
from armillary.errors import ArmillaryError, nearest
from armillary.model.bodies.body import Body
from armillary.model.bodies.motion import whole_mass
from armillary.model.quantities import velocity
from armillary.model.units import state_factor
from armillary.program.equations import DerivedEquations
from armillary.program.pieces import moving_bodies
from armillary.results import Run
from armillary.results.plots.motion import PictureOptions
from armillary.results.record import label_units
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.untyped import DataMapping, DataTable
from armillary.viewer.appearance import COLOURS, Appearance
from armillary.viewer.page_data import MeshStore, PoseFunction, Poses, pack_channels

_LOADS, _BODIES = 60, 40  # larger systems show arrows of the first loads, but not of velocities and weights


@dataclass(frozen=True, eq=False)
class Arrows:
    """Arrows by kind, name, and position on a body; ``vectors`` has three numbers for each in every row."""

    entries: list[DataTable]
    vectors: np.ndarray  # rows × 3 arrows


def arrows_of(run: Run, equations: DerivedEquations, poses: Poses, reactions: Sequence[str] = ()) -> Arrows:
    """Return the arrows of a run, including reactions in the joints of some bodies."""
    look = Appearance(equations, run.parameters)
    entries, wanted = _describe_arrows(equations, look)
    plain = equations.reduction.plain
    expressions = [[plain(as_expr(e)) for e in vector] for vector in wanted]
    usable = [
        all(s.data.role in ("parameter", "time") or s.data.name in run for s in symbols(*v))
        for v in expressions
    ]
    entries = [entry for entry, good in zip(entries, usable, strict=True) if good]
    flat = [e for vector, good in zip(expressions, usable, strict=True) if good for e in vector]
    values = _evaluate_rows(run, equations, flat) if flat else np.zeros((len(run), 0))
    found, held = _reactions(run, equations, poses, look, reactions)
    return Arrows([*entries, *found], np.concatenate([values, held], axis=1))


def _describe_arrows(equations: DerivedEquations, look: Appearance) -> tuple[list[DataTable], list[Triple]]:
    """Return entries and vectors of loads, velocities and weights, in the model's units."""
    system, ground = equations.system, equations.system.ground.frame
    entries: list[DataTable] = []
    vectors: list[Triple] = []

    def add(kind: str, name: str, dimension: Dimension, body: Body, at: np.ndarray, vector: Vector) -> None:
        units = system.units.unit_text(dimension)
        entries.append({"kind": kind, "name": name, "units": units, "body": body.name, "at": at.tolist()})
        vectors.append(vector.components(ground))

    for load in list(system.loads.values())[:_LOADS]:
        places = [(load.body, load.at, 1.0), (load.reaction_body, load.reaction_at, -1.0)]
        for body, point, sign in places:
            if body is None or body.parent is None or (point is None and load.kind == "force"):
                continue  # loads on the ground are left out
            at = body.com_coordinates if point is None else point.coordinates
            owner = body if point is None else point.body
            vector = load.vector if sign > 0 else -load.vector
            dimension = FORCE if load.kind == "force" else MOMENT
            add(load.kind, load.name, dimension, owner, look.numbers(at), vector)
    bodies = moving_bodies(equations)
    if len(bodies) > _BODIES:
        return entries, vectors
    for body in bodies:
        add("velocity", body.name, SPEED, body, look.numbers(body.com_coordinates), velocity(body.com))
    for body in bodies if system.gravities else []:
        mass = whole_mass(body)
        if not is_zero(mass):
            weights = (field.direction * (field.magnitude * mass) for field in system.gravities)
            add("weight", body.name, FORCE, body, _centre(body, look), sum(weights, Vector({})))
    return entries, vectors


def _centre(body: Body, look: Appearance) -> np.ndarray:
    """Return the mass centre in the body's axes, without the deflection of a flexible part."""
    m, *rigid = look.numbers([body.mass, *body.com_coordinates])
    part = None if body.flex is None else body.flex.part
    return np.array(rigid) if part is None else (m * np.array(rigid) + part.first) / (m + part.mass)


def _evaluate_rows(run: Run, equations: DerivedEquations, expressions: list[Expr]) -> np.ndarray:
    """Evaluate expressions in all rows. Speeds that are not states of the formalism are inputs."""
    targets = equations.targets
    known = {s.data.name for s in (*targets.integrated, *targets.memory)}
    further = [s for s in symbols(*expressions) if s.data.role == "speed" and s.data.name not in known]
    states = np.zeros((len(run), len(equations.program.state)))
    states[:, : len(targets.integrated)] = _symbol_columns(run, equations, targets.integrated)
    memory = _symbol_columns(run, equations, targets.memory) if targets.memory else None
    inputs = _symbol_columns(run, equations, further) if further else None
    function = ModelFunctions(equations, {"arrows": expressions}, further, search=False)
    parameters = {name: run.parameters[name] for name in equations.parameters if name in run.parameters}
    return function.rows("arrows", run.time, states, parameters, memory, inputs)


def _symbol_columns(run: Run, equations: DerivedEquations, wanted: Sequence[Expr]) -> np.ndarray:
    """Return values of symbols in the model's own units; zero for symbols that a run does not have."""
    system = equations.system
    factors = {s.data.name: state_factor(s) for s in (*system.coordinates, *system.speeds)}
    found = np.zeros((len(run), len(wanted)))
    for k, s in enumerate(wanted):
        if s.data.name in run:
            found[:, k] = run[s.data.name] * factors.get(s.data.name, 1.0)
    return found


def _reactions(
    run: Run, equations: DerivedEquations, poses: Poses, look: Appearance, names: Sequence[str]
) -> tuple[list[DataTable], np.ndarray]:
    """Return forces and moments of the joints on bodies, at the origins of the bodies."""
    after = " for the reaction of its joint"
    names = list(checked_names(names, look.named, f"'{look.name}' has no body", after=after))
    if not names:
        return [], np.zeros((len(run), 0))
    compiled = compile_equations(equations)
    found = inverse(compiled, run, reactions=tuple(names)).reactions
    entries: list[DataTable] = []
    columns: list[np.ndarray] = []
    for name in names:
        R = poses.rotations[:, poses.names.index(name)]
        both = found[name].reshape(len(run), 2, 3)
        for k, (kind, dimension) in enumerate((("reaction", FORCE), ("reaction moment", MOMENT))):
            units = equations.system.units.unit_text(dimension)
            entries.append({"kind": kind, "name": name, "units": units, "body": name, "at": [0, 0, 0]})
            columns.append(np.einsum("nij,nj->ni", R, both[:, k]))
    return entries, np.concatenate(columns, axis=1)


_KEPT = 60  # outputs that a page offers, the model's own first
_FAR = 50.0  # times the size of a system: then a step of 16 bits is 1/1300 of that size
_EVEN = 1e-9  # tolerance of equal time steps, relative to a step
ARROW_LEVELS = 2047  # levels of arrows, which are drawn and shown with three digits
ROWS = 20_000  # most rows of a motion in a page; longer ones are thinned


def bodies_of(equations: DerivedEquations, parameters: Mapping[str, float]) -> DataTable:
    """Return a figure without a motion: bodies, springs and bending parts with the values of parameters.

    The page adds the motion: seven numbers per body of ``bodies``, in this order, then the amplitudes of all
    modes (``web/scripts/motion.js``).
    """
    return content_of(Appearance(equations, parameters))


def content_of(look: Appearance) -> DataTable:
    """Return the drawing of a system, as data of a page."""
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

    def pack(self) -> DataTable:
        """Return the figure as data of a page. Bodies that travel far are placed relative to their parents,
        so that 16 bits resolve their relative positions: ``bases`` has the index of the parent, or −1.
        """
        bases = carriers(self.content, self.channels)
        return self.content | {
            "time": times_of(self.time),
            "bases": bases,
            "poses": pack_channels(relative(self.channels, bases)),
            "amplitudes": pack_channels(self.amplitudes),
            "columns": pack_channels(self.columns, gaps=True),
            "outputs": self.outputs,
            "arrows": self.arrows.entries,
            "vectors": pack_channels(self.arrows.vectors, ARROW_LEVELS),
        }


def figure_of(
    run: Run, equations: DerivedEquations, options: PictureOptions | None = None, *, arrows: bool = True
) -> PageFigure:
    """Return the figure of a run, without arrows for films."""
    chosen = options or PictureOptions()
    if run.system != equations.system.name:
        raise ArmillaryError(
            f"the run is one of '{run.system}', the model is '{equations.system.name}'; give the model "
            "of the run"
        )
    if not len(run):
        raise ArmillaryError(f"the run of '{run.system}' has no rows, so there is nothing to show")
    rows = _page_rows(run)
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
    """Return points whose paths are drawn: mass centres of bodies, or points of bodies as "body.point"."""
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
    """Return for each body the index of its parent if it travels far, else −1."""
    travelled = np.ptp(channels, axis=0).reshape(-1, 7)[:, :3].max(axis=1)
    bodies = zip(content["bodies"], travelled, strict=True)
    return [body["parent"] if way > _FAR * content["size"] else -1 for body, way in bodies]


def relative(channels: np.ndarray, bases: Sequence[int]) -> np.ndarray:
    """Return channels with positions relative to the bodies ``bases`` (−1: none), in the ground's axes."""
    made = channels.copy()
    for b, base in enumerate(bases):
        if base >= 0:
            made[:, 7 * b : 7 * b + 3] -= channels[:, 7 * base : 7 * base + 3]
    return made


def channels(poses: Poses) -> np.ndarray:
    """Return x, y, z and the quaternion x, y, z, w of each body side by side, without jumps of its sign."""
    n, bodies = poses.positions.shape[:2]
    turned = quaternions(poses.rotations)
    products = turned[1:] * turned[:-1]
    same = np.sum(products, axis=2)
    signs = np.cumprod(np.vstack([np.ones((1, bodies)), np.where(same < 0, -1.0, 1.0)]), axis=0)
    return np.concatenate([poses.positions, turned * signs[..., None]], axis=2).reshape(n, 7 * bodies)


def quaternions(R: np.ndarray) -> np.ndarray:
    """Return the quaternion e = (x, y, z, w) of each matrix R, from a matrix 4 e eᵀ formed from R: the column
    with the largest diagonal element, scaled to unit length (Shepperd 1978).

    SciPy's Rotation does the same, but importing it would take 0.4 s before the first page.
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


def _page_rows(run: Run) -> np.ndarray:
    """Return the indices of all rows of a run, or of evenly spaced ones including first and last."""
    if len(run) <= ROWS:
        return np.arange(len(run))
    return np.unique(np.rint(np.linspace(0, len(run) - 1, ROWS)).astype(int))


def times_of(times: np.ndarray) -> DataTable:
    """Return times as data: equal steps by their number, other times as a list."""
    n = len(times)
    step = (times[-1] - times[0]) / (n - 1) if n > 1 else 1.0
    even = np.max(np.abs(times - (times[0] + step * np.arange(n)))) <= _EVEN * abs(step)
    if even:
        return {"rows": n, "start": float(times[0]), "step": float(step)}
    return {"rows": n, "values": times.tolist()}
