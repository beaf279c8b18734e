"""Modes against closed forms and the published matrices of the bicycle."""

from __future__ import annotations

from math import pi, sqrt
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.analysis.modes.eigensystem import eigensystem
from armillary.analysis.modes.modes import Modes, modes_of
from armillary.analysis.modes.reports import eigenvalue_text, in_words
from armillary.analysis.modes.shapes import BodyFunctions, body_functions
from armillary.program.linearization import Variable
from armillary.verification.cases.beams import FLAPPING, TRUNCATION, spinning
from armillary.verification.cases.vehicles import _of_matrices
from examples.chain import system as links
from tests.analysis.modes.systems import bicycle, chain, pendulum


def test_a_chain_between_walls_has_its_closed_form() -> None:
    """ω_j = 2 √(k/m) sin(jπ/2(n+1)), shapes sin(ijπ/(n+1)): Rayleigh (1894), section 120."""
    n = 4
    modes = chain(n, walls=True).linearize().modes()
    j = np.arange(1, n + 1)
    omega = 2 * 2.0 * np.sin(j * pi / (2 * (n + 1)))
    assert np.allclose([m.omega for m in modes], omega, rtol=1e-13)
    assert np.allclose(modes.frequencies, omega / (2 * pi), rtol=1e-13)
    assert all(m.damping == 0 and m.stable and m.time_constant == np.inf for m in modes)
    for number, mode in enumerate(modes, start=1):
        shape = np.array([mode.shape[f"b{i}.q1"] for i in range(1, n + 1)])
        expected = np.sin(j * number * pi / (n + 1))
        lead = np.argmax(np.abs(shape) > 1 - 1e-9)
        assert np.allclose(shape, expected / expected[lead], atol=1e-12)
        shares = np.array([mode.participation[f"b{i}.q1"] for i in range(1, n + 1)])
        assert np.allclose(shares, expected**2 / np.sum(expected**2), atol=1e-12)
        assert np.allclose(modes.bodies.kinetic[number - 1], shares, atol=1e-12)
        stretch = np.diff([0.0, *expected, 0.0]) ** 2
        assert np.allclose(modes.bodies.potential[number - 1], stretch / np.sum(stretch), atol=1e-12)


def test_a_damped_oscillator_has_its_textbook_numbers() -> None:
    """One mass between two springs k and dampers c: ω₀² = 2k/m, 2ζω₀ = 2c/m."""
    (mode,) = chain(1, walls=True, damping=0.8).linearize().modes()
    omega, zeta = sqrt(8.0), 0.8 / 2.0 / sqrt(8.0)
    assert mode.kind == "oscillation"
    assert mode.omega == pytest.approx(omega, rel=1e-14)
    assert mode.damping == pytest.approx(zeta, rel=1e-13)
    assert mode.damped_omega == pytest.approx(omega * sqrt(1 - zeta**2), rel=1e-13)
    assert mode.damped_frequency == pytest.approx(mode.damped_omega / (2 * pi))
    assert mode.time_constant == pytest.approx(1 / 0.4, rel=1e-13)
    assert mode.shape["b1.q1"] == 1 and mode.shape["b1.u1"] == pytest.approx(mode.eigenvalue)
    slow, fast = chain(1, walls=True).linearize(parameters={"c": 8.0}).modes()  # λ² + 8λ + 8 = 0
    assert [m.kind for m in (slow, fast)] == ["decay", "decay"]
    assert slow.eigenvalue == pytest.approx(-4 + sqrt(8)) and fast.eigenvalue == pytest.approx(-4 - sqrt(8))


@pytest.mark.parametrize("seed", range(12))
def test_a_double_real_eigenvalue_is_two_decays(seed: int) -> None:
    """A = Q diag(−1, −1, −2, −5) Q⁻¹: LAPACK has −1 ± 4e-16i for some Q. The vectors span those of A."""
    Q = np.random.default_rng(seed).normal(size=(4, 4))
    values = np.array([-1.0, -1.0, -2.0, -5.0])
    A = Q @ np.diag(values) @ np.linalg.inv(Q)
    found = eigensystem(A)
    assert not found.values.imag.any() and found.values.real == pytest.approx(values, rel=1e-9)
    assert np.linalg.matrix_rank(found.right[:, :2], 1e-6) == 2
    np.testing.assert_allclose(A @ found.right, found.right * found.values, atol=1e-9)
    np.testing.assert_allclose(
        A.T @ found.left, found.left * found.values, atol=1e-9 * np.abs(found.left).max()
    )


