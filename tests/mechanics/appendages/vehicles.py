"""Vehicles of plain numbers from the reference data of JPL's formulations."""

from __future__ import annotations

from typing import Any

import numpy as np

from armillary.algebra.triples import Matrix, Triple
from armillary.model.flexible.modal_data import ComplexModes
from armillary.program.formalisms.jpl_blocks import Assembled
from armillary.program.formalisms.jpl_vehicle import (
    Appendage,
    Hinge,
    NodeLoad,
    Particle,
    Rotor,
    SpinningAppendage,
    Substructure,
    Vehicle,
)


def triple(values: Any) -> Triple:
    x, y, z = (float(v) for v in values)
    return x, y, z


def matrix(rows: Any) -> Matrix:
    return triple(rows[0]), triple(rows[1]), triple(rows[2])


def columns(array: Any) -> list[Triple]:
    return [triple(column) for column in np.asarray(array).T]


def complex_modes(record: dict[str, Any]) -> ComplexModes:
    """The modes that the data give."""
    return ComplexModes(*(np.array(record[key]) for key in ("sigma", "Psi", "Gamma")))


def vehicle(inputs: dict[str, Any], appendages: list[dict[str, Any]], state: dict[str, Any]) -> Vehicle:
    """The vehicle of a reference case at one of its states; modes as the data give them."""
    parts, used = [], 0
    for k, mass in enumerate(inputs["mass"]):
        link = next((c for c in inputs["connections"] if c["body"] == k), None)
        hinges: list[Hinge] = []
        for i in range(used, used + (link["dof"] if link else 0)):
            given = state["gamma_dd_prescribed"][i] if state["prescribed"][i] else None
            axis = triple(inputs["hinge_axes"][i])
            hinges.append(
                Hinge(axis, state["gamma"][i], state["gamma_dot"][i], state["hinge_torque"][i], given)
            )
        used += len(hinges)
        inboard = link["inboard"] if link else -1
        parts.append(
            Substructure(
                f"body{k}",
                mass,
                matrix(inputs["inertia_about_o"][k]),
                inboard,
                tuple(hinges),
                triple(inputs["p_out"][f"{inboard}->{k}"]) if link else (0, 0, 0),
                triple(inputs["p_in"][str(k)]) if link else (0, 0, 0),
                appendages=tuple(
                    made(record, m, state) for m, record in enumerate(appendages) if record["body"] == k
                ),
                torque=triple(state["body_torque_about_o"][k]),
                force=triple(state["body_force_at_o"][k]),
            )
        )
    return Vehicle(tuple(parts), triple(state["w0"]))


def made(record: dict[str, Any], m: int, state: dict[str, Any]) -> Appendage | SpinningAppendage:
    """Appendage m in real modes, or in complex ones where the data have a nominal spin."""
    loads = [(triple(f), triple(t)) for f, t in zip(
        state.get("node_force", [[]] * 9)[m], state.get("node_torque", [[]] * 9)[m], strict=True
    )]  # fmt: skip
    if "Omega" in record:
        count = len(record["sigma"])
        states = [[0.0] * count if state[s] == "zero" else state[s][m] for s in ("delta", "eta")]
        return spinning(record, complex_modes(record), record["damping"], states[0], states[1], loads)
    sigma, ratio = np.array(record["sigma"]), np.array(record["damping"])
    nested = isinstance(state["eta"][0], list)
    nodes = []
    for s, (force, torque) in enumerate(loads):
        phi = np.array(record["phi"])[6 * s : 6 * s + 6]
        place = triple(record["nodes"][s]["r"])
        nodes.append(NodeLoad(place, columns(phi[:3]), columns(phi[3:]), force, torque))
    return Appendage(
        columns(record["P"]),
        columns(record["DeltaT"]),
        np.eye(len(sigma)).tolist(),
        np.diag(sigma**2).tolist(),
        np.diag(2 * ratio * sigma).tolist(),
        state["eta"][m] if nested else state["eta"],
        state["eta_dot"][m] if nested else state["eta_dot"],
        tuple(nodes),
    )


def spinning(
    record: dict[str, Any],
    modes: ComplexModes,
    damping: Any,
    delta: Any,
    eta: Any,
    loads: list[tuple[Triple, Triple]],
) -> SpinningAppendage:
    """An appendage in the given complex modes."""
    particles, nodes = [], []
    for s, node in enumerate(record["nodes"]):
        psi, gamma = modes.psi[6 * s : 6 * s + 6], modes.gamma[6 * s : 6 * s + 6]
        both = 2 * np.hstack([psi, -gamma])
        place = triple(node["r"])
        shapes = [columns(a) for a in (psi[:3], gamma[:3], psi[3:], gamma[3:])]
        particles.append(Particle(node["mass"], matrix(node["inertia"]), place, *shapes))
        if loads:
            nodes.append(NodeLoad(place, columns(both[:3]), columns(both[3:]), *loads[s]))
    frequencies = [float(f) for f in modes.frequencies]
    return SpinningAppendage(
        tuple(particles), triple(record["Omega"]), frequencies, damping, delta, eta, tuple(nodes)
    )


def with_rotors(inputs: dict[str, Any], state: dict[str, Any], given: Any = None) -> Vehicle:
    """The two bodies of the rotor case; ``given`` accelerations in place of torques."""
    rotors = tuple(
        Rotor(
            tuple(float(i == j) for j in range(3)),  # type: ignore[arg-type]
            inertia,
            state["rotor_rate_relative"][i],
            state["rotor_torque"][i],
            None if given is None else given[i],
        )
        for i, inertia in enumerate(inputs["rotor_axial_inertia"])
    )
    torques = [triple(t) for t in state["body_torque_about_o"]]
    forces = [triple(f) for f in state["body_force_at_o"]]
    hinge = Hinge(triple(inputs["hinge_axis"]), state["gamma"], state["gamma_dot"], state["hinge_torque"])
    return Vehicle(
        (
            Substructure(
                "first",
                inputs["mass"][0],
                matrix(inputs["inertia_body0"]),
                torque=torques[0],
                force=forces[0],
            ),
            Substructure(
                "second",
                inputs["mass"][1],
                matrix(inputs["inertia_to_give_the_solver"]),
                0,
                (hinge,),
                triple(inputs["p_out"]),
                triple(inputs["p_in"]),
                rotors=rotors,
                torque=torques[1],
                force=forces[1],
            ),
        ),
        triple(state["w0"]),
    )


def full(equations: Assembled) -> tuple[np.ndarray, np.ndarray]:
    """(matrix, right side) as arrays."""
    count = len(equations.motion)
    rows = [[equations.element(i, j) for j in range(count)] for i in range(count)]
    return np.array(rows, float), np.array([equations.force[i] for i in range(count)], float)
