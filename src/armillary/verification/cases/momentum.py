"""Momenta as states: trees with oblique axes, ball joints, gimbals, slides, a lock, and flexible bodies.

The systems of the reference data are described as a user would describe them. A joint leads from the node of
its inner body through inner slides, turns and outer slides to the node of its outer body. Each turn and slide
has its own massless body, so that its spring acts along this one motion alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from armillary.algebra.calculus import NumericValue
from armillary.model.bodies.body import Body
from armillary.model.joints import Free, Prismatic, Revolute, Spherical
from armillary.results.run import Run
from armillary.stages import System
from armillary.stages.equations import Equations
from armillary.stages.model import Model
from armillary.untyped import DataTable
from armillary.verification.rows import (
    ACCELERATIONS,
    TIGHT,
    TRAJECTORIES,
    Check,
    States,
    difference,
    largest,
    largest_difference,
    published_case,
    reference,
)

AXES = "xyz"


class MomentumSystem:
    """A system of the reference data, with the names of its speeds in the order of the data."""

    def __init__(self, name: str, *, locked: bool = True, damped: bool = True) -> None:
        self.damped = damped  # whether modes are damped; in the data's trajectory they are not
        self.data = reference(f"momentum_{name}")
        self.system = System(name)
        self.places: dict[str, list[str]] = {}  # coordinates by names such as "G1 angles"
        speeds: dict[str, str] = {}
        model = self.data["model"]
        self.bodies: list[Body] = [self._root(model["bodies"][0])]
        speeds |= {f"v0{a}": f"B1.u{i + 1}" for i, a in enumerate(AXES)}
        speeds |= {f"w0{a}": f"B1.u{i + 4}" for i, a in enumerate(AXES)}
        for joint in model["joints"]:
            speeds |= self._joint(joint)
            speeds |= self._outer(joint)
        self.speeds = [speeds[name] for name in self.data["dof_names"]]
        self.places["root"] = [f"B1.q{i}" for i in range(1, 8)]
        if locked:
            for i in model["locked"]:
                self.system.lock(self.speeds[i])

    def _root(self, body: DataTable) -> Body:
        return self.system.body(body["name"], joint=Free(), **rigid(body))

    def _joint(self, joint: DataTable) -> dict[str, str]:
        """Add the massless bodies and springs of one joint; return its speeds by the data's names."""
        name, s = joint["name"], self.system
        frame: DataTable = {"mass": 0, "inertia": 0}
        last = self._inner(joint)
        springs = iter(
            zip(*(_pad_to_twelve(joint, key) for key in ("stiffness", "damping", "rest")), strict=True)
        )
        rotation = [] if joint["rotation"] == "spherical" else joint["axes"]
        laws = [next(springs) for _ in range(3 if joint["rotation"] == "spherical" else len(rotation))]
        speeds: dict[str, str] = {}
        for kind in ("inner", "turn", "outer"):
            if kind == "turn" and joint["rotation"] == "spherical":
                last = s.body(name, parent=last, joint=Spherical(), **frame)
                speeds |= {f"{name}.sigma{i}": f"{name}.u{i}" for i in (1, 2, 3)}
                self.places[f"{name} quat"] = [f"{name}.q{i}" for i in (1, 2, 3, 4)]
                continue
            columns = rotation if kind == "turn" else np.array(joint.get(f"slider_{kind}", [])).T.tolist()
            label = {"inner": "s_in", "turn": "sigma", "outer": "s_out"}[kind]
            key = "angles" if kind == "turn" else f"slider_{kind}"
            self.places[f"{name} {key}"] = []
            for i, column in enumerate(columns, start=1):
                axis = [-x for x in column] if kind == "outer" else column
                short = f"{name}_{label}{i}"
                made = Revolute(axis) if kind == "turn" else Prismatic(axis)
                body = s.body(short, parent=last, joint=made, **frame)
                k, c, rest = laws[i - 1] if kind == "turn" else next(springs)
                law = f"-{k!r}*({short}.q1 - {rest!r}) - {c!r}*{short}.u1"
                along = sum((x * v for x, v in zip(axis, (last.x, last.y, last.z), strict=True)), 0 * last.x)
                if kind == "turn":
                    s.moment(f"{short}_spring", law, along, on=body, reaction=last)
                else:
                    s.force(f"{short}_spring", law, along, at=body.origin, reaction=last)
                speeds[f"{name}.{label}{i}"] = f"{short}.u1"
                self.places[f"{name} {key}"].append(f"{short}.q1")
                last = body
        self.last = last
        return speeds

    def _inner(self, joint: DataTable) -> Body:
        """Return a body at the inner node of a joint."""
        body, name = self.bodies[joint["inner"]], joint["name"]
        orient = joint.get("C_inner")
        if "Psi_inner" in joint:
            return body.node(name)
        return self.system.body(
            f"{name}_node", parent=body, at=joint["r_inner"], orient=orient, mass=0, inertia=0
        )

    def _outer(self, joint: DataTable) -> dict[str, str]:
        """Add the outer body, placed by its own reference point and axes; return the speeds of its modes."""
        outer = self.data["model"]["bodies"][joint["outer"]]
        name, held = outer["name"], joint["name"] if "Psi_outer" in joint else None
        orient = np.array(joint.get("C_outer", np.eye(3))).T
        at = (-orient @ np.array(joint["r_outer"], float)).tolist() if held is None else (0, 0, 0)
        inertia = {} if "particles" in outer else rigid(outer)
        body = self.system.body(name, parent=self.last, at=at, orient=orient.tolist(), **inertia)
        self.bodies.append(body)
        if "particles" not in outer:
            return {}
        modes = range(1, len(outer["K"]) + 1)
        body.flexible(held=held, **self._modes(outer, joint))
        self.places[f"{name} modes"] = [f"{name}.q{i}" for i in modes]
        return {f"{name}.xi{i}": f"{name}.u{i}" for i in modes}

    def _modes(self, outer: DataTable, inboard: DataTable) -> DataTable:
        """Return the options of a flexible body: particles, and massless nodes at its joints."""
        number = len(self.bodies) - 1
        ends = [
            (inboard, "outer"),
            *((j, "inner") for j in self.data["model"]["joints"] if j["inner"] == number),
        ]
        ends = [(joint, side) for joint, side in ends if f"Psi_{side}" in joint]
        still = np.zeros((3, len(outer["K"])))
        particles = outer["particles"]
        shapes = [np.vstack([p["Psi"], still]) for p in particles]
        shapes += [np.vstack([joint[f"Psi_{side}"], joint[f"Theta_{side}"]]) for joint, side in ends]
        nodes = {f"particle {i}": p["r"] for i, p in enumerate(particles)}
        nodes |= {joint["name"]: joint[f"r_{side}"] for joint, side in ends}
        return {
            "nodes": nodes,
            "masses": [*(p["m"] for p in particles), *[0.0] * len(ends)],
            "shapes": np.array(shapes),
            "stiffness": outer["K"],
            "damping_matrix": np.array(outer["C"]) * self.damped,
        }

    def coordinates(self, config: DataTable) -> dict[str, float]:
        """Return the values of all coordinates, by name."""
        found = dict(zip(self.places["root"], [*config["x0"], *config["quat0"]], strict=True))
        for body, eta in zip(self.data["model"]["bodies"], config["eta"], strict=True):
            found |= dict(zip(self.places.get(f"{body['name']} modes", []), eta, strict=True))
        for joint, values in zip(self.data["model"]["joints"], config["joints"], strict=True):
            for key, numbers in values.items():
                found |= dict(zip(self.places.get(f"{joint['name']} {key}", []), numbers, strict=True))
        return found

    def mass_centre(self, state: DataTable) -> np.ndarray:
        """Return the common mass centre at a state of the data, from the places of its bodies."""
        moment, mass = np.zeros(3), 0.0
        for body, place, eta in zip(
            self.data["model"]["bodies"], state["bodies"], state["config"]["eta"], strict=True
        ):
            own = self.data["modal_integrals"].get(body["name"], body)
            first = np.array(own["c"]) + (np.array(own["P"]) @ eta if eta else 0.0)
            moment += own["m"] * np.array(place["x_R"]) + np.array(place["dcm_body_to_N"]) @ first
            mass += own["m"]
        return moment / mass

    def state(self, config: DataTable, speeds: list[float]) -> dict[str, float]:
        """Return the initial values of a run, without the locked speeds."""
        locked = {str(u) for u in self.system.locked}
        values = dict(zip(self.speeds, speeds, strict=True))
        return self.coordinates(config) | {name: x for name, x in values.items() if name not in locked}