def test_a_critically_damped_motion_is_no_oscillation() -> None:
    """(λ + w)² = 0 has one vector; rounding may split it by ε^(1/2), and 1e-12 less damping by 1e-6."""
    for w in np.linspace(0.3, 40, 23):
        A = np.array([[0.0, 1.0], [-w * w, -2 * w]])
        assert not eigensystem(A).values.imag.any()
        A[1, 1] *= 1 - 1e-12
        assert eigensystem(A).values.imag == pytest.approx([sqrt(2e-12) * w], rel=0.2)


def test_rounding_does_not_couple_free_motions() -> None:
    """A hanging chain with hinges about x, y, z in turn: turns about the vertical are free, and elements of
    A that are rounding couple them to the rest. ω² of the others are eigenvalues of −∂u̇/∂q without them.
    """
    n, noise = 8, np.random.default_rng(1).normal(size=(8, 8)) * 1e-14
    free, held = [2, 5], [0, 1, 3, 4, 6, 7]
    S = noise.copy()
    S[np.ix_(held, held)] -= 300.0 * (2 * np.eye(6) - np.eye(6, k=1) - np.eye(6, k=-1))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [S, np.zeros((n, n))]])
    found = eigensystem(A)
    omega = 2 * sqrt(300) * np.sin(np.arange(1, 7) * pi / 14)
    assert np.allclose(found.values, 1j * omega, rtol=1e-12)
    assert [c.shape[1] for c in found.chains] == [2, 2]
    for chain_, k in zip(found.chains, free, strict=True):
        assert np.allclose(chain_, np.eye(2 * n)[:, [k, n + k]], atol=1e-12)
    duals, columns = np.hstack(found.duals), np.hstack(found.chains)
    assert np.allclose(duals.T @ columns, np.eye(4), atol=1e-12) and np.allclose(duals.T @ found.right, 0)


def test_free_motion_is_one_mode_with_a_drift() -> None:
    """Three free masses: ω = 0 twice, √(k/m), √(3k/m)."""
    modes = chain(3, walls=False, damping=0.0).linearize().modes()
    assert modes.chains == (2, 0, 0)
    assert modes[0].kind == "rigid" and modes[0].eigenvalue == 0
    assert np.allclose([modes[0].shape[f"b{i}.q1"] for i in (1, 2, 3)], 1.0, atol=1e-13)
    assert np.allclose([m.omega for m in modes][1:], [2.0, sqrt(12.0)], rtol=1e-13)
    assert "and free drift" in str(modes) and "stable except for free drifts" in str(modes)


def test_a_coordinate_that_comes_to_rest_anywhere_does_not_drift() -> None:
    """A mass with a damper alone: λ = 0 without a drift, and −c/m."""
    s = arm.System("damped mass")
    b = s.body("b", joint=arm.Prismatic("x"), mass=2.0, inertia=0)
    s.force("damper", -3.0 * b.u1, s.ground.x, at=b.com)
    modes = s.derive().compile().linearize().modes()
    assert modes.chains == (1, 0) and modes[1].eigenvalue == pytest.approx(-1.5)
    assert str(modes).startswith("Modes of 'damped mass', stable:")


def test_shapes_are_one_where_the_mode_takes_most_part() -> None:
    """An oscillator of ω = 2 and a lag of 10 s that hardly move each other: states q, u, z."""
    names = (("b.q1", "coordinate"), ("b.u1", "speed"), ("z", "state"))
    A = np.array([[0.0, 1.0, 0.0], [-4.0, -0.1, 0.001], [0.001, 0.0, -0.1]])
    modes = modes_of("lag", A, [Variable(name, "", 1.0, "", role) for name, role in names])
    shapes = {mode.kind: mode.shape for mode in modes}
    assert shapes["oscillation"]["b.q1"] == 1 and shapes["decay"]["z"] == 1
    assert abs(shapes["oscillation"]["z"]) == pytest.approx(0.001 / 2, rel=0.01)
    assert shapes["decay"]["b.q1"] == pytest.approx(0.001 / 4, rel=0.01)


