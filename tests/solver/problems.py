"""Problems with known answers, for the tests of the integrators."""

from __future__ import annotations

from functools import cache
from math import pi, sqrt
from typing import Any

import numpy as np

from armillary.runtime.integrators.integrate import integrate as integrate_with
from armillary.runtime.integrators.settings import (
    Functions,
    Integration,
    IntegrationSettings,
    complete_settings,
)
from armillary.settings import RunSettings
from tests.solver import traced
from tests.solver.traced import Model, compile_model

FIXED = ("rk4", "midpoint", "ab2", "rodas3")
ADAPTIVE = ("dopri5", "dop853", "rodas5p")
COMPILED = FIXED + ADAPTIVE

ARENSTORF_START = (0.994, 0.0, 0.0, -2.00158510637908252240537862224)
ARENSTORF_PERIOD = 17.0652165601579625588917206249


def settings(method: str, **given: Any) -> IntegrationSettings:
    """Settings by name, with tolerances of 1e-8 and 1e-10 by default."""
    return complete_settings(RunSettings(**{"rtol": 1e-8, "atol": 1e-10, "method": method} | given))


def integrate(functions: Functions, method: str, *, state: Any, **given: Any) -> Integration:
    """The motion with settings by name."""
    others = {name: given.pop(name) for name in ("memory", "constants", "progress") if name in given}
    return integrate_with(functions, settings(method, **given), state=state, **others)


@cache
def oscillator() -> Model:
    """y = cos t."""
    return compile_model(lambda t, y, p, m: [y[1], -y[0]], n_states=2)


@cache
def modulated() -> Model:
    """ẏ = y cos t: y = e^(sin t); depends on time, so wrong stage times show."""
    return compile_model(lambda t, y, p, m: [y[0] * traced.cos(t)], n_states=1)


@cache
def kepler() -> Model:
    """The two-body problem, with semi-major axis and gravity 1: period 2π."""

    def derivatives(t, y, p, m):
        r2 = y[0] * y[0] + y[1] * y[1]
        r3 = r2 * traced.sqrt(r2)
        return [y[2], y[3], -y[0] / r3, -y[1] / r3]

    return compile_model(derivatives, n_states=4)


def kepler_python(t: float, y: np.ndarray) -> list[float]:
    r3 = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return [y[2], y[3], -y[0] / r3, -y[1] / r3]


def kepler_position(eccentricity: float, t: float) -> np.ndarray:
    """From Kepler's equation, E − e sin E = t, starting at perihelion."""
    anomaly = t
    for _ in range(50):
        error = anomaly - eccentricity * np.sin(anomaly) - t
        anomaly -= error / (1 - eccentricity * np.cos(anomaly))
    return np.array([np.cos(anomaly) - eccentricity, sqrt(1 - eccentricity**2) * np.sin(anomaly)])


def kepler_start(eccentricity: float) -> list[float]:
    return [1 - eccentricity, 0.0, 0.0, sqrt((1 + eccentricity) / (1 - eccentricity))]


@cache
def arenstorf() -> Model:
    """The closed orbit of the restricted three-body problem (Hairer, Nørsett, Wanner 1993, eq. II.0.1)."""
    moon = 0.012277471
    earth = 1 - moon

    def derivatives(t, y, p, m):
        x, z = y[0], y[1]
        to_earth = (x + moon) * (x + moon) + z * z
        to_moon = (x - earth) * (x - earth) + z * z
        d1, d2 = to_earth * traced.sqrt(to_earth), to_moon * traced.sqrt(to_moon)
        ax = x + 2.0 * y[3] - earth * (x + moon) / d1 - moon * (x - earth) / d2
        az = z - 2.0 * y[2] - earth * z / d1 - moon * z / d2
        return [y[2], y[3], ax, az]

    return compile_model(derivatives, n_states=4)


def arenstorf_python(t: float, y: np.ndarray) -> list[float]:
    moon = 0.012277471
    earth = 1 - moon
    d1 = ((y[0] + moon) ** 2 + y[1] ** 2) ** 1.5
    d2 = ((y[0] - earth) ** 2 + y[1] ** 2) ** 1.5
    ax = y[0] + 2 * y[3] - earth * (y[0] + moon) / d1 - moon * (y[0] - earth) / d2
    return [y[2], y[3], ax, y[1] - 2 * y[2] - earth * y[1] / d1 - moon * y[1] / d2]


@cache
def van_der_pol() -> Model:
    return compile_model(lambda t, y, p, m: [y[1], p[0] * (1.0 - y[0] * y[0]) * y[1] - y[0]], n_states=2)


@cache
def ball(direction: int = 0, terminal: bool = False) -> Model:
    """A bouncing ball: p[0] is the restitution; gravity 10."""
    return compile_model(
        lambda t, y, p, m: [y[1], -10.0],
        n_states=2,
        events=lambda t, y, p, m: [y[0]],
        n_events=1,
        fire=lambda k, t, y, p, m: ([], [y[0], -p[0] * y[1]]),
        directions=(direction,),
        terminal=(terminal,),
    )


def bounces(height: float, restitution: float, t_end: float) -> np.ndarray:
    """The times of a ball's bounces, dropped at t = 0."""
    speed = sqrt(20 * height)
    times = [speed / 10]
    while times[-1] < t_end:
        speed *= restitution
        times.append(times[-1] + speed / 5)
    return np.array(times[:-1])


PERIOD = 2 * pi
