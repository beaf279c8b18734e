"""LQR along a run: gains that follow the motion, v = v̄(t) − K(t) (x − x̄(t)).

    −Ṗ = A(t)ᵀP + P A(t) − P B(t) R⁻¹ B(t)ᵀ P + Q,   P(T) = final,   K = R⁻¹ Bᵀ P

x̄ and v̄ are the states and inputs of the run; A and B are exact at every sample of it.

Source: Anderson and Moore, Optimal Control: Linear Quadratic Methods (1990), section 2.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import instance, read_only, reals
from armillary.control.plant import Plant, Port, steered_plant
from armillary.control.regulators import hamiltonian, riccati_back, weight_matrix
from armillary.errors import ArmillaryError, ParameterError
from armillary.model.description import Description
from armillary.model.signals import input as declare_input
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import DataMapping


@dataclass(frozen=True, eq=False, repr=False)
class TrackingRegulator:
    """Gains along a motion, in stated units: ``K[i]`` at ``time[i]``, with the motion's states and inputs.

    ``cost`` is P at each time: after a deviation δ the remaining cost is δᵀ P δ, to second order.
    """

    time: np.ndarray
    K: np.ndarray
    cost: np.ndarray
    state: np.ndarray
    input: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]

    def at(self, t: float, state: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return the inputs at a time and state (coordinates, speeds, user's states, in stated units)."""
        i = int(np.clip(np.searchsorted(self.time, t, side="right") - 1, 0, len(self.time) - 2))
        share = np.clip((t - self.time[i]) / (self.time[i + 1] - self.time[i]), 0.0, 1.0)
        K, x, v = (a[i] + share * (a[i + 1] - a[i]) for a in (self.K, self.state, self.input))
        measured = reals(state, "state", ParameterError)
        if measured.shape != x.shape:
            raise ParameterError(f"a state has {len(x)} numbers: {', '.join(self.states)}")
        found: np.ndarray = v - K @ (measured - x)
        return found

    def signals(self, name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the law as data over time, for inputs declared by ``tracking_inputs(system, name, …)``."""
        found = {}
        for i in range(len(self.inputs)):
            found[f"{name}_v{i + 1}"] = (self.time, self.input[:, i])
            for j in range(len(self.states)):
                found[f"{name}_k{i * len(self.states) + j + 1}"] = (self.time, self.K[:, i, j])
        for j in range(len(self.states)):
            found[f"{name}_x{j + 1}"] = (self.time, self.state[:, j])
        return found

    def __repr__(self) -> str:
        span = f"{self.time[0]:.4g} to {self.time[-1]:.4g} s"
        return f"TrackingRegulator: {', '.join(self.inputs)} from {', '.join(self.states)}, {span}"


def tracking_inputs(system: Description, name: str, states: Sequence[str], inputs: int = 1) -> list[str]:
    """Declare v̄, k and x̄ as inputs over time; return v = v̄ − Σ k (x − x̄) as texts of expressions.

    ``TrackingRegulator.signals(name)`` has the data of these inputs. The law is part of the model, so it runs
    in compiled code, in batches and in exported programs.
    """
    for j, state in enumerate(states):
        declare_input(system, f"{name}_x{j + 1}", about=f"reference of {state}")
    found = []
    for i in range(inputs):
        declare_input(system, f"{name}_v{i + 1}", about="input of the reference motion")
        text = f"{name}_v{i + 1}"
        for j, state in enumerate(states):
            k = f"{name}_k{i * len(states) + j + 1}"
            declare_input(system, k, about=f"gain of {state}")
            text += f" - {k}*({state} - {name}_x{j + 1})"
        found.append(text)
    return found


def lqr_along(
    model: CompiledModel,
    run: Run,
    inputs: Sequence[str],
    Q: object,
    R: object,
    final: object = None,
    *,
    parameters: DataMapping | None = None,
) -> TrackingRegulator:
    """Return the gains that keep the model near a run: v = v̄(t) − K(t) (x − x̄(t)).

    Q, R and ``final``, the weight of the last deviation (by default Q), are as for ``lqr``. A and B are
    exact at every sample of the run and interpolated in between, so sample the run closely.
    """
    motion = steered_plant(model, inputs)
    motion.check_independent("lqr_along")
    t, x, v = run_samples(motion, run)
    brought = run_parameters(model, run, parameters)
    A, B = motion.jacobians(t, x, v, brought)
    bad = np.flatnonzero(~np.isfinite(A).all(axis=(1, 2)) | ~np.isfinite(B).all(axis=(1, 2)))
    if len(bad):
        raise ArmillaryError(
            f"'{motion.system}' has no finite derivatives at t = {t[bad[0]]:.6g} s of the run"
        )
    fx, fv = (np.array([p.factor for p in ports]) for ports in (motion.states, motion.inputs))
    A, B = A * fx / fx[:, None], B * fv / fx[:, None]
    states, names = tuple(p.name for p in motion.states), tuple(p.name for p in motion.inputs)
    Q, R = weight_matrix(Q, states, "Q"), weight_matrix(R, names, "R", positive=True)
    last = Q if final is None else weight_matrix(final, states, "final")
    costs = riccati_back(t, hamiltonian(A, B, Q, R), last)
    if not np.isfinite(costs).all():
        raise ArmillaryError("lqr_along: the Riccati equation has no finite solution along this run")
    K = np.linalg.solve(R, np.swapaxes(B, 1, 2) @ costs)
    return TrackingRegulator(
        read_only(t), read_only(K), read_only(costs), read_only(x / fx), read_only(v / fv), states, names
    )


def run_samples(motion: Plant, run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, states and inputs of a run in the model's own units, with only one sample per time."""
    instance(run, Run, "run")
    for p in (*motion.states, *motion.inputs):
        if p.name not in run:
            raise ArmillaryError(
                f"the run of '{run.system}' has no '{p.name}'; give a run of '{motion.system}' itself"
            )
    keep = np.append(True, np.diff(run.time) > 0)
    if np.count_nonzero(keep) < 2:
        raise ArmillaryError(f"the run of '{run.system}' has fewer than two samples")
    return run.time[keep], _columns(run, motion.states)[keep], _columns(run, motion.inputs)[keep]


def _columns(run: Run, ports: Sequence[Port]) -> np.ndarray:
    return np.stack([run[p.name] * p.factor for p in ports], axis=1)


def run_parameters(
    model: CompiledModel, run: Run, parameters: Mapping[str, object] | None
) -> dict[str, object]:
    """Return the run's parameters that the model has, overridden by ``parameters``."""
    known = model.equations.system.parameters
    brought: dict[str, object] = {name: v for name, v in run.parameters.items() if name in known}
    return brought | dict(parameters or {})
