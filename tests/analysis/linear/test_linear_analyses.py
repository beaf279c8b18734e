"""Poles, zeros, responses, norms and smaller models against closed forms, SciPy and python-control."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.analysis.linear.conversions import TransferFunction
from armillary.analysis.linear.structure import balanced_truncation, reach, transmission_zeros
from armillary.errors import ArmillaryError, MissingExtraError

M, K, C = 2.0, 50.0, 3.0


@cache
def oscillator() -> Any:
    """m ẍ + c ẋ + k x = F, with a cyclic coordinate beside it that nothing moves."""
    s = arm.System("oscillator")
    a = s.body("a", joint=arm.Prismatic("x"), mass=M, inertia=0)
    s.body("free", joint=arm.Prismatic("y"), mass=1, inertia=0)
    F = s.input("F", units="N")
    s.force("spring", F - K * a.q1 - C * a.u1, s.ground.x, at=a.com)
    s.output("x", a.q1, units="mm")
    s.output("acceleration", arm.dot(arm.acceleration(a.com), s.ground.x), units="m/s^2")
    return s.derive().compile().linearize(inputs=["F"], outputs=["x", "acceleration"])


def position() -> Any:
    return oscillator().keep(["a.q1", "a.u1"])


@cache
def quarter_car() -> Any:
    s = arm.System("quarter car")
    road = s.input("road", units="m")
    s.parameter("k", 20000.0, units="N/m")
    wheel = s.body("wheel", joint=arm.Prismatic("z"), mass=36, inertia=0)
    body = s.body("body", wheel, arm.Prismatic("z"), mass=240, inertia=0)
    s.force("strut", "-k*body.q1 - 1500*body.u1", wheel.z, at=body.com, reaction=wheel.com)
    s.force("tyre", 190000 * (road - wheel.q1), s.ground.z, at=wheel.com)
    s.output("travel", body.q1, units="m")
    s.output("height", body.q1 + wheel.q1, units="m")
    model = s.derive().compile()
    return model, model.linearize(inputs=["road"], outputs=["travel", "height"])


def test_poles_and_transfer_function_of_an_oscillator() -> None:
    lin = position()
    root = np.sqrt(complex((C / 2 / M) ** 2 - K / M))
    assert sorted(lin.poles(), key=lambda p: p.imag) == pytest.approx([-C / 2 / M - root, -C / 2 / M + root])
    tf = oscillator().transfer_function("x", "F")  # without the two poles at 0 of what nothing moves
    np.testing.assert_allclose(tf.denominator, [1, C / M, K / M], rtol=1e-12)
    np.testing.assert_allclose(tf.numerator, [1000 / M], rtol=1e-12)
    assert repr(tf) == "x by F:       500\n        ----------------\n        s^2 + 1.5 s + 25"
    direct = oscillator().transfer_function("acceleration")
    np.testing.assert_allclose(direct.numerator, [1 / M, 0, 0], atol=1e-12)  # s²/(m s² + c s + k)
    w = np.array([0.3, 2.0, 40.0])
    np.testing.assert_allclose(direct(1j * w), -(w**2) / (K - M * w**2 + 1j * C * w), rtol=1e-11)


@pytest.mark.parametrize(
    ("zeros", "poles", "gain", "step", "above", "below"),
    [
        ([], [-2.0], 1.0, None, "1", "s + 2"),
        ([], [2.0], -1.0, None, "-1", "s - 2"),
        ([1.0], [-1.0, -3.0], -1.0, None, "-s + 1", "s^2 + 4 s + 3"),
        ([0.0], [0.5], 2.5, 0.1, "2.5 z", "z - 0.5"),
        ([], [1j, -1j], 0.0, None, "0", "s^2 + 1"),
        ([0.0, 0.0], [], 1.0, None, "s^2", "1"),
        ([-1.0], [-1e-3, -1e3], 1.0, None, "s + 1", "s^2 + 1000 s + 1"),
        ([-1.0], [-1e-14, -1.0], 1.0, None, "s + 1", "s^2 + s"),
    ],
)
def test_transfer_functions_are_written_as_fractions_of_polynomials(
    zeros: list[float], poles: list[complex], gain: float, step: float | None, above: str, below: str
) -> None:
    """Coefficients of 1 are not written, nor terms that are below rounding."""
    text = repr(TransferFunction("u", "y", np.array(zeros), np.array(poles), gain, step))
    top, line, bottom = text.splitlines()
    assert top.startswith("y by u: ") and top.removeprefix("y by u: ").strip() == above
    assert bottom.strip() == below and line.strip() == "-" * max(len(above), len(below))


def test_a_report_lists_poles_once_per_pair_with_frequency_and_damping() -> None:
    """√(k/m)/2π = 0.7958 Hz and c/(2 √(k m)) = 0.15, of a discrete model as well; a pole at 0 has neither."""
    decay, turn = C / 2 / M, np.sqrt(K / M - (C / 2 / M) ** 2)
    pair = [f"{-decay:.5g}", f"±{turn:.5g}", "0.7958", "0.15"]
    for lin in (position(), position().discretize(0.1)):
        rows = lin.report().split("poles\n")[1].splitlines()
        assert [row.split() for row in rows[1:]] == [pair]
    rows = oscillator().report().split("poles\n")[1].splitlines()
    assert [row.split() for row in rows[1:]] == [["0"], ["0"], pair]


def test_frequency_response_is_the_closed_form_at_all_points_at_once() -> None:
    w = np.geomspace(0.1, 100, 7)
    r = position().frequency_response(w)
    np.testing.assert_allclose(r["x", "F"], 1000 / (K - M * w**2 + 1j * C * w), rtol=1e-13)
    np.testing.assert_allclose(r.phase[-1, 0, 0], -np.degrees(np.arctan2(C * 100, K - M * 1e4)), rtol=1e-12)
    np.testing.assert_allclose(r.decibels[:, 0, 0], 20 * np.log10(np.abs(r["x", "F"])), rtol=1e-15)
    model, _ = quarter_car()
    many = model.linearize(inputs=["road"], outputs=["travel"], parameters={"k": [1e4, 2e4]})
    whole = many.frequency_response(w)
    assert whole.values.shape == (2, 7, 1, 1)
    np.testing.assert_allclose(whole.values[1], many[1].frequency_response(w).values, rtol=1e-13)
    assert many[1].parameters["k"] == 2e4


def test_default_frequencies_cover_the_poles() -> None:
    _, lin = quarter_car()
    w = lin.frequency_response().omega
    sizes = np.abs(lin.poles())
    assert w[0] == pytest.approx(0.1 * sizes.min()) and w[-1] == pytest.approx(10 * sizes.max())


def test_default_frequencies_of_discrete_models_end_where_sampling_does() -> None:
    """At half of the sampling frequency, π/h, and at ten times the fastest pole where that is less."""
    _, lin = quarter_car()
    fastest = np.abs(lin.poles()).max()
    for step, top in ((1 / fastest, np.pi * fastest), (0.1 / fastest, 10 * fastest)):
        assert lin.discretize(step).frequency_response().omega[-1] == pytest.approx(top)


def test_responses_last_until_the_slowest_mode_has_decayed_to_a_thousandth() -> None:
    """exp(−7) = 0.0009. Poles of the oscillator: −c/2m ± iω; without its damper no mode decays: 10 s."""
    for lin, rate in ((position(), C / 2 / M), (position().discretize(0.01), C / 2 / M)):
        assert lin.step_response().time[-1] == pytest.approx(7 / rate, abs=0.01)
    _, car = quarter_car()
    assert car.step_response().time[-1] == pytest.approx(7 / np.abs(car.poles().real).min())
    lin = position()
    undamped = arm.LinearModel(
        lin.system, lin.A * [[1, 1], [1, 0]], lin.B, lin.C, lin.D, lin.variables, step=lin.step
    )
    assert undamped.step_response().time[-1] == 10.0


def test_an_impulse_of_a_discrete_model_lasts_one_step() -> None:
    """y₀ = D, yₖ = C Aᵏ⁻¹ B, as of SciPy's dimpulse."""
    from scipy.signal import dimpulse

    lin = position().discretize(0.05)
    found = lin.impulse_response(1.0)
    t, (exact,) = dimpulse((lin.A, lin.B, lin.C, lin.D, 0.05), n=21)
    np.testing.assert_allclose(found.time, t, rtol=1e-12)
    for i, name in enumerate(lin.outputs):
        np.testing.assert_allclose(found[name], exact[:, i], rtol=1e-12, atol=1e-12)
    assert found["acceleration"][0] == 1 / M


