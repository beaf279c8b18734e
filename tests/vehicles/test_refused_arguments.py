"""Arguments of roads, drivers, tyres and manoeuvres that mean nothing are refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import armillary as arm
import armillary.vehicles as veh
from armillary.vehicles.driver import PathDriver, SharpDriver
from armillary.vehicles.manoeuvres.catalogue import MANOEUVRES, run_manoeuvre
from armillary.vehicles.obstacles import Obstacle, ObstacleRoad, TandemCams, obstacle_road
from armillary.vehicles.parts.driveline import Differential, electric_motor
from armillary.vehicles.road import SplitRoad, road_profiles, split_road
from armillary.vehicles.suspensions.axles import trailing_arm, twist_beam
from armillary.vehicles.tyres.magic_formula import MagicFormula
from armillary.vehicles.tyres.tyre import carpet

FILE = Path(__file__).parent / "data" / "made_up_61.tir"
PATH = arm.Table([0.0, 1.0], [0.0, 0.0])
CAMS = {"radius": 0.3, "contact_length": 0.1, "shift": 0.8, "length": 1.0, "height": 1.0, "order": 1.8}


def tyre() -> veh.Tyre:
    return veh.read_tyre(FILE, changes={"VERTICAL_STIFFNESS": 2e5})


@cache
def small_car() -> veh.Car:
    return veh.single_track_car(veh.LinearTyre(6e4), veh.LinearTyre(7e4))


def steered_car() -> Any:
    """What a lane change asks of a car before it drives."""
    return SimpleNamespace(system=SimpleNamespace(parameters=("driver_preview",)))


@cache
def train() -> veh.Car:
    return veh.tractor_and_trailer(veh.LinearTyre(2e5), veh.LinearTyre(2e5), veh.LinearTyre(2e5))


HUB: Any = SimpleNamespace(name="w", body=None, carrier=None)  # a wheel and a body that are never reached

SPINNING: Any = SimpleNamespace(name="w", body=SimpleNamespace(u1=1.0))


def powertrain(**given: Any) -> None:
    """Add a powertrain of wheels that are never reached."""
    numbers: dict[str, Any] = {"ratios": [3.0, 2.0], "final": 3.3} | given
    s = arm.System("s")
    absent: Any = None
    veh.add_powertrain(
        s, "engine", absent, absent, absent, engine=electric_motor(200.0, 1e5), pedal=1.0, gear=1.0, **numbers
    )


CURVE = veh.Curve(9e4, 0.11, 3.3e3, 0.4, 3.2e3)
TWICE = veh.Curve(16e4, 0.12, 6.5e3, 0.5, 6.2e3)
# Tyres whose numbers are right but for those that are given.
SIMPLE: dict[str, Callable[..., veh.Tyre]] = {
    "linear": lambda **given: veh.LinearTyre(**{"cornering_stiffness": 6e4} | given),
    "brush": lambda **given: veh.BrushTyre(**{"slip_stiffness": 20.0, "friction": 1.0} | given),
    "Fiala": lambda **given: veh.FialaTyre(**{"slip_stiffness": 1e5, "cornering_stiffness": 7e4} | given),
    "TMeasy": lambda **given: veh.TMeasyTyre(
        **{"along": (CURVE, TWICE), "across": (CURVE, TWICE), "nominal_load": 4e3} | given
    ),
    "table": lambda **given: veh.TableTyre(
        **{"along": None, "across": None, "peak_kappa": 0.1, "peak_alpha": 0.15} | given
    ),
}


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "manoeuvre": (lambda: run_manoeuvre("slalom", None), "'slalom'; there are " + ", ".join(MANOEUVRES)),  # type: ignore[arg-type]
    "length": (lambda: Obstacle(5.0, 0.0, 0.02), "at x = 5 m needs a length above zero"),
    "ramp": (lambda: Obstacle(5.0, 0.1, 0.02, ramp=-0.1), "no negative ramp"),
    "side": (lambda: Obstacle(5.0, 0.1, 0.02, side="middle"), "side='middle' is not known; use 'both'"),
    "no obstacle": (lambda: obstacle_road([], tyre(), 4e3), "at least one Obstacle"),
    "no cams": (lambda: ObstacleRoad(0.0, 1.0, (Obstacle(5, 1, 0.1),))._tables, "needs the cams of a tyre"),
    **{
        f"cam {name}": (lambda name=name: TandemCams(**CAMS | {name: 0.0}), "all numbers must be positive")  # type: ignore[misc]
        for name in CAMS
    },
    "right": (lambda: split_road(0.0, 1.0), "both frictions and the width must be positive"),
    "left": (lambda: split_road(1.0, 0.0), "both frictions and the width must be positive"),
    "width": (lambda: split_road(1.0, 1.0, width=0.0), "both frictions and the width must be positive"),
    **{
        f"{name} {value}": (
            lambda name=name, value=value: PathDriver(PATH, **{name: value}),
            "positive, finite preview, lag and limit",
        )  # type: ignore[misc]
        for name, value in (("preview", 0.0), ("preview", math.nan), ("lag", 0.0), ("limit", -1.0))
    },
    "intervals": (lambda: SharpDriver(PATH, 20.0, preview=1.04), "preview=1.04 s is no multiple"),
    "motor": (lambda: electric_motor(math.nan, 1e5), "must be positive and finite"),
    **{
        f"{name}={value} of a tyre": (
            lambda name=name, value=value: veh.LinearTyre(6e4, **{name: value}),
            f"LinearTyre: {name}={value} must be ",
        )  # type: ignore[misc]
        for name, value in (
            ("radius", 0.0),
            ("vertical_stiffness", -1.0),
            ("relaxation_kappa", 0),
            ("relaxation_alpha", -1.0),
            ("relaxation_alpha", math.nan),
            ("vertical_damping", -1.0),
            ("rolling_resistance", math.inf),
        )
    },
    **{
        f"{name}={value} of {kind}": (
            lambda kind=kind, name=name, value=value: SIMPLE[kind](**{name: value}),
            f"{name}={value!r} must be ",
        )  # type: ignore[misc]
        for kind, name, value in (
            ("linear", "cornering_stiffness", "stiff"),
            ("linear", "cornering_stiffness", -6e4),
            ("linear", "nominal_load", 0.0),
            ("linear", "trail", math.nan),
            ("brush", "friction", 0),
            ("brush", "slip_stiffness", -1e5),
            ("brush", "nominal_load", 0),
            ("brush", "half_length", -0.06),
            ("Fiala", "friction", 0.0),
            ("Fiala", "sliding_friction", -0.8),
            ("Fiala", "slip_stiffness", 0),
            ("Fiala", "cornering_stiffness", 0),
            ("TMeasy", "nominal_load", 0.0),
            ("TMeasy", "length", -0.1),
            ("table", "peak_kappa", 0.0),
            ("table", "peak_alpha", math.inf),
        )
    },
    **{
        f"rearward amplification with {given}": (
            lambda given=given: veh.rearward_amplification(train(), speed=20.0, **given),
            f"rearward_amplification: {next(iter(given))}={next(iter(given.values()))!r} must be ",
        )  # type: ignore[misc]
        for given in ({"frequency": 0}, {"steer": 0.0}, {"settle": -5.0}, {"frequency": math.nan})
    },
    **{
        f"brake with {given}": (
            lambda given=given: veh.add_brake(arm.System("s"), HUB, 1e3, **{"heat_capacity": 4e4} | given),
            f"brake of 'w': {next(iter(given))}={next(iter(given.values()))!r} must be ",
        )  # type: ignore[misc]
        for given in ({"heat_capacity": 0.0}, {"cooling": -1.0}, {"ambient": -3.0}, {"fade": 0.5})
    },
    **{
        f"air with {given}": (
            lambda given=given: veh.add_air(arm.System("s"), "air", HUB, HUB, **{"drag": 0.6} | given),
            f"air 'air': {next(iter(given))}={next(iter(given.values()))!r} must be ",
        )  # type: ignore[misc]
        for given in ({"drag": -0.6}, {"density": 0.0}, {"lift": math.nan})
    },
    **{
        f"rack with {given}": (
            lambda given=given: veh.add_rack(arm.System("s"), "rack", HUB, angle=0.0, **given),
            f"rack 'rack': {next(iter(given))}={next(iter(given.values()))!r} must be ",
        )  # type: ignore[misc]
        for given in ({"column_stiffness": -1.0}, {"column_damping": -1.0}, {"mass": 0}, {"pinion": "left"})
    },
    **{
        f"gears with {given}": (
            lambda given=given: veh.GearShift(**given).check("engine", [3.0, 2.0]),
            "a gear shift needs 0 < down < up, a pause, and an existing first gear",
        )  # type: ignore[misc]
        for given in ({"down": 0.0}, {"up": 180.0}, {"pause": 0.0}, {"first": 0}, {"first": 3})
    },
    "fading without a temperature": (
        lambda: veh.add_brake(arm.System("s"), SPINNING, 1e3, fade=lambda heat: heat),
        "fade= needs the temperature; give heat_capacity=",
    ),
    "rack of a trailing arm": (
        lambda: trailing_arm(arm.System("s"), "rear", HUB, {}, rack=HUB),
        "suspension 'rear': a trailing arm has no tie rod, so a rack cannot steer it",
    ),
    "shear centre beside the car": (
        lambda: twist_beam(arm.System("s"), "rear", HUB, {"beam": (0.0, 0.1, 0.3)}),
        "twist beam 'rear': the point 'beam' lies in the middle of the car, so its y must be 0",
    ),
    "no samples to weigh": (lambda: veh.weigh([], 0.01), "weigh: number of samples=0 must be "),  # type: ignore[arg-type]
    "no step to weigh": (lambda: veh.weigh([1.0], 0.0), "weigh: step=0.0 must be a positive"),  # type: ignore[arg-type]
    "offsets of TMeasy": (
        lambda: SIMPLE["TMeasy"](offset_zero=0.4),
        "offset_zero (0.4) must be below offset_end",
    ),
    "curve without a maximum": (
        lambda: veh.Curve(9e4, 0.1, 0.0, 0.2, 3e3),
        "must be positive and finite, in N",
    ),
    "slip that vanishes without load": (
        lambda: SIMPLE["TMeasy"](across=(CURVE, veh.Curve(16e4, 0.24, 6e3, 0.9, 6e3))),
        "TMeasy, across: slip_max at twice the nominal load, 0.24, must be below 2 times",
    ),
    "force that vanishes without load": (
        lambda: SIMPLE["TMeasy"](along=(CURVE, veh.Curve(16e4, 0.2, 14e3, 0.9, 13e3))),
        "TMeasy, along: force_max at twice the nominal load, 14000, must be below 4 times",
    ),
    **{
        f"random steer with seed {seed}": (
            lambda seed=seed: veh.random_steer(small_car(), steer=0.01, speed=20.0, seed=seed),
            f"random_steer: seed={seed!r} must be a whole number",
        )  # type: ignore[misc]
        for seed in (-1, 0.5, "a")
    },
    **{
        f"powertrain with {given}": (lambda given=given: powertrain(**given), sentence)  # type: ignore[misc]
        for given, sentence in (
            ({"ratios": []}, "ratios of zero transmit nothing"),
            ({"ratios": [3.0, 0.0]}, "ratios of zero transmit nothing"),
            ({"ratios": 3.0}, "must be a list of numbers"),
            ({"ratios": [3.0, "x"]}, "must be a list of numbers"),
            ({"ratios": [math.nan]}, "must be a list of numbers"),
            ({"final": 0.0}, "final=0.0"),
            ({"inertia": math.nan}, "inertia=nan of the engine must be positive"),
            ({"clutch": 0.0}, "clutch=0.0 must be a positive capacity"),
            ({"clutch": -5.0}, "for a clutch that opens give an expression"),
            ({"torsion": (0.0, 1.0)}, "must be a positive stiffness"),
            ({"torsion": (1.0,)}, "must be a positive stiffness"),
        )
    },
    **{
        f"{name} at {speed} m/s": (
            lambda call=call, speed=speed: call(speed),
            f"speed={speed!r} must be a positive, finite number of m/s",
        )  # type: ignore[misc]
        for name, call in {
            "handling": lambda v: veh.handling_figures(small_car(), v),
            "circle": lambda v: veh.steady_circle(small_car(), speed=v, steer=[0.01]),
            "diagram": lambda v: veh.handling_diagram(small_car(), speed=v, steer=[0.01, 0.02]),
            "lane change": lambda v: veh.lane_change(steered_car(), veh.double_lane_change_track(), speed=v),
            "step": lambda v: veh.step_steer(small_car(), steer=0.01, speed=v),
        }.items()
        for speed in (0.0, -3, math.nan, "20 m/s")
    },
    **{
        f"{name} with {given}": (
            lambda name=name, given=given: getattr(veh, name)(
                small_car(), **{"steer": 0.01, "speed": 20.0} | given
            ),
            f"{name}: {next(iter(given))}={next(iter(given.values()))!r} must be a ",
        )  # type: ignore[misc]
        for name, given in (
            *(
                (name, {"steer": steer})
                for name in (
                    "sine_steer",
                    "pulse_steer",
                    "random_steer",
                    "sine_with_dwell",
                    "j_turn",
                    "fishhook",
                )
                for steer in (0.0, math.nan, "1 deg")
            ),
            ("sine_steer", {"frequency": 0}),
            ("pulse_steer", {"width": -0.1}),
            ("pulse_steer", {"highest": math.nan}),
            ("pulse_steer", {"highest": 0}),
            ("random_steer", {"duration": 0}),
            ("random_steer", {"duration": math.nan}),
            ("random_steer", {"highest": -1.0}),
            ("sine_with_dwell", {"frequency": 0}),
            ("j_turn", {"rate": 0}),
            ("fishhook", {"rate": math.inf}),
        )
    },
    "pulse that does not end": (
        lambda: veh.pulse_steer(small_car(), steer=0.01, speed=20.0, duration=0.8),
        "duration=0.8 s must exceed the pulse, 0.9 s",
    ),
    **{
        f"circles of {given}": (
            lambda given=given: veh.steady_circle(small_car(), speed=20.0, **given),
            "lists of finite numbers, one for each circle",
        )  # type: ignore[misc]
        for given in ({"radius": []}, {"steer": []}, {"steer": [math.nan]}, {"radius": ["50 m"]})
    },
    "radius": (lambda: veh.steady_circle(small_car(), speed=20.0, radius=[50.0, 0.0]), "0 m is no circle"),
    **{
        f"fastest {low} {high} {within}": (
            lambda low=low, high=high, within=within: veh.fastest(
                lambda v: pytest.fail("driven"), low, high, within=within
            ),
            "0 < low < high and within > 0 are needed",
        )  # type: ignore[misc]
        for low, high, within in ((20.0, 10.0, 0.1), (10.0, 20.0, 0.0), (0.0, 20.0, 0.1))
    },
    "preload": (lambda: Differential("limited", preload=-5.0), "preload=-5 and ramp=0.3 are friction"),
    "lock ramp": (lambda: Differential("limited", ramp=math.nan), "finite numbers from 0 on"),
    **{
        f"weight of {value}": (
            lambda value=value: SharpDriver(PATH, 20.0, weight_angle=value),
            "weight_angle",
        )  # type: ignore[misc]
        for value in (-0.1, math.nan)
    },
    **{
        f"tracks {value} m apart": (lambda value=value: road_profiles("A", [0.0], track=value), "above zero")  # type: ignore[misc]
        for value in (0, -1.5, math.nan, math.inf)
    },
    "waves of any length": (lambda: road_profiles("A", [0.0], highest=math.inf), "rise and be finite"),
    "no waves": (lambda: road_profiles("A", [0.0], waves=0), "a whole number of waves from 1, not 0"),
    **{
        f"{value} points": (lambda value=value: PathDriver(PATH, points=value), "number of points from 1")  # type: ignore[misc]
        for value in (0, 1.5)
    },
    "version": (lambda: MagicFormula({}, version="4.0"), "version '4.0' of the Magic Formula is not known"),
    "convention": (lambda: MagicFormula({}, convention="iso"), "convention 'iso' is not known; use 'tno'"),
    "version of a file": (lambda: veh.read_tir(FILE, version="4.0"), "version='4.0' is not known"),
    "version of a read file": (
        lambda: veh.read_tyre(veh.read_tir(FILE), version="4.0"),
        "version='4.0' is not known",
    ),
    "side of a tyre": (lambda: veh.read_tyre(FILE, side="top"), "side='top' is not known; use 'left'"),
    "channel": (lambda: carpet(tyre(), [1e3, 2e3], [0.0, 0.1], channel="fz"), "use fx, fy or mz"),
    "slip": (lambda: carpet(tyre(), [1e3, 2e3], [0.0, 0.1], slip="beta"), "and alpha or kappa"),
    "one load": (lambda: carpet(tyre(), [1e3], [0.0, 0.1]), "two loads and two slips at least"),
    "one slip": (lambda: carpet(tyre(), [1e3, 2e3], [0.1]), "two loads and two slips at least"),
    "load that is not finite": (lambda: carpet(tyre(), [1e3, math.nan], [0.0, 0.1]), "both rising"),
    "loads as one number": (lambda: carpet(tyre(), 4e3, [0.0, 0.1]), "two loads and two slips at least"),  # type: ignore[arg-type]
    "equal loads": (lambda: carpet(tyre(), [1e3, 1e3], [0.0, 0.1]), "both rising"),
    "equal slips": (lambda: carpet(tyre(), [1e3, 2e3], [0.1, 0.1]), "both rising"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_arguments_without_a_meaning_are_refused(what: str) -> None:
    made, words = REFUSED[what]
    with pytest.raises(arm.ArmillaryError) as refused:
        made()
    assert words in str(refused.value)


def test_the_smallest_arguments_with_a_meaning_are_taken() -> None:
    first, second = Obstacle(5.0, 1e-3, -0.02, side="left"), Obstacle(5.001, 0.1, 0.02, ramp=0.0, side="left")
    assert (first.begin, first.end, second.begin) == (5.0, 5.001, 5.001)
    assert len(obstacle_road([first, second], tyre(), 4e3).obstacles) == 2  # one begins where the other ends
    assert obstacle_road([first, Obstacle(5.0, 1.0, 0.1, side="right")], tyre(), 4e3).obstacles
    with pytest.raises(arm.ModelError, match=r"obstacles at x = 5 and 5\.0005 m overlap"):
        obstacle_road([first, Obstacle(5.0005, 1.0, 0.1)], tyre(), 4e3)
    assert PathDriver(PATH, points=1).points == 1
    assert split_road(0.1, 0.2, width=1e-3).width == 1e-3
    even = SplitRoad(0.0, 1.0)
    assert (even.right, even.left) == (1.0, 1.0)  # frictions of a road of one kind
    found = carpet(tyre(), [1e3, 2e3], [0.0, 0.1])
    assert found is not None
