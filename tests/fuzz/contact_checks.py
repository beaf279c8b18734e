"""What must hold in every run of a mechanism with contacts, and how far two runs differ."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import armillary as arm
from tests.fuzz.contact_mechanisms import FORCE, PLAIN, Mechanism, Quantity

# Bounds of what must hold, as shares of the mechanism's length, weight and energy.
GAP, FORCES, GAIN = 1e-9, 1e-9, 1e-7
# A slip in a plane ends at 4e-5 of the speed of a fall through the length. Bodies that it moves by levers may
# be a hundred times as fast, with 1e4 times the square 1.6e-9.
STOPPED = 2e-5
FEWEST_ROWS = 20  # of 1000, that a comparison of two runs needs


def simulate(
    mechanism: Mechanism, model: Any, scale: Sequence[float] = PLAIN, mirror: bool = False, **how: Any
) -> Any:
    """Return a run, or the error that ended it."""
    given = mechanism.settings(scale, mirror) | how
    if "step" in given:
        given.pop("rtol", None), given.pop("atol", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.simulate(
                mechanism.duration * scale[2] * given.pop("share", 1.0), progress=False, **given
            )
        except arm.ArmillaryError as error:
            return error


def sizes_of(mechanism: Mechanism, scale: Sequence[float]) -> tuple[float, float]:
    """Return length and weight of a mechanism."""
    mass = sum(q.value for name, q in mechanism.values.items() if name.endswith("_m"))
    weight = Quantity(mass * mechanism.values["g"].value, FORCE).scaled(scale)
    return scale[0], weight


def find_faults(
    mechanism: Mechanism, run: Any, scale: Sequence[float] = PLAIN, *, exact: bool = True
) -> list[tuple[str, str]]:
    """Return kind and figures of what is wrong with a run; of fixed steps only gaps are exact."""
    if isinstance(run, Exception):
        text = str(run).replace("\n", " ")
        return [("error", text[:300])]
    length, weight = sizes_of(mechanism, scale)
    faults = []
    power = np.zeros(len(run.time))
    if run.info["status"] != "finished":
        return [("status", run.info["status"])]
    if not np.all(np.isfinite(run.values)):
        return [("not finite", "")]
    for c in mechanism.contacts:
        status = run[f"{c.name}_status"]
        unit = weight * length if c.angular else weight
        push = None
        if c.kind not in ("brake", "clutch"):
            gap = run[f"{c.name}_gap"] / (1.0 if c.angular else length)
            if gap.min() < -GAP:
                k = int(gap.argmin())
                faults.append(("gap", f"{c.name} ({c.kind}) {gap.min():.3g} at row {k}"))
            closed = status != 0
            if closed.any() and gap[closed].max() > GAP and exact:
                faults.append(("closed above", f"{c.name} ({c.kind}) {gap[closed].max():.3g}"))
            push = run[c.name]
            if c.kind == "stop":
                side = -1.0 if "upper=" in c.text else 1.0
                push = push * side
            if push.min() < -FORCES * unit:
                faults.append(("adhesion", f"{c.name} ({c.kind}) {push.min() / unit:.3g} of the weight"))
            if (~closed).any() and np.abs(push[~closed]).max() > 0:
                faults.append(("force of an open contact", c.name))
        if c.slips:
            names = [f"{c.name}_friction{i}" for i in (1, 2)] if c.slips == 2 else [f"{c.name}_friction"]
            names = [c.name] if push is None else [n for n in names if n in run.names]
            names = names or [f"{c.name}_friction"]
            pull = np.sqrt(sum(run[n] ** 2 for n in names))
            power = power + pull * np.abs(run[f"{c.name}_slip"])
            assert c.friction is not None
            bound = mechanism.values[c.friction].scaled(scale) * (1.0 if push is None else push)
            over = (pull - bound) / unit
            if np.max(over) > FORCES:
                faults.append(("cone", f"{c.name} ({c.kind}) {np.max(over):.3g} of the weight"))
    energy = run["energy"] / (weight * length)
    gain = np.diff(energy)
    size = 1.0 + np.ptp(energy) + abs(energy[0])
    if exact and mechanism.conserves and gain.max() > GAIN * size:
        faults.append(("energy", f"gains {gain.max():.3g} of {size:.3g} at row {int(gain.argmax())}"))
    if exact:
        stopped = STOPPED if any(c.slips == 2 for c in mechanism.contacts) else 0.0
        error, bound = work_errors(run, power / (weight * length), energy, stopped)
        k = int((error - bound).argmax())
        if error[k] > bound[k]:
            faults.append(("work", f"energy changes by {error[k]:.3g} of {size:.3g} without work at row {k}"))
    return faults


def work_errors(
    run: Any, power: np.ndarray, energy: np.ndarray, stopped: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return by interval of rows how much energy changes beyond the work of friction, and its bound.

    Friction takes Σ |friction| |slip|. Intervals with an event of normals may have impacts and count as zero.
    The bound is GAIN of the mechanism's energies, and the error of the trapezoidal rule: a twelfth of the
    greatest second difference nearby, h |P″ h²| / 12, taken tenfold; where a slip begins or ends, the work
    that the greatest power nearby does, and ``stopped``.
    """
    steps = np.diff(run.time)
    error = np.abs(np.diff(energy) + 0.5 * steps * (power[1:] + power[:-1]))
    bends = np.abs(np.diff(power, 2, prepend=power[0], append=power[-1]))
    bends[0], bends[-1] = bends[1], bends[-2]
    bound = GAIN * (1.0 + np.ptp(energy) + abs(energy[0])) + steps * _greatest_nearby(bends)
    places = np.clip(np.searchsorted(run.time, [e.time for e in run.events]) - 1, 0, len(steps) - 1)
    most = stopped + 2.0 * steps * _greatest_nearby(power)
    for event, k in zip(run.events, places, strict=True):
        near = slice(max(k - 1, 0), k + 2)
        bound[near] = np.maximum(bound[near], most[near])
        if event.name.endswith("_touch"):
            error[near] = 0.0
    return error, bound


def _greatest_nearby(values: np.ndarray) -> np.ndarray:
    """Return for each interval of rows the greatest value of its two rows and the two beside them."""
    padded = np.pad(values, 1, mode="edge")
    greatest: np.ndarray = np.lib.stride_tricks.sliding_window_view(padded, 4).max(axis=1)
    return greatest


def compare(
    mechanism: Mechanism,
    one: Any,
    two: Any,
    scale: Sequence[float] = PLAIN,
    signs: Mapping[str, float] | None = None,
) -> float:
    """Return the greatest difference of coordinates and speeds of two runs until the third touch, as a share
    of length and time; ``two`` has another scale. Not a number where there are too few rows to tell.
    """
    touches = [e.time for e in one.events if e.name.endswith("_touch")]
    end = touches[2] if len(touches) > 2 else math.inf
    changes = np.array([0.0, *(e.time for e in one.events)])
    near = np.min(np.abs(one.time[:, None] - changes[None, :]), axis=1) < 1e-6
    rows = (one.time < end) & ~near
    n = min(len(one.time), len(two.time))
    rows = rows[:n]
    if rows.sum() < FEWEST_ROWS:
        return math.nan
    worst = 0.0
    for name, q in mechanism.initial.items():
        unit = Quantity(1.0, q.exponents).scaled(scale)
        sign = 1.0 if signs is None else signs.get(name, 1.0)
        a, b = one[name][:n][rows], two[name][:n][rows] / unit * sign
        if len(a):
            worst = float(np.maximum(worst, np.max(np.abs(a - b)) / (1.0 + np.max(np.abs(a)))))
    return worst