def test_two_times_are_equal_steps() -> None:
    lin = position()
    found = lin.step_response([0.0, 0.4])
    assert found.time.tolist() == [0.0, 0.4]
    assert found["x"][-1] == pytest.approx(lin.step_response(0.4)["x"][-1], rel=1e-12)


def test_step_and_impulse_responses_are_the_closed_form() -> None:
    lin, a = position(), C / 2 / M
    w = np.sqrt(K / M - a**2)
    step = lin.step_response(5.0)
    t = step.time
    exact = 1000 / K * (1 - np.exp(-a * t) * (np.cos(w * t) + a / w * np.sin(w * t)))
    np.testing.assert_allclose(step["x"], exact, atol=1e-10)
    assert step.units["x"] == "mm" and step["acceleration"][0] == 1 / M  # D acts at once
    impulse = lin.impulse_response(np.linspace(0, 5, 200))
    t = impulse.time
    np.testing.assert_allclose(impulse["x"], 1000 / M / w * np.exp(-a * t) * np.sin(w * t), atol=1e-10)


def test_a_nonlinear_run_follows_the_linear_model_after_a_small_step() -> None:
    model, lin = quarter_car()
    run = model.simulate(1.0, sample=1e-3, memory={"road": 1e-3}, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(run["height"], 1e-3 * lin.step_response(1.0)["height"], atol=1e-12)


def test_h2_norm_is_the_closed_form() -> None:
    """∫ g² dt = 1/(2 c k) of 1/(m s² + c s + k)."""
    lin = oscillator()
    (only,) = [i for i, name in enumerate(lin.outputs) if name == "x"]
    x = arm.LinearModel(
        lin.system, lin.A, lin.B, lin.C[[only]], lin.D[[only]], (*lin.variables[:2], lin.variables[2][:1])
    )
    assert x.h2_norm() == pytest.approx(1000 / np.sqrt(2 * C * K), rel=1e-12)
    with pytest.raises(ArmillaryError, match="infinite: 'F' acts on 'acceleration' directly"):
        lin.h2_norm()


def test_modes_that_no_input_moves_are_named() -> None:
    lin = oscillator()
    found = lin.controllability()
    assert not found and found.rank == 2
    assert {name for m in found.missing for name in m.states} <= {"free.q1", "free.u1"}
    assert [m.eigenvalue for m in found.missing] == [0, 0]
    assert "not controllable  free.q1" in repr(found)
    assert position().controllability() and position().observability()
    assert position().controllability().gramian == pytest.approx(np.diag([1 / (2 * C * K), 1 / (2 * C * M)]))


def test_zeros_are_those_of_the_transfer_function() -> None:
    """From road to body height a quarter car has one zero, −k/c; from road to travel two at 0."""
    _, lin = quarter_car()
    height = lin.transfer_function("height", "road")
    np.testing.assert_allclose(height.zeros, [-20000 / 1500], rtol=1e-9)
    travel = lin.transfer_function("travel", "road")
    assert np.abs(travel.zeros) == pytest.approx([0, 0], abs=1e-4)  # √(rounding) of a double zero
    assert len(travel.poles) == 4


@cache
def light_chain() -> Any:
    """Masses of 1, 1, 1 and 2 kg in a row on springs of 1e4 N/m with light dampers of 0.01 N s/m."""
    s = arm.System("light chain")
    masses = [s.body(f"m{i}", joint=arm.Prismatic("x"), mass=1 + i // 4, inertia=0) for i in range(1, 5)]
    s.force("s1", "-1e4*m1.q1 - 0.01*m1.u1", s.ground.x, at=masses[0].com)
    for i, (a, b) in enumerate(pairwise(masses), 2):
        law = f"-1e4*(m{i}.q1 - m{i - 1}.q1) - 0.01*(m{i}.u1 - m{i - 1}.u1)"
        s.force(f"s{i}", law, s.ground.x, at=b.com, reaction=a.com)
    s.force("push", s.input("F", units="N"), s.ground.x, at=masses[0].com)
    for i in (3, 4):
        s.output(f"x{i}", f"m{i}.q1", units="m")
    return s.derive().compile().linearize(inputs=["F"], outputs=["x3", "x4"])


@pytest.mark.parametrize("last", [3, 4])
def test_zeros_far_beyond_the_poles_are_found_with_their_gain(last: int) -> None:
    """The force passes each spring as k + c s, so x_n has n − 1 zeros at −k/c, 1e4 times the poles; x_n by F
    at rest is 1/k. Zeros of multiplicity r are known to ε^(1/r).
    """
    tf = light_chain().transfer_function(f"x{last}", "F")
    far = tf.zeros[np.abs(tf.zeros) > 1e5]
    assert len(far) == last - 1 and len(tf.zeros) == last - 1 + 2 * (4 - last)
    np.testing.assert_allclose(far, -1e6, rtol=3 * np.finfo(float).eps ** (1 / len(far)))
    assert tf(0.0) == pytest.approx(1e-4, rel=1e-12)
    assert tf.gain == pytest.approx(0.01 ** (last - 1) / (1 + last // 4), rel=1e-9)
    w = np.geomspace(1, 300, 20)
    np.testing.assert_allclose(tf(1j * w), light_chain().frequency_response(w)[f"x{last}", "F"], rtol=1e-9)


def _exact_value(A: np.ndarray, B: np.ndarray, C: np.ndarray, w: float) -> complex:
    """C (iω − A)⁻¹ B in rational arithmetic, with real and imaginary parts as separate unknowns."""
    n = len(A)
    real = np.block([[-A, -w * np.eye(n)], [w * np.eye(n), -A]])
    M = [[Fraction(x) for x in [*row, right]] for row, right in zip(real, [*B, *np.zeros(n)], strict=True)]
    for k in range(2 * n):
        p = next(i for i in range(k, 2 * n) if M[i][k])
        M[k], M[p] = M[p], M[k]
        M[k] = [x / M[k][k] for x in M[k]]
        for i in range(2 * n):
            if i != k and M[i][k]:
                M[i] = [a - M[i][k] * b for a, b in zip(M[i], M[k], strict=True)]
    x = [row[-1] for row in M]
    parts = [sum(Fraction(c) * v for c, v in zip(C, part, strict=True)) for part in (x[:n], x[n:])]
    return complex(*map(float, parts))


@pytest.mark.parametrize("seed", range(8))
def test_transfer_functions_of_lightly_damped_chains_have_their_exact_values(seed: int) -> None:
    """Masses in a row, free or held, in absolute or relative coordinates, against rational arithmetic."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    K, R = np.zeros((n, n)), np.zeros((n, n))
    for i in range(1, n):
        e = np.eye(n)[i] - np.eye(n)[i - 1]
        K, R = K + 10 ** rng.uniform(2, 5) * np.outer(e, e), R + 10 ** rng.uniform(-3, 1) * np.outer(e, e)
    K[0, 0], R[0, 0] = (K[0, 0] + 1e3, R[0, 0] + 1) if seed % 2 else (K[0, 0], R[0, 0])
    m, zero = 10 ** rng.uniform(-1, 1, (n, 1)), np.zeros((n, n))
    A = np.block([[zero, np.eye(n)], [-K / m, -R / m]])
    T = np.kron(np.eye(2), np.tril(np.ones((n, n)))) if seed % 4 > 1 else np.eye(2 * n)
    B, C = np.eye(2 * n)[n + rng.integers(n)], np.eye(2 * n)[rng.integers(2 * n)]
    A, B, C = np.linalg.solve(T, A @ T), np.linalg.solve(T, B), C @ T
    tf = _of_matrices(A, B, C).transfer_function()
    for w in (1.0, 30.0):
        assert tf(1j * w) == pytest.approx(_exact_value(A, B, C, w), rel=1e-8)


def _of_matrices(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> Any:
    """The linear model of given matrices with one input and one output."""
    base = light_chain()
    states = tuple(replace(base.variables[0][0], name=f"x{i}") for i in range(len(A)))
    ports = (states, base.variables[1][:1], base.variables[2][:1])
    return replace(base, A=A, B=B[:, None], C=C[None, :], D=np.zeros((1, 1)), variables=ports)


def _masses_and_springs(mass: list[float], K: np.ndarray, lag: float) -> np.ndarray:
    """A of masses between springs K, with dampers of ``lag`` seconds times K."""
    K = K / np.array(mass)[:, None]
    return np.block([[np.zeros(K.shape), np.eye(len(K))], [-K, -lag * K]])


@pytest.mark.parametrize("mass", [[1.0, 1.0, 1.0], [3.0, 0.7, 0.7]])
def test_a_mode_that_the_input_does_not_move_leaves_no_zero_far_away(mass: list[float]) -> None:
    """A force on a hub moves its two equal masses alike: the third mode cancels, and the zero of a mass is
    −k/c alone. Without the mode's directions, c·b is rounding, which is no gain.
    """
    k, lag = 10.0, 0.1
    A = _masses_and_springs(mass, np.array([[2 * k + 5, -k, -k], [-k, k, 0], [-k, 0, k]]), lag)
    for twin in (1, 2):
        tf = _of_matrices(A, np.eye(6)[3], np.eye(6)[twin]).transfer_function()
        assert len(tf.poles) == 4 and tf.zeros == pytest.approx([-1 / lag], rel=1e-9)
        assert tf.gain == pytest.approx(k * lag / mass[twin], rel=1e-9)


def test_the_last_of_five_light_masses_has_all_four_zeros_of_the_springs() -> None:
    """Its gain is a product of four dampings, 1e-24 of that of the stiffnesses, and no rounding."""
    K = np.diag([2.0, 2, 2, 2, 1]) - np.eye(5, k=1) - np.eye(5, k=-1)
    tf = _of_matrices(
        _masses_and_springs([1.0] * 5, 1e4 * K, 1e-6), np.eye(10)[5], np.eye(10)[4]
    ).transfer_function()
    assert len(tf.zeros) == 4 and tf.gain == pytest.approx(1e-8, rel=1e-6)
    assert tf(0.0) == pytest.approx(1e-4, rel=1e-9)


def test_transmission_zeros_of_the_textbook_plant() -> None:
    """A four-tank process has the zeros of its 2 × 2 transfer matrix; Johansson (2000), IEEE TCST 8, 456."""
    T1, T2, T3, T4 = 63.0, 91.0, 39.0, 56.0
    c1, c2, g1, g2 = 2.6, 1.4, 0.43, 0.34
    # G11 = g1 c1/(1+sT1), G12 = (1−g2) c1/((1+sT3)(1+sT1)), …; as in eq. (5) with its non-minimum phase
    A = np.array([[-1 / T1, 0, 1 / T3, 0], [0, -1 / T2, 0, 1 / T4], [0, 0, -1 / T3, 0], [0, 0, 0, -1 / T4]])
    B = np.array([[g1 * c1 / T1, 0], [0, g2 * c2 / T2], [0, (1 - g2) * c1 / T1], [(1 - g1) * c2 / T2, 0]])
    C_ = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    zeros = transmission_zeros(A, B, C_, np.zeros((2, 2)))
    # (1 + s T3)(1 + s T4) = (1−g1)(1−g2)/(g1 g2), from det G = 0
    eta = (1 - g1) * (1 - g2) / (g1 * g2)
    expected = np.roots([T3 * T4, T3 + T4, 1 - eta])
    np.testing.assert_allclose(np.sort(zeros.real), np.sort(expected), rtol=1e-10)


def test_discrete_models_hold_their_inputs() -> None:
    lin = position().discretize(0.01)
    assert lin.step == 0.01
    np.testing.assert_allclose(
        lin.step_response(2.0)["x"], position().step_response(np.linspace(0, 2, 201))["x"], atol=1e-10
    )
    np.testing.assert_allclose(
        lin.frequency_response([0.5])["x", "F"], position().frequency_response([0.5])["x", "F"], rtol=5e-3
    )
    np.testing.assert_allclose(
        np.sort_complex(lin.poles()), np.sort_complex(np.exp(0.01 * position().poles()))
    )
    with pytest.raises(ArmillaryError, match="discrete already"):
        lin.discretize(0.1)


def test_reduction_keeps_what_matters_within_its_bound() -> None:
    _, lin = quarter_car()
    small = lin.reduce(2)
    assert small.states == ("x1", "x2") and "reduced from 4 states" in repr(small)
    w = np.geomspace(0.1, 1e3, 200)
    difference = small.frequency_response(w).values - lin.frequency_response(w).values
    bound = float(small.note.rsplit(" ", 1)[1])
    assert 0.2 * bound < np.max(np.linalg.norm(difference, axis=(1, 2))) <= bound
    exact = oscillator().reduce()  # without what nothing moves
    assert len(exact.states) == 2
    np.testing.assert_allclose(
        exact.frequency_response(w).values, oscillator().frequency_response(w).values, rtol=1e-9
    )
    with pytest.raises(ArmillaryError, match="positive whole number"):
        lin.reduce(0)


@pytest.mark.parametrize(
    ("order", "tolerance", "kept"),
    [(2, None, 2), (9, None, 3), (None, 0.2, 1), (None, 0.01, 2), (None, 0.002, 3), (None, None, 3)],
)
def test_reduction_keeps_what_exceeds_a_share_of_the_largest(order, tolerance, kept: int) -> None:
    """ẋ = −a x + b u, y = b x has the Hankel singular value b²/(2a); twice the dropped sum is the bound."""
    a, b = np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.5, 0.1])
    found = balanced_truncation(-np.diag(a), np.diag(b), np.diag(b), order, tolerance)
    assert np.sort(-np.linalg.eigvals(found.A)) == pytest.approx(a[:kept])
    assert found.bound == pytest.approx(2 * np.sum((b**2 / (2 * a))[kept:]), abs=1e-15)


def test_reduction_keeps_unstable_modes() -> None:
    s = arm.System("inverted")
    rod = s.body("rod", joint=arm.Revolute("z"), com=(0, 1, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("motor", s.input("tau") - 0.1 * rod.u1, s.ground.z, on=rod)
    lin = s.derive().compile().linearize(inputs=["tau"], outputs=["rod.q1"])
    assert lin.reduce(1).poles()[0].real > 0


@pytest.mark.filterwarnings("ignore:Badly conditioned")  # of its polynomials, which have leading zeros
def test_scipy_gives_the_same_response() -> None:
    import scipy.signal

    lin = position().keep(["a.q1", "a.u1"])
    w = np.array([0.5, 5.0])
    _, response = scipy.signal.freqresp(scipy.signal.StateSpace(lin.A, lin.B, lin.C[:1], lin.D[:1]), w)
    np.testing.assert_allclose(lin.frequency_response(w)["x", "F"], response, rtol=1e-12)
    assert lin.to_scipy().A.shape == (2, 2)
    assert lin.discretize(0.1).to_scipy().dt == 0.1


def test_python_control_gets_names(monkeypatch: pytest.MonkeyPatch) -> None:
    control = pytest.importorskip("control")
    found = position().to_control()
    assert found.state_labels == ["a_q1", "a_u1"] and found.input_labels == ["F"]
    np.testing.assert_allclose(control.poles(found), position().poles())


def test_a_missing_python_control_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "control", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'armillary\[control\]'"):
        position().to_control()


def test_files_hold_all_of_a_linear_model(tmp_path: Path) -> None:
    model, lin = quarter_car()
    many = model.linearize(inputs=["k"], parameters={"k": [1e4, 2e4]}, outputs=["travel"])
    for i, one in enumerate((lin, many, lin.discretize(0.1))):
        one.save(tmp_path / f"{i}.json")
        again = arm.load_linear(tmp_path / f"{i}.json")
        for name in ("A", "B", "C", "D", "state", "memory", "time"):
            np.testing.assert_array_equal(getattr(again, name), getattr(one, name))
        assert again.variables == one.variables and again.step == one.step and str(again) == str(one)
        for name in ("parameters", "input_values"):
            kept, values = (
                {n: np.asarray(v).tolist() for n, v in getattr(m, name).items()} for m in (again, one)
            )
            assert kept == values
    assert many.input_values["k"].tolist() == [1e4, 2e4] and many[1].input_values == {"k": 2e4}
    with pytest.raises(ArmillaryError, match=r"cannot be saved as 'lin\.mat': use \.json, \.txt or \.html"):
        lin.save(tmp_path / "lin.mat")
    lin.save(tmp_path / "report.html")
    assert "<table>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    lin.save(tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text(encoding="utf-8") == lin.report() + "\n"
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ArmillaryError, match="is not a linear model"):
        arm.load_linear(tmp_path / "bad.json")


def test_plots_are_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    _, lin = quarter_car()
    for name in ("bode", "nyquist"):
        getattr(lin, name)(None, tmp_path / f"{name}.png")
    lin.pole_zero(tmp_path / "pole_zero.svg")
    assert {p.name for p in tmp_path.iterdir()} == {"bode.png", "nyquist.png", "pole_zero.svg"}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda lin: lin.transfer_function("hieght"), "no output 'hieght'; did you mean 'height'?"),
        (lambda lin: lin.transfer_function(), "name the output of the transfer function"),
        (lambda lin: lin.step_response(-1.0), "ends after a positive time"),
        (lambda lin: lin.step_response([0, 1, 3]), "equal steps"),
        (lambda lin: lin.step_response(1.0, input="raod"), "no input 'raod'"),
        (lambda lin: lin.discretize(0), "in seconds, must be a positive number, not 0"),
        (lambda lin: lin.discretize(0.1, "zho"), "did you mean 'zoh'?"),
        (lambda lin: lin.keep(["wheel.q2"]), "no state 'wheel.q2'"),
        (lambda lin: lin[0], "only one operating point"),
        (lambda lin: lin.frequency_response({}), "omega must be a number"),
        (lambda lin: lin.bode("b.png"), "not 'b.png'; give a file as bode(path=…)"),
    ],
)
def test_bad_arguments_get_a_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(ArmillaryError) as error:
        call(quarter_car()[1])
    assert sentence in str(error.value)


def test_analyses_of_one_point_refuse_many() -> None:
    model, _ = quarter_car()
    many = model.linearize(inputs=["road"], outputs=["travel"], parameters={"k": [1e4, 2e4]})
    assert many.poles().shape == (2, 4)
    with pytest.raises(ArmillaryError, match=r"needs one operating point, but this linear model has 2"):
        many.zeros()
    with pytest.raises(ArmillaryError, match="no inputs; name them"):
        model.linearize().zeros()


def test_an_undamped_pole_has_no_response() -> None:
    s = arm.System("undamped")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", s.input("F") - 4 * a.q1, s.ground.x, at=a.com)
    lin = s.derive().compile().linearize(inputs=["F"], outputs=["a.q1"])
    with pytest.raises(ArmillaryError, match=r"2 rad/s is an undamped pole"):
        lin.frequency_response([1.0, 2.0])
    with pytest.raises(ArmillaryError, match="H2 norm is infinite"):
        lin.h2_norm()


def test_equal_and_weakly_moved_modes_are_counted_as_they_are_listed() -> None:
    """The measure is zero at both of two equal eigenvalues, of which one input moves one combination."""
    for A, B, rank in (
        (np.eye(2), [[1.0], [1.0]], 1),
        ([[0, 1], [0, 0]], [[1.0], [0.0]], 1),
        ([[0, 1], [0, 0]], [[0.0], [1.0]], 2),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 2]], [[1.0, 0], [0, 1], [0, 0]], 2),
    ):
        found = reach(np.array(A, dtype=float), np.array(B), ("a", "b", "c")[: len(A)], "controllable")
        assert found.rank == rank == str(found).count("+0i") - str(found).count(" not controllable")
        assert len(found.missing) == len(A) - rank and found.complete == (rank == len(A))