def test_the_shape_of_a_drift_is_what_drifts() -> None:
    """ẋ = 0, ẏ = x: both take half of the part, and x is zero where y stands still."""
    (mode,) = modes_of(
        "drift", np.array([[0.0, 0.0], [1.0, 0.0]]), [Variable(n, "", 1.0, "", "state") for n in "xy"]
    )
    assert mode.participation == pytest.approx({"x": 0.5, "y": 0.5})
    assert mode.shape == {"x": 0, "y": 1}


def test_zeros_are_found_in_any_coordinates() -> None:
    """The same matrix in turned coordinates, where no column is zero and rounding makes 1e-7 of the zeros."""
    A = chain(3, walls=False).linearize().A
    Q = np.linalg.qr(np.random.default_rng(4).normal(size=(6, 6)))[0]
    turned = Q.T @ A @ Q
    found = eigensystem(turned)
    (c,), (d,) = found.chains, found.duals
    assert c.shape == (6, 2)
    assert np.allclose(turned @ c, np.column_stack([np.zeros(6), c[:, 0]]), atol=1e-12)
    assert np.allclose(d.T @ c, np.eye(2), atol=1e-12) and np.allclose(d.T @ found.right, 0, atol=1e-12)
    assert np.allclose(found.values, [2j, 1j * sqrt(12.0)], atol=1e-12)
    assert np.allclose(turned @ found.right, found.right * found.values, atol=1e-12)
    assert np.allclose(found.left.conj().T @ turned, found.values[:, None] * found.left.conj().T, atol=1e-12)


@pytest.mark.parametrize("formalism", ["auto", "momentum"])
def test_a_double_pendulum_has_its_closed_form(formalism: str) -> None:
    """ω² = (2 ∓ √2) g/l, absolute angles 1 : ±√2: Landau & Lifshitz, Mechanics, §23, problem 2."""
    modes = pendulum(formalism).linearize().modes()
    assert np.allclose([m.omega**2 for m in modes], 9.81 * (2 + np.array([-sqrt(2), sqrt(2)])), rtol=1e-13)
    for mode, sign, turned in zip(range(2), (1, -1), modes.bodies.rotations, strict=True):
        first, second = turned[:, 2]
        assert second / first == pytest.approx(sign * sqrt(2), rel=1e-12)
        # T ∝ θ_A² + (θ_A + θ_B)², V ∝ θ_A² + (θ_A² + θ_B²) for weights at θ_A, and at θ_A and θ_B.
        speeds = np.array([1.0, (1 + sign * sqrt(2)) ** 2])
        assert np.allclose(modes.bodies.kinetic[mode], speeds / np.sum(speeds), atol=1e-12)
        assert np.allclose(modes.bodies.potential[mode], [0.25, 0.75], atol=1e-12)
        assert modes.bodies.loads == ("weight of A", "weight of B")


def test_the_bicycle_has_the_eigenvalues_of_its_published_matrices() -> None:
    """Meijaard et al. (2007): M, C1, K0, K2, from the nonlinear model at its upright steady motion."""
    for speed in range(1, 11):
        modes = bicycle().linearize(at={"heading.u1": float(speed)}).modes()
        found = [m.eigenvalue for m in modes if not m.chain]
        published = sorted((z for z in _of_matrices(float(speed)) if z.imag >= 0), key=abs)
        assert np.max(np.abs(np.array(found) - published)) < 1e-12, speed  # 4e-13 at 10 m/s, of λ = −25
        assert modes.chains == (2, 2, 1, 1, 0, 0, 0)


