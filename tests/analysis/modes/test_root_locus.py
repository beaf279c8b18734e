"""Modes followed over a parameter: published and closed-form values at which they become unstable."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from tests.analysis.modes.systems import bicycle, single_track, ziegler

WEAVE, CAPSIZE = 4.292382536341, 6.024262015388  # m/s: Meijaard et al. (2007), section 4


@pytest.fixture(scope="module")
def locus() -> arm.RootLocus:
    return arm.root_locus(bicycle(), "heading.u1", np.linspace(0.0, 10.0, 21))


def test_the_bicycle_is_stable_between_its_published_speeds(locus: arm.RootLocus) -> None:
    weave, capsize = locus.crossings
    assert weave.value == pytest.approx(WEAVE, abs=2e-12) and weave.stabilises
    assert weave.eigenvalue.imag == pytest.approx(3.435033848661, abs=1e-11)
    assert capsize.value == pytest.approx(CAPSIZE, abs=2e-12) and not capsize.stabilises
    assert capsize.eigenvalue == 0
    (stable,) = locus.stable_ranges
    assert stable == (weave.value, capsize.value)


def test_few_values_give_the_same_speeds(locus: arm.RootLocus) -> None:
    """The stable range is between two values; one branch for each pair; trimmed as well."""
    coarse = arm.root_locus(bicycle(), "heading.u1", [3.0, 4.0, 7.0], trim={})
    assert len(coarse) == 3
    assert [c.value for c in coarse.crossings] == pytest.approx([WEAVE, CAPSIZE], abs=1e-11)
    assert coarse.stable_ranges == (tuple(c.value for c in coarse.crossings),)


def test_branches_follow_shapes_where_frequencies_cross() -> None:
    """Two oscillators without coupling: ω = √p and ω = 3; sorted by size they would be exchanged at p = 9."""
    s = arm.System("two oscillators")
    s.parameter("p", 1.0)
    for name, spring in (("a", "-p*a.q1 - 0.01*a.u1"), ("b", "-9*b.q1 - 0.2*b.u1")):
        body = s.body(name, joint=arm.Prismatic("x"), mass=1.0, inertia=0)
        s.force(f"spring_{name}", spring, s.ground.x, at=body.com)
    values = np.linspace(4.0, 16.0, 6)
    found = arm.root_locus(s.derive().compile(), "p", values)
    assert found.labels == ("100 % a.q1", "100 % b.q1")
    assert np.allclose(found[0], -0.005 + 1j * np.sqrt(values - 0.005**2), rtol=1e-13)
    assert np.allclose(found[1], -0.1 + 1j * sqrt(9 - 0.1**2), rtol=1e-13)
    assert not found.crossings and found.stable_ranges == ((4.0, 16.0),)


def test_the_single_track_car_has_its_textbook_modes() -> None:
    """Mitschke & Wallentowitz (2004), chapter 17: yaw and sideslip, and divergence at the critical speed

    v² = C_f C_r (a + b)² / (m (a C_f − b C_r))
    """
    model = single_track()
    m, J, a, b, Cf, Cr, V = 1200.0, 1500.0, 1.3, 1.2, 80e3, 60e3, 20.0
    textbook = np.array([
        [-(Cf + Cr) / (m * V), -(a * Cf - b * Cr) / (m * V) - V],
        [-(a * Cf - b * Cr) / (J * V), -(a * a * Cf + b * b * Cr) / (J * V)],
    ])  # fmt: skip
    modes = model.linearize().modes()
    found = [mode.eigenvalue for mode in modes if not mode.chain]
    assert np.allclose(np.sort(found), np.sort(np.linalg.eigvals(textbook)), rtol=1e-13)
    critical = sqrt(Cf * Cr * (a + b) ** 2 / (m * (a * Cf - b * Cr)))
    (crossing,) = arm.root_locus(model, "V", np.linspace(10.0, 50.0, 9)).crossings
    assert crossing.value == pytest.approx(critical, rel=1e-12) and crossing.eigenvalue == 0
    steered = arm.root_locus(model, "V", [10.0, 20.0], parameters={"Cr": 80e3})  # understeers
    assert not steered.crossings and steered.stable_ranges == ((10.0, 20.0),)


def test_a_follower_force_makes_an_undamped_column_flutter() -> None:
    """Ziegler (1952): P = (7/2 − √2) k/l for masses 2 and 1; two frequencies meet there."""
    locus = arm.root_locus(ziegler(), "P", np.linspace(1.0, 3.0, 9))
    (onset,) = locus.crossings
    assert onset.branch == 0 and locus[0][-1].real > 0  # the slower mode grows: a rule, of two alike
    assert onset.value == pytest.approx(3.5 - sqrt(2), rel=1e-11)
    assert onset.eigenvalue.imag > 0 and not onset.stabilises
    # With equal damping at both hinges, however small, the load is that of Routh's criterion; to 1e-6 of c².
    (damped,) = arm.root_locus(ziegler(), "P", np.linspace(1.0, 3.0, 9), parameters={"c": 1e-3}).crossings
    assert damped.value == pytest.approx(41 / 28, abs=2e-6)


def test_operating_points_may_be_functions_of_the_value() -> None:
    given = arm.root_locus(bicycle(), "v", [4.0, 5.0], at=lambda v: {"heading.u1": v})
    assert given.crossings[0].value == pytest.approx(WEAVE, abs=1e-11)
    assert given.units == "" and given.parameter == "v"


def test_root_loci_are_kept_in_files_and_shown(locus: arm.RootLocus, tmp_path: Path) -> None:
    named = locus.named({3: "castering"})
    named.save(tmp_path / "locus.json")
    again = arm.RootLocus.load(tmp_path / "locus.json")
    assert str(again) == str(named) and "4.292382536  becomes stable" in str(named)
    assert np.array_equal(again["castering"], locus[3]) and again.crossings == locus.crossings
    assert np.array_equal(np.array(list(locus)).T, locus.eigenvalues)
    assert "<table>" in named._repr_html_()
    _, parts = named.plot(path=tmp_path / "locus.svg").axes
    assert parts.get_xlabel() == "heading.u1 (m/s)"
    assert [text.get_text() for text in parts.texts] == [" 4.292", " 6.024"]


def test_what_stands_still_in_the_middle_of_a_range_does_not_grow() -> None:
    """u̇ = −(p − 1.5)² u: all eigenvalues are zero to the last bit in the middle of the values."""
    s = arm.System("slider")
    p = s.parameter("p", 1.0)
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.force("rub", -((p - 1.5) ** 2) * body.u1, s.ground.x, at=body.com)
    found = arm.root_locus(s.derive().compile(tier="quick"), "p", [1.0, 2.0])
    assert not found.crossings and found.stable_ranges == ((1.0, 2.0),)


def test_wrong_sweeps_are_explained() -> None:
    model = ziegler()
    with pytest.raises(arm.ParameterError, match=r"has no parameter, .* 'Q'.*at= a function of the value"):
        arm.root_locus(model, "Q", [1, 2])
    with pytest.raises(arm.ArmillaryError, match=r"name of a parameter, input, .* is needed, not 3"):
        arm.root_locus(model, 3, [1, 2], at=lambda value: {})  # type: ignore[arg-type]
    with pytest.raises(arm.ArmillaryError, match="at least two different finite values"):
        arm.root_locus(model, "P", [1.0, 1.0])
    with pytest.raises(arm.ArmillaryError, match="by at= or by trim=, not by both"):
        arm.root_locus(model, "P", [1, 2], at={}, trim={})
    with pytest.raises(arm.ArmillaryError, match="needs a compiled model"):
        arm.root_locus("car", "P", [1, 2])
    with pytest.raises(arm.ArmillaryError, match=r"no branch .* is called 'weave'"):
        arm.root_locus(model, "P", [1, 2])["weave"]
    s = arm.System("free")
    s.body("A", joint=arm.Prismatic("x"), mass="m", inertia=0)
    with pytest.raises(arm.ArmillaryError, match="all eigenvalues are zero at all values"):
        arm.root_locus(s.derive().compile(tier="quick"), "m", [1, 2])


def test_a_file_of_lists_in_lists_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(arm.ArmillaryError, match="nor any other JSON file"):
        arm.RootLocus.load(tmp_path / "deep.json")