def momentum_equations(name: str, *, locked: bool = True, damped: bool = True) -> Equations:
    """Return the momentum-state equations of a system of the data, derived once."""
    return _derive_by_momentum(name, locked, damped)


@cache
def _derive_by_momentum(name: str, locked: bool, damped: bool) -> Equations:
    return MomentumSystem(name, locked=locked, damped=damped).system.derive("momentum")


def rigid(body: DataTable) -> DataTable:
    """Return mass, mass centre and inertia about the mass centre, from moments about the reference point."""
    centre = np.array(body["c"]) / body["m"]
    shift = body["m"] * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    inertia = (np.array(body["J"]) - shift).tolist()
    return {"mass": body["m"], "com": centre.tolist(), "inertia": inertia}


def _pad_to_twelve(joint: DataTable, key: str) -> list[float]:
    return [*map(float, joint.get(key, [])), *[0.0] * 12][:12]


_KEPT = [f"{of} {axis}" for of in ("momentum", "angular momentum") for axis in "xyz"]


def _acceleration_errors(tree: MomentumSystem, model: Model) -> Iterator[float]:
    worst = 0.0
    for state in tree.data["random_states"]:
        q, u = tree.coordinates(state["config"]), dict(zip(tree.speeds, state["speeds"], strict=True))
        places, rates = [q[n] for n in model.coordinate_names], [u[n] for n in model.speed_names]
        found = dict(zip(model.speed_names, model.accelerations(0.0, places, rates), strict=True))
        size = float(np.max(np.abs(state["accelerations"])))
        ours = [found.get(name, 0.0) for name in tree.speeds]  # locked speeds do not change
        worst = largest(worst, largest_difference(ours, state["accelerations"]) / size)
    yield worst