def test_modes_of_the_bicycle_say_what_moves() -> None:
    lin = bicycle().linearize(at={"heading.u1": 5.0})
    modes = lin.modes().named({5: "weave", 4: "capsize"})
    weave = modes["weave"]
    assert weave.eigenvalue == pytest.approx(-0.775341882196 + 4.464867713788j, rel=1e-11)
    assert weave.label.startswith("weave: 5") and "fork.q1" in weave.label and "lean.q1" in weave.label
    assert max(modes["capsize"].participation, key=modes["capsize"].participation.__getitem__) == "lean.q1"
    assert np.allclose(np.sum(modes.participation, axis=1), 1.0)
    for i, mode in enumerate(modes):
        residual = lin.A @ modes.shapes[i] - mode.eigenvalue * modes.shapes[i]
        assert np.max(np.abs(residual)) < 1e-11 * np.max(np.abs(modes.shapes[i]))
    # The rider leans as much as the frame, and the pitch follows in second order.
    b = modes.bodies
    assert np.allclose(b.rotations[5, b.bodies.index("rider"), 0], weave.shape["lean.q1"])
    assert b.coordinates[5] == "frame.q1" and abs(b.displacements[5, 5]) < 1e-12
    assert modes.stable and not bicycle().linearize(at={"heading.u1": 4.0}).modes().stable


def test_spinning_beams_have_published_frequencies() -> None:
    """Wright et al. (1982), EI = μ = L = 1, as the case rotating_beam."""
    model = spinning("z").derive().compile()
    for spin in (0, 3, 10):
        modes = model.linearize(parameters={"W": float(spin)}).modes()
        assert modes[0].kind == "rigid" and modes.coordinates[0] == "hub.q1"
        assert modes[1].omega == pytest.approx(FLAPPING[spin], rel=TRUNCATION)
        assert modes.bodies.kinetic[1, modes.bodies.bodies.index("beam")] == pytest.approx(1.0)


def test_energies_are_those_of_the_equations() -> None:
    """M by bodies is that of the equations; K by loads is that of the linear model, under load."""
    s = arm.System("a bar on a boom")
    boom = s.body("boom", mass=0, inertia=0)
    boom.flexible(arm.Beam(1.0, EI=30.0, mass_per_length=1.0, motions="y"), modes=2)
    tip = boom.node(1.0)
    bar = s.body("bar", tip, arm.Revolute("z"), com=(0.3, 0, 0), mass=0.7, inertia=(0, 0.1, 0.1))
    s.armature(bar.u1, 0.05)
    s.moment("spring", "-5*bar.q1 - 0.1*bar.u1", s.ground.z, on=bar, reaction=tip)
    s.strut("stay", "-20*(x - 0.5)", between=(bar.com, s.ground.point((1.2, 0.7, 0))))
    s.gravity(9.81, -s.ground.y)
    model = s.derive().compile()
    op = model.equilibrium()
    modes = model.undamped_modes(op)
    assert modes.place is not None and modes.orthogonality < 1e-13
    M = model.mass_matrix(0.0, op.state[: len(model.coordinate_names)])
    assert np.allclose(modes.mass, M, atol=1e-14)
    assert np.allclose(modes.modal_stiffnesses / modes.modal_masses, [m.omega**2 for m in modes], rtol=1e-10)
    functions = body_functions(modes.place.linearization)
    assert functions.load_names == ("spring", "stay", "weight of boom", "strain of boom", "weight of bar")
    pairs = np.eye(3).repeat(3, axis=0), np.tile(np.eye(3, len(op.state)), (3, 1))
    stiffness = -np.sum(functions.works(modes.place, *pairs), axis=1).reshape(3, 3)
    assert np.allclose(stiffness, modes.stiffness, rtol=1e-9, atol=1e-9)
    damped = model.linearize(op).modes()
    assert np.allclose(damped.bodies.dissipation, [[1, 0, 0, 0, 0]] * 3)


