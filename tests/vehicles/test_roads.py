"""Roads: heights with exact slopes, and random ones with the spectra of ISO 8608."""

from __future__ import annotations

import numpy as np
import pytest

import armillary as arm
import armillary.vehicles as veh


def test_slopes_of_a_road_are_exact() -> None:
    s = arm.System("place")
    x, y = s.parameter("x", 0.3, units="m"), s.parameter("y", 0.2, units="m")
    table = arm.Table([0, 1, 2, 3], [0, 0.1, 0.05, 0.2], kind="smooth", x_units="m", y_units="m")
    surface = veh.Road(lambda a, b: table(a) + 0.03 * b).below(x, y)
    place = {"x": np.array([0.4, 1.7]), "y": 0.2}
    step = {"x": 1e-6}
    high, low = ({**place, "x": place["x"] + sign * step["x"]} for sign in (1, -1))
    slope = (arm.evaluate(surface.height, high) - arm.evaluate(surface.height, low)) / 2e-6
    assert np.allclose(arm.evaluate(surface.slope_x, place), slope, atol=1e-9)
    assert np.isclose(arm.evaluate(surface.slope_y, place), 0.03)
    assert veh.Road(0.5).below(x, y) == (0.5, 0.0, 0.0, 1.0)


def test_a_class_has_the_variance_of_the_standard() -> None:
    """ISO 8608, class A between 0.011 and 2.83 cycles/m: 3.806 mm; each class has twice that before."""
    x = np.arange(0, 10_000, 0.771)
    left, right = veh.road_profiles("A", x, seed=3)
    assert np.isclose(np.std(left), 3.806e-3, rtol=0.02)
    assert np.isclose(np.std(right), 3.806e-3, rtol=0.02)
    assert np.allclose(veh.road_profiles("C", x[:10], seed=3), 4 * np.stack([left, right])[:, :10])


def test_the_spectrum_falls_with_the_square_and_tracks_agree_in_long_waves() -> None:
    """The density against Welch's estimate by SciPy. The correlation of the tracks' heights is the integral
    of the density times the coherence x K1(x) of an isotropic surface, x = 2π n track, over the variance;
    that of their bends, in which short waves count, is nearly zero.
    """
    from scipy.integrate import quad
    from scipy.signal import welch
    from scipy.special import k1

    left, right = veh.road_profiles("B", np.arange(0, 1500, 0.1), seed=1, waves=200)
    n, density = welch(left, fs=10.0, nperseg=500, detrend="linear")
    bands = (n > 0.2) & (n < 2)
    assert np.isclose(np.mean(density[bands] / (64e-6 * (n[bands] / 0.1) ** -2)), 1, atol=0.05)
    both, _ = quad(lambda f: 2 * np.pi * 1.5 / f * k1(2 * np.pi * f * 1.5), 0.011, 2.83)
    expected = both / (1 / 0.011 - 1 / 2.83)
    assert np.isclose(np.corrcoef(left, right)[0, 1], expected, atol=0.03)
    assert abs(np.corrcoef(np.diff(left, 2), np.diff(right, 2))[0, 1]) < 0.15


def test_a_seed_gives_the_same_road_and_another_seed_another() -> None:
    x = np.linspace(0, 50, 500)
    assert np.array_equal(veh.road_profiles("A", x, seed=5), veh.road_profiles("A", x, seed=5))
    assert not np.allclose(veh.road_profiles("A", x, seed=5), veh.road_profiles("A", x, seed=6))


def test_a_wheel_follows_a_random_road() -> None:
    """At 3 m/s a light wheel below a stiff guide sees its load change as the height of its track."""
    road = veh.iso8608_road("C", length=40, seed=2)
    s = arm.System("wheel")
    sled = s.body("sled", joint=arm.Prismatic("x"), at=(0, 0.75, 0), mass=1, inertia=0)
    s.prescribe(sled.u1, 3.0)
    tyre = veh.BrushTyre(20.0, 1.0, vertical_stiffness=2e5)
    veh.add_wheel(s, "wheel", sled, tyre, at=(0, 0, 0.28), mass=20, inertia=(0.5, 0.9, 0.5), road=road)
    run = s.derive().compile().simulate(5.0, step=2e-3, initial={"wheel.u1": 10.0})
    left, _ = veh.road_profiles("C", run["sled.q1"], seed=2)
    expected = 2e5 * (0.02 + left)
    assert np.allclose(run["wheel Fz"], expected, atol=0.03 * np.max(expected))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"road_class": "Z"}, "road class 'Z' is not known"),
        ({"lowest": 3.0}, "spatial frequencies must rise"),
        ({"spacing": 0.2}, "more than a quarter of the shortest wave"),
        ({"length": -1.0}, "cannot be made"),
    ],
)
def test_wrong_roads_are_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(arm.ModelError, match=sentence):
        veh.iso8608_road(**options)  # type: ignore[arg-type]
