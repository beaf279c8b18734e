"""Positions, speeds and accelerations of mechanisms along paths, against closed forms."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mechanisms import CRANK, LINKS, ROD, UNIT, arm_2r, four_bar, four_bar_system, slider_crank

import armillary as arm
from armillary.analysis.kinematics import motion
from armillary.analysis.kinematics.result import _square_units

TURN = np.linspace(0.1, 2 * np.pi + 0.1, 73)


def slider_position(q: np.ndarray) -> np.ndarray:
    """x = r cos q + √(l² − r² sin² q)."""
    return CRANK * np.cos(q) + np.sqrt(ROD**2 - (CRANK * np.sin(q)) ** 2)


def slider_rates(q: np.ndarray, u: float, a: float) -> tuple[np.ndarray, np.ndarray]:
    """ẋ and ẍ of the same, with w = √(l² − r² sin² q)."""
    r, s, c = CRANK, np.sin(q), np.cos(q)
    w = np.sqrt(ROD**2 - (r * s) ** 2)
    slope = -r * s - r**2 * s * c / w
    bend = -r * c - r**2 * (c**2 - s**2) / w - r**4 * s**2 * c**2 / w**3
    return slope * u, slope * a + bend * u**2


def test_a_four_bar_satisfies_freudensteins_equation_all_the_way_round() -> None:
    """Freudenstein (1955): R1 cos θ4 − R2 cos θ2 + R3 = cos(θ2 − θ4)."""
    a, b, c, d = LINKS
    swept = four_bar().sweep({"crank.q1": np.linspace(0, 2 * np.pi, 361)})
    crank, rocker = swept["crank.q1"], swept["rocker.q1"]
    r3 = (a**2 - b**2 + c**2 + d**2) / (2 * a * c)
    assert swept.found.all()
    gap = d / a * np.cos(rocker) - d / c * np.cos(crank) + r3 - np.cos(crank - rocker)
    assert np.max(np.abs(gap)) < 1e-13
    assert rocker[-1] == pytest.approx(rocker[0], abs=1e-12)  # the same branch after one turn
    assert swept["rocker angle"] == pytest.approx(np.degrees(rocker), rel=1e-14)


def test_a_slider_crank_has_the_positions_speeds_and_accelerations_of_the_closed_form() -> None:
    rates = {"speeds": {"crank.q1": 3.0}, "accelerations": {"crank.q1": -2.0}}
    swept = slider_crank().sweep({"crank.q1": TURN}, **rates)
    speed, acceleration = slider_rates(TURN, 3.0, -2.0)
    assert swept["slider.q1"] == pytest.approx(slider_position(TURN), rel=1e-13)
    assert swept["stroke"] == pytest.approx(1e3 * slider_position(TURN), rel=1e-13)
    assert swept["speed"] == pytest.approx(speed, abs=1e-12)
    assert swept["d(stroke)/dt"] == pytest.approx(1e3 * speed, abs=1e-9)
    assert swept["d²(stroke)/dt²"] == pytest.approx(1e3 * acceleration, abs=1e-8)
    assert swept["d(speed)/dt"] == pytest.approx(acceleration, abs=1e-11)
    assert "d²(speed)/dt²" not in swept  # it would need third derivatives
    assert swept.units["d²(stroke)/dt²"] == "mm/s^2"


def test_derivatives_by_the_driven_coordinate_are_those_at_unit_speed() -> None:
    swept = slider_crank().sweep({"crank.q1": TURN}, ["stroke"], derivatives=True)
    first, second = slider_rates(TURN, 1.0, 0.0)
    assert swept["d(slider.q1)/d(crank.q1)"] == pytest.approx(first, abs=1e-12)
    assert swept["d²(slider.q1)/d(crank.q1)²"] == pytest.approx(second, abs=1e-11)
    assert swept.units["d(stroke)/d(crank.q1)"] == "mm/rad"
    assert swept.units["d²(stroke)/d(crank.q1)²"] == "mm/rad^2"


@pytest.mark.parametrize(
    ("units", "square"),
    [("rad", "rad^2"), ("mm", "mm^2"), ("m/s", "(m/s)^2"), ("", ""), (" ", ""), ("1", ""), ("-", "")],
)
def test_units_in_the_denominator_of_second_derivatives_are_squared(units: str, square: str) -> None:
    assert _square_units(units) == square


def test_dead_centres_are_turning_points_of_the_slider() -> None:
    swept = slider_crank().sweep({"crank.q1": TURN}, ["stroke"])
    inner, outer = swept.turning_points("stroke")
    assert inner.at["crank.q1"] == pytest.approx(np.pi, abs=1e-9)
    assert outer.at["crank.q1"] == pytest.approx(2 * np.pi, abs=1e-9)
    assert (inner.value, outer.value) == pytest.approx((1e3 * (ROD - CRANK), 1e3 * (ROD + CRANK)), rel=1e-12)


def test_a_turning_point_on_a_row_is_found_once() -> None:
    swept = slider_crank().sweep({"crank.q1": np.pi / 8 * np.arange(1, 12)}, ["stroke"])
    (mark,) = swept.turning_points("stroke")
    assert mark.at["crank.q1"] == pytest.approx(np.pi, abs=1e-9)


def test_rows_where_an_output_pauses_are_no_turning_points() -> None:
    """(q − 1)³ goes on in its direction, the square of what q is below 1 stays at zero from there on."""
    s = arm.System("slider")
    b = s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.output("cubic", (b.q1 - 1) * (b.q1 - 1) * (b.q1 - 1))
    s.output("flat", "min(b.q1 - 1, 0)**2")
    s.output("square", (b.q1 - 1) ** 2)
    swept = (
        s.derive().compile().sweep({"b.q1": np.array([0.0, 0.5, 1.0, 1.5, 2.0])}, ["cubic", "flat", "square"])
    )
    (mark,) = swept.turning_points("square")
    assert mark.at["b.q1"] == 1.0 and mark.row == 2
    assert not swept.turning_points("cubic") and not swept.turning_points("flat")


class Shares(motion.Path):
    """A path of one segment whose positions are the shares of it."""

    def __init__(self) -> None:
        pass

    def between(self, first: np.ndarray, last: np.ndarray, share: np.ndarray) -> Any:
        return share, np.ones(len(share), dtype=bool)


@pytest.mark.parametrize("power", [9, 1 / 9])
def test_zeros_between_rows_are_found_in_few_turns_from_either_side(power: float) -> None:
    """Roots 0.3 of xᵖ − 0.3ᵖ, where regula falsi keeps one end: the Illinois method needs about 20 values and
    regula falsi hundreds. Both roots of a descending function and of a rising one, at once.
    """
    calls = []

    def value(share: np.ndarray) -> np.ndarray:
        calls.append(share)
        return (share**power - 0.3**power) * [1.0, -1.0]

    found, _ = Shares().zeros(np.array([0, 0]), np.array([1, 1]), value)
    assert found == pytest.approx([0.3, 0.3], abs=1e-12)
    assert len(calls) < 30


def test_a_driven_slider_ends_where_crank_and_rod_are_in_line() -> None:
    swept = slider_crank().sweep({"slider.q1": np.linspace(1.0, 1.3, 14)})
    assert swept.found.tolist() == (swept["slider.q1"] < CRANK + ROD).tolist()
    assert np.isnan(swept["crank.q1"][-1])
    (limit,) = swept.limits
    assert limit.at["slider.q1"] == pytest.approx(CRANK + ROD, rel=1e-9)
    assert set(limit.speeds) == {"crank.u1", "rod.u1"}
    assert limit.constraints == ("loop1 along ground.x",)


def test_a_row_on_a_singular_position_is_named() -> None:
    swept = slider_crank().sweep({"slider.q1": [1.1, 1.15, CRANK + ROD]})
    (mark,) = swept.singular
    assert mark.row == 2
    assert set(mark.speeds) == {"crank.u1", "rod.u1"}


def test_the_strength_of_a_position_is_its_smallest_singular_value() -> None:
    """Of matrices with and without an inverse, in paths with and without singular rows; of tall ones too."""
    turn, tilt = (np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in (0.7, -0.4))
    sound, weak, flat = (turn @ np.diag([1.0, least]) @ tilt for least in (1e-4, 1e-12, 0.0))
    for rows in ([sound, sound], [sound, weak], [sound, flat], [sound, np.zeros((2, 2)), flat]):
        for A in (np.array(rows), np.array([np.vstack((row, np.zeros(2))) for row in rows])):
            inverses, strengths = motion._inverses(A)
            least = np.linalg.svd(A, compute_uv=False)[:, -1]
            assert strengths == pytest.approx(least, rel=1e-7, abs=1e-15)
            assert inverses == pytest.approx(np.linalg.pinv(A, rcond=1e-11), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_singular_row_is_named_once_whatever_the_sign_of_its_determinant(side: float) -> None:
    """The determinant of a row where A is singular is rounding of either sign; A turns over across it."""
    path = Shares()
    path.first, path.last, path.found = np.arange(4), np.arange(1, 5), np.ones(5, dtype=bool)
    path.motion = SimpleNamespace(
        strength=np.array([1.0, 1.0, 1e-12, 1.0, 1.0]),
        orientation=np.array([-1.0, -1.0, side, 1.0, 1.0]),
        weakest=lambda row: (["loop"], ["u"]),
        positions=np.arange(5.0),
        times=np.zeros(5),
    )
    path.at = lambda position, time: {"q": position}
    assert motion.singular_positions(path) == [motion.Landmark("singular", 2, {"q": 2.0}, ("loop",), ("u",))]


def test_a_path_that_comes_back_into_reach_goes_on() -> None:
    swept = slider_crank().sweep({"slider.q1": [1.1, 1.3, 1.0]}, start={"crank.q1": 0.5})
    assert swept.found.tolist() == [True, False, True]
    assert slider_position(swept["crank.q1"][2]) == pytest.approx(1.0, rel=1e-12)


def test_values_may_have_units_of_their_own() -> None:
    swept = slider_crank().sweep({"crank.q1": (np.degrees(TURN), "deg")}, ["stroke"])
    assert swept["crank.q1"] == pytest.approx(TURN, rel=1e-15)
    assert slider_crank().sweep({"stroke": ([1.0, 1.1], "m")})["slider.q1"] == pytest.approx([1.0, 1.1])
    with pytest.raises(arm.UnitsError, match=r"'crank\.q1' cannot be compared"):
        slider_crank().sweep({"crank.q1": ([1, 2], "mm")})


def test_coarse_paths_keep_their_branch() -> None:
    fine = four_bar().sweep({"crank.q1": np.linspace(0, 2 * np.pi, 361)})
    coarse = four_bar().sweep({"crank.q1": np.linspace(0, 2 * np.pi, 4)})
    assert coarse["rocker.q1"] == pytest.approx(fine["rocker.q1"][::120], abs=1e-12)


@pytest.mark.parametrize("angles", [np.linspace(1, 5, 24), [2, 2.5, np.pi, 3.5, 4]])
def test_a_parallelogram_stays_one_through_its_flat_position_which_is_named(angles: Any) -> None:
    """At π its links lie on one line and the loop could become an antiparallelogram, also where a row is."""
    s = arm.System("parallelogram")
    a = s.body("a", joint=arm.Revolute("z"), mass=1, inertia=UNIT)
    b = s.body("b", a, arm.Revolute("z"), at=(0.4, 0, 0), mass=1, inertia=UNIT)
    c = s.body("c", joint=arm.Revolute("z"), at=(1, 0, 0), mass=1, inertia=UNIT)
    s.close_loop(b.point((1, 0, 0)), c.point((0.4, 0, 0)), [s.ground.x, s.ground.y])
    s.start({"a.q1": 1.0, "b.q1": -1.0, "c.q1": 1.0})
    swept = s.derive().compile().sweep({"a.q1": angles})
    assert swept.found.all()
    assert swept["c.q1"] == pytest.approx(np.asarray(angles), abs=1e-6)
    (mark,) = swept.singular
    assert mark.at["a.q1"] == pytest.approx(np.pi, abs=1e-6)  # the loop is closed to 1e-9, doubly
    assert set(mark.speeds) == {"b.u1", "c.u1"} and mark.constraints == ("loop1 along ground.x",)


def test_rolling_leaves_positions_free_and_holds_for_speeds() -> None:
    s = arm.System("sledge")
    sledge = s.body("sledge", joint=arm.Joint(translate=["x", "y"], rotate=["z"]), mass=1, inertia=UNIT)
    s.constrain(arm.dot(arm.velocity(sledge.origin), sledge.y), name="runner")
    model = s.derive().compile()
    path = {"sledge.q1": [0, 1.0], "sledge.q2": [0, 2.0], "sledge.q3": [0, np.arctan(2.0)]}
    assert model.sweep(path).found.all()
    along = {"sledge.q1": 1.0, "sledge.q2": [0.0, 2.0]}
    assert model.sweep(path, ["sledge.u1"], speeds=along)["sledge.u1"] == pytest.approx(1.0)
    with pytest.raises(arm.ArmillaryError, match=r"constraint 'runner' .* contradicts the speeds"):
        model.sweep(path, speeds={"sledge.q2": 1.0})


def test_outputs_can_be_driven() -> None:
    swept = four_bar().sweep({"height": [0.35, 0.4, 0.45]}, derivatives=True)
    again = four_bar().sweep({"crank.q1": swept["crank.q1"]}, start=swept.initial(0), derivatives=True)
    assert again["height"] == pytest.approx([0.35, 0.4, 0.45], rel=1e-13)
    assert swept["d(crank.q1)/d(height)"] == pytest.approx(1 / again["d(height)/d(crank.q1)"], rel=1e-10)


def test_grids_have_all_combinations_with_derivatives_by_each() -> None:
    first, second = np.linspace(-1, 1, 5), np.linspace(0.2, 2, 4)
    swept = arm_2r().sweep({"upper.q1": first, "lower.q1": second}, ["x"], grid=True, derivatives=True)
    q1, q2 = np.meshgrid(first, second, indexing="ij")
    assert swept.shape == (5, 4)
    assert swept.grid("x") == pytest.approx(np.cos(q1) + 0.7 * np.cos(q1 + q2), abs=1e-14)
    assert swept.grid("d(x)/d(lower.q1)") == pytest.approx(-0.7 * np.sin(q1 + q2), abs=1e-13)
    assert swept.to_xarray()["x"].dims == ("upper.q1", "lower.q1")
    assert swept.to_pandas()["x"].loc[(-1.0, 2.0)] == swept["x"][3]


def test_coordinates_that_nothing_drives_are_held() -> None:
    swept = arm_2r().sweep({"upper.q1": [0.0, 1.0]}, start={"lower.q1": 0.25})
    assert swept.held == {"lower.q1": 0.25}
    driven = arm_2r().sweep({"x": [1.2, 1.3]}, held=["upper.q1"])
    assert driven.held == {"upper.q1": pytest.approx(0.4)}
    assert np.cos(0.4) + 0.7 * np.cos(0.4 + driven["lower.q1"]) == pytest.approx([1.2, 1.3], rel=1e-13)


def test_time_moves_what_is_prescribed() -> None:
    s = arm.System("driven")
    wheel = s.body("wheel", joint=arm.Revolute("z"), mass=1, inertia=UNIT)
    s.prescribe(wheel.q1, "2*t")
    s.output("x", arm.dot(arm.position(wheel.point((0.5, 0, 0))), s.ground.x), units="m")
    s.body("other", joint=arm.Revolute("z"), mass=1, inertia=UNIT)
    t = np.linspace(0, 1, 5)
    model = s.derive().compile()
    swept = model.sweep({"time": t}, ["x"])
    assert swept["x"] == pytest.approx(0.5 * np.cos(2 * t), abs=1e-15)
    assert swept["d²(x)/dt²"] == pytest.approx(-2.0 * np.cos(2 * t), abs=1e-14)
    with pytest.raises(arm.ArmillaryError, match="no free coordinate moves it"):
        model.sweep({"x": [0.1]})


def test_ball_joints_follow_their_closed_form_with_unit_euler_parameters() -> None:
    """A rod of 1 m on a ball joint between a crank about x and a slider along x:
    |(1 + x, 0.2, 0) − (0, 0.3 cos q, 0.3 sin q)| = 1.
    """
    s = arm.System("spatial slider-crank")
    crank = s.body("crank", joint=arm.Revolute("x"), mass=1, inertia=UNIT)
    slider = s.body("slider", joint=arm.Prismatic("x"), at=(1, 0, 0), mass=1, inertia=UNIT)
    rod = s.body("rod", crank, arm.Spherical(), at=(0, 0.3, 0), mass=1, inertia=UNIT)
    s.close_loop(rod.point((1.0, 0, 0)), slider.point((0, 0.2, 0)))
    s.output("across", arm.dot(rod.x, s.ground.y))
    q = np.linspace(0, 2 * np.pi, 25)
    swept = s.derive().compile().sweep({"crank.q1": q}, speeds={"crank.q1": 1.0})
    x = np.sqrt(1 - (0.2 - 0.3 * np.cos(q)) ** 2 - (0.3 * np.sin(q)) ** 2) - 1
    assert swept.found.all()
    assert len(swept.held) == 1  # the rod may spin about its own axis
    assert swept["slider.q1"] == pytest.approx(x, abs=1e-13)
    assert swept["d(slider.q1)/dt"] == pytest.approx(-0.06 * np.sin(q) / (1 + x), abs=1e-12)
    assert swept["across"] == pytest.approx(0.2 - 0.3 * np.cos(q), abs=1e-13)
    assert sum(swept[f"rod.q{i}"] ** 2 for i in range(1, 5)) == pytest.approx(np.ones(25), rel=1e-14)


def test_models_in_redundant_coordinates_give_the_same() -> None:
    other = four_bar_system().derive("redundant").compile()
    expected = four_bar().sweep({"crank.q1": [0.5, 1.0]})["rocker.q1"]
    assert other.sweep({"crank.q1": [0.5, 1.0]})["rocker.q1"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("driven", "how", "words"),
    [
        ({"crnk.q1": [1]}, {}, "did you mean 'crank.q1'"),
        ({"crank.q1": [1], "rocker.q1": [1]}, {}, "1 degree of freedom"),
        ({"crank.q1": []}, {}, "one row of numbers"),
        ({"crank.q1": ["a"]}, {}, "needs a number"),
        ({"crank.q1": [1, float("nan")]}, {}, "not a finite number"),
        ({}, {}, "names nothing"),
        ({"crank.u1": [1]}, {}, "depends on"),
        ({"crank.q1": [1, 2]}, {"speeds": {"rocker.q1": 1}}, "is not driven"),
        ({"crank.q1": [1, 2]}, {"speeds": {"crank.q1": [1, 2, 3]}}, "2 rows"),
        ({"crank.q1": [1]}, {"outputs": ["hight"]}, "did you mean 'height'"),
        ({"crank.q1": [1]}, {"held": ["rocker.q1"]}, "leave 0 free"),
    ],
)
def test_wrong_sweeps_are_refused_by_a_sentence(driven: Any, how: dict[str, Any], words: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=words):
        four_bar().sweep(driven, **how)


def test_different_lengths_are_refused() -> None:
    with pytest.raises(arm.ArmillaryError, match="different lengths"):
        arm_2r().sweep({"upper.q1": [1, 2], "lower.q1": [1, 2, 3]})


@pytest.mark.parametrize("suffix", [".csv", ".nc", ".parquet"])
def test_files_give_the_sweep_back(tmp_path: Path, suffix: str) -> None:
    sweeps = (
        slider_crank().sweep({"slider.q1": np.linspace(1.0, 1.3, 7)}, ["stroke"]),
        arm_2r().sweep({"upper.q1": [0.1, 0.2]}),
    )
    for swept in sweeps:
        swept.save(tmp_path / f"sweep{suffix}")
        again = arm.load_sweep(tmp_path / f"sweep{suffix}")
        assert again.names == swept.names and again.units == swept.units
        assert np.array_equal(again.values, swept.values, equal_nan=True)
        assert again.landmarks == swept.landmarks and again.held == swept.held
        assert again.found.tolist() == swept.found.tolist()
        assert repr(again) == repr(swept)
    assert again.held == {"lower.q1": 0.6}


def test_sweeps_print_and_plot(tmp_path: Path) -> None:
    swept = slider_crank().sweep({"slider.q1": np.linspace(1.0, 1.3, 7)}, ["stroke"])
    text = repr(swept)
    assert text.startswith("Sweep of 'slider-crank' over slider.q1 1 to 1.3 m: 7 rows, 2 not reached")
    assert "limit of reach at slider.q1 = 1.2" in text
    assert "<svg" in swept._repr_html_()
    swept.plot("crank.q1", path=tmp_path / "sweep.svg")
    assert (tmp_path / "sweep.svg").stat().st_size > 1000


def test_rates_of_a_driven_joint_leave_held_ones_at_rest() -> None:
    """The tip of two links, of which the first turns at 2 rad/s and the second is held, moves on a circle
    about the ground's origin, with its centripetal acceleration.
    """
    s = arm.System("two links")
    upper = s.body("upper", joint=arm.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    lower = s.body("lower", upper, arm.Revolute("z"), at=(1, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    place = arm.position(lower.point("tip", (0.5, 0, 0)))
    s.output("x", arm.dot(place, s.ground.x), units="m")
    s.output("y", arm.dot(place, s.ground.y), units="m")
    s.start({"lower.q1": 0.6})
    swept = (
        s.derive()
        .compile()
        .sweep({"upper.q1": [0.1, 0.7, 1.3]}, speeds={"upper.q1": 2.0}, accelerations={"upper.q1": 3.0})
    )
    x, y = swept["x"], swept["y"]
    assert np.hypot(x, y) == pytest.approx(np.sqrt(1.25 + np.cos(0.6)))
    assert swept["d(x)/dt"] == pytest.approx(-2.0 * y)
    assert swept["d(y)/dt"] == pytest.approx(2.0 * x)
    assert swept["d²(x)/dt²"] == pytest.approx(-4.0 * x - 3.0 * y)
    assert swept["d²(y)/dt²"] == pytest.approx(-4.0 * y + 3.0 * x)


def test_a_loop_with_redundant_constraints_has_no_singular_position() -> None:
    """The last hinge of a four-bar is closed in space: more constraints than speeds have no determinant."""
    s = arm.System("bar")
    solid = {"mass": 1, "inertia": (1, 1, 1)}
    a = s.body("a", joint=arm.Revolute("y"), **solid)
    b = s.body("b", a, arm.Revolute("y"), at=(1, 0, 0), **solid)
    c = s.body("c", joint=arm.Revolute("y"), at=(2, 0, 0), **solid)
    s.close_joint("revolute", b.point((2, 0, 0)), c.point((1.5, 0, 0)), axis="y")
    s.start({"a.q1": -1.2, "b.q1": 1.0, "c.q1": -1.5})
    swept = s.derive().compile().sweep({"a.q1": np.linspace(-1.2, -0.9, 4)})
    assert swept.found.all() and swept.landmarks == ()