def _differences(
    tree: MomentumSystem, run: Run, rows: slice, configs: NumericValue, speeds: NumericValue
) -> tuple[float, float]:
    """Return the largest differences of coordinates and of speeds."""
    expected = [tree.coordinates(config) for config in configs]
    places = largest(
        [largest_difference(run[name][rows], [row[name] for row in expected]) for name in expected[0]]
    )
    return places, largest_difference(np.array([run[name][rows] for name in tree.speeds]).T, speeds)


def _tree_measure(name: str) -> Callable[[], Iterator[float]]:
    def measure() -> Iterator[float]:
        tree = MomentumSystem(name)
        model: Model = momentum_equations(name).compile()
        yield from _acceleration_errors(tree, model)
        # In the trajectory of the data the modes of flexible bodies are not damped.
        if any("particles" in body for body in tree.data["model"]["bodies"]):
            tree = MomentumSystem(name, damped=False)
            model = momentum_equations(name, damped=False).compile()
        record = tree.data["trajectory"]
        start = tree.state(record["initial"]["config"], record["initial"]["speeds"])
        run = model.simulate(record["t"][-1], initial=start, sample=record["t"], **TIGHT)
        yield from _differences(tree, run, slice(None), record["configs"], record["speeds"])
        yield largest([np.ptp(run[name]) for name in _KEPT])
        if name == "sliders_locked":
            yield from _lock_and_release()

    return measure


def _lock_and_release() -> Iterator[float]:
    """Lock an axis at 1 s, release it at 2 s; yield the differences and the change of the invariants."""
    tree = MomentumSystem("sliders_locked", locked=False)
    axis = tree.speeds[tree.data["model"]["locked"][0]]
    tree.system.event("lock", "t - 1", lock=[axis])
    tree.system.event("release", "t - 2", unlock=[axis])
    record = tree.data["lock_unlock_trajectory"]
    start = tree.state(record["initial"]["config"], record["initial"]["speeds"])
    model = tree.system.derive("momentum").compile()
    run = model.simulate(3.0, initial=start, sample=np.linspace(0.0, 3.0, 31).tolist(), **TIGHT)
    worst = 0.0
    for k, segment in enumerate(record["segments"]):
        # A row at the time of an event shows the state after it; the data also have the state before.
        rows = slice(10 * k, 10 * k + 10)
        found = _differences(tree, run, rows, segment["configs"][:-1], segment["speeds"][:-1])
        worst = largest(worst, *found)
    yield worst
    yield largest([np.ptp(run[name]) / np.max(np.abs(run[name])) for name in _KEPT])


def _publish(name: str, system: str, title: str, seconds: int, *more: Check) -> None:
    checks = (
        difference("accelerations at random states, relative to the largest", ACCELERATIONS),
        difference(f"run of {seconds} s: coordinates", TRAJECTORIES),
        difference("the same: speeds", TRAJECTORIES),
        difference("change of momentum and angular momentum in it", 0.0, "conservation", "to the last bit"),
    )
    source = "Stoneking (2010), corrected equations"
    states = States(
        lambda: MomentumSystem(system).system,
        lambda model: _acceleration_errors(MomentumSystem(system), model),
        (("kane", True), ("recursive", True)),
    )
    case = published_case(name, title, source, *checks, *more, page="momentum-states", states=(states,))
    case(_tree_measure(system))


_publish("momentum_tree", "tree5", "Momentum states: tree of five bodies", 10)
_publish(
    "momentum_sliders",
    "sliders_locked",
    "Momentum states: slides and a locked axis",
    6,
    difference("an axis locked at 1 s, released at 2 s: coordinates and speeds", TRAJECTORIES),
    difference(
        "change of momentum and angular momentum in it, relative to their size", 1e-13, "conservation"
    ),
)
_publish("momentum_flexible", "flexible", "Momentum states: flexible bodies", 6)