@pytest.mark.parametrize("formalism", ["auto", "momentum"])
def test_bodies_move_as_outputs_do(formalism: str) -> None:
    """Mass centres of two bodies that turn by quaternions, against rows of C of their positions; energies
    of changes of speeds or momenta, against M of the equations.
    """
    s = arm.System("two bodies in flight")
    A = s.body("A", joint=arm.Free(), com=(0.1, 0.2, 0.05), mass=2, inertia=(1, 2, 3))
    B = s.body("B", A, arm.Spherical(), at=(0.5, 0.2, 0), com=(0.3, 0.1, 0), mass=1, inertia=(0.1, 0.2, 0.25))
    s.force("tether", "-20*A.q3", s.ground.z, at=A.com)
    for body in (A, B):
        for axis in "xyz":
            s.output(f"{body.name} {axis}", arm.dot(arm.position(body.com), getattr(s.ground, axis)))
    model = s.derive(formalism=formalism).compile()
    outputs = [f"{name} {axis}" for name in "AB" for axis in "xyz"]
    lin = model.linearize(at={"A.u1": 0.3, "A.u2": -0.2, "B.u3": 0.1, "A.u5": 0.4}, outputs=outputs)
    modes = lin.modes()
    found = modes.bodies.translations.reshape(len(modes), 6)
    assert np.allclose(found, modes.shapes @ lin.C.T, atol=1e-12) and np.abs(found).max() > 0.1
    assert modes.place is not None
    first, count = len(model.coordinate_names), len(model.speed_names)
    units = np.eye(count, len(modes.place.state), first)
    motions = body_functions(modes.place.linearization).at(modes.place, units)
    M = s.derive().compile().mass_matrix(0.0, modes.place.state[:first])
    du = motions.speeds
    assert np.allclose(motions.velocities @ motions.momenta.T, du @ M @ du.T, atol=1e-12)
    assert np.array_equal(du, np.eye(9)) == (formalism == "auto")


def test_each_link_costs_motions_of_bodies_the_same() -> None:
    costs = []
    for n in (6, 9, 12):  # hinges about x, y and z in turn
        operations = BodyFunctions(core_of(links(n).derive())).operations
        costs.append(sum(operations[name].total for name in ("frames", "speeds", "velocities")))
    assert costs[2] - costs[1] == costs[1] - costs[0] > 0


def test_modes_are_kept_in_files(tmp_path: Path) -> None:
    modes = chain(2, walls=True, damping=0.1).linearize().modes().named({0: "in phase"})
    modes.save(tmp_path / "chain.json")
    again = Modes.load(tmp_path / "chain.json")
    assert str(again) == str(modes) and "in phase: 50 % b1.q1, 50 % b2.q1" in str(modes)
    assert np.array_equal(again.shapes, modes.shapes)
    assert np.array_equal(again.bodies.kinetic, modes.bodies.kinetic)
    assert str(again.bodies) == str(modes.bodies)
    assert "<table>" in modes._repr_html_() and "<table>" in modes.bodies._repr_html_()
    with pytest.raises(arm.ArmillaryError, match=r"use \.json"):
        modes.save(tmp_path / "chain.nc")


def test_names_with_special_characters_are_escaped_once_in_notebooks() -> None:
    """The words of a table in a browser, which unescapes once, are those of the text."""
    s = arm.System("a <b> & c")
    s.parameter("k", 10.0)
    A = s.body("A", joint=arm.Prismatic("x"), mass=1, inertia=0)
    s.force("spring", "-k*x", s.ground.x, at=A)
    model = s.derive().compile()
    lin = model.linearize()
    modes, locus = lin.modes(), arm.root_locus(model, "k", [5.0, 10.0])
    for shown in (modes, lin, modes.bodies, locus, model, s, model.equilibrium()):
        page = shown._repr_html_()
        assert "&amp;lt;" not in page and "&amp;amp;" not in page
        assert "<b>" not in page.replace("<p><b>", "")  # its own headings
    assert "a &lt;b&gt; &amp; c" in modes._repr_html_()


def test_a_state_may_have_the_name_of_a_key_of_files(tmp_path: Path) -> None:
    s = arm.System("keys")
    s.body("b", mass=1.0, joint=arm.Prismatic("x"))
    s.state("shape", "-2*shape", 0.5)
    modes = s.derive().compile().linearize().modes()
    modes.save(tmp_path / "keys.json")
    assert str(Modes.load(tmp_path / "keys.json")) == str(modes)


def test_figures_show_eigenvalues_and_shapes(tmp_path: Path) -> None:
    modes = chain(2, walls=True, damping=0.1).linearize().modes().named({0: "in phase"})
    plane, bars = modes.plot(path=tmp_path / "modes.svg").axes
    assert np.allclose(np.sort(plane.lines[0].get_ydata()), np.sort(modes.eigenvalues.imag))
    assert [label.get_text() for label in bars.get_yticklabels()] == ["in phase: 0.318 Hz", "1: 0.551 Hz"]
    (polar,) = modes.plot("in phase", path=tmp_path / "shape.png").axes
    assert [line.get_label() for line in polar.lines] == ["b1.q1 (m)", "b2.q1 (m)"]


def test_a_mode_is_a_run_that_can_be_animated(tmp_path: Path) -> None:
    model = chain(2, walls=True, damping=0.1)
    modes = model.linearize(at={"b1.q1": 0.5, "b2.q1": 0.25}).modes()
    run = modes.motion(1, amplitude=0.2, periods=2, samples=9)
    assert run.time[-1] == pytest.approx(2 / modes[1].damped_frequency)
    assert np.allclose(run["b1.q1"], 0.5 + 0.2 * np.cos(np.arange(9) * pi / 2), atol=1e-12)
    assert np.allclose(run["b2.q1"], 0.25 - 0.2 * np.cos(np.arange(9) * pi / 2), atol=1e-12)
    assert run.animate(tmp_path / "mode.html", model=model).stat().st_size > 1000
    falling = pendulum().linearize(at={"A.q1": np.pi}).modes().motion(0)
    assert abs(falling["A.q1"] - np.pi).max() == pytest.approx(0.15, rel=1e-6)
    modes.save(tmp_path / "m.json")
    with pytest.raises(arm.ArmillaryError, match="no operating point to move about"):
        Modes.load(tmp_path / "m.json").motion(0)


@pytest.mark.parametrize(("shares", "words"), [
    ((0.3, 0.62, 0.08), "62 % b, 30 % a"),  # 80 per cent are enough
    ((0.26, 0.25, 0.25, 0.24), "26 % a, 25 % b, 25 % c"),  # three at most
    ((0.72, 0.09, 0.1, 0.09), "72 % a, 10 % c"),  # others with a tenth at least
    ((0.09, 0.08), "9 % a"),
])  # fmt: skip
def test_modes_are_named_by_what_takes_most_part(shares: tuple[float, ...], words: str) -> None:
    assert in_words(np.array(shares), "abcd") == words


@pytest.mark.parametrize(("value", "pair", "text"), [
    (-0.25 + 3j, True, "-0.25 ± 3i"), (-0.25 + 3j, False, "-0.25 + 3i"), (-0.25 - 3j, False, "-0.25 - 3i"),
    (0.9e-12 + 1j, True, "0 ± 1i"), (1.1e-12 + 1j, True, "1.1e-12 ± 1i"), (-2.0 + 0j, False, "-2"),
])  # fmt: skip
def test_eigenvalues_are_written_without_rounding(value: complex, pair: bool, text: str) -> None:
    assert eigenvalue_text(value, pair=pair) == text


def test_wrong_requests_are_explained() -> None:
    modes = chain(2, walls=True).linearize().modes()
    with pytest.raises(arm.ArmillaryError, match="no mode of 'chain' is called 'weave'; name modes with"):
        modes["weave"]
    with pytest.raises(arm.ArmillaryError, match="there is no mode 7; they are numbered 0 to 1"):
        modes[7]
    with pytest.raises(arm.ArmillaryError, match=r"linearised at 3; .* arm.root_locus"):
        chain(2, walls=True).linearize(parameters={"k": np.array([1.0, 2.0, 3.0])}).modes()
    with pytest.raises(arm.ArmillaryError, match=r"modes\(\) needs a continuous model"):
        chain(2, walls=True).linearize().discretize(0.1).modes()
