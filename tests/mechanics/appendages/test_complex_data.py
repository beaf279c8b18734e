"""Complex modes as data (JPL's ER, EI, SR, WF), and appendages without a nominal spin on bodies that spin."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ModelError
from armillary.files.model.build import part_arrays, read_part
from armillary.model.flexible.modal_data import complex_modes, spinning_matrices
from tests.verification.common import reference

# The appendage of the report's spinning rotor: one mass, springs that give 10 and 30 rad/s.
RECORD = reference("jpl_spinning_rotor")["inputs"]["appendages"][0]
NODE = {"nodes": {"tip": (0.3333, 0, -0.493)}, "masses": [1.0]}
SPIN = (0.0, 0.0, 10.0)


def rotor(**appendage: Any) -> arm.System:
    """A spacecraft of 500 kg with a spinning rotor that carries an appendage."""
    s = arm.System("rotor")
    base = s.body("base", joint=arm.Free(), mass=449.9, inertia=(250, 275, 350))
    disc = s.body("disc", base, arm.Revolute("z"), at=(0, 0, -2), mass=49.1, inertia=(11, 11, 20))
    disc.flexible(**NODE, **appendage)
    s.output("tip", arm.dot(disc.deflection("tip"), disc.x), units="m")
    s.output("pull", arm.dot(arm.acceleration(disc.node("tip")), disc.x), units="m/s^2")
    return s


def data(**more: Any) -> dict[str, Any]:
    shapes = (RECORD["Psi"], RECORD["Gamma"])
    return {"complex_shapes": shapes, "frequencies": RECORD["sigma"], "damping": RECORD["damping"],
            "total_mass": 500.0, "spin": SPIN, **more}  # fmt: skip


def test_given_complex_modes_leave_the_springs_of_the_report() -> None:
    """399.2 N/m in x and y: 1/(2 Σ(Ψ² + Γ²)) = 299.4 about the spin, and m (1 − m/M) Ω² = 99.8."""
    part = rotor(**data()).bodies["disc"].flex.part  # type: ignore[union-attr]
    assert np.linalg.eigvalsh(part.K) == pytest.approx([399.2, 399.2], rel=1e-5)
    np.testing.assert_allclose(np.abs(part.lumps.shapes[:2]) @ np.ones(2), [1, 1], rtol=1e-12)  # type: ignore[union-attr]


def test_given_complex_modes_move_as_those_computed_from_the_springs() -> None:
    """The modes of the data are rounded to seven digits; phases differ, so starts are in the tip's motion."""
    plane = [[[1, 0], [0, 1], [0, 0]]]
    computed = rotor(shapes=plane, stiffness=np.diag([399.2, 399.2]), damping=0.01, spin=SPIN)
    runs = []
    for s in (computed, rotor(**data())):
        model = s.derive("mbdyfr").compile()
        # δ and η of the first mode such that the tip is 1 mm out along x, whatever the phase of the mode
        start = model.state({"disc.u1": 10.0})
        lower = [model.state({"disc.u1": 10.0, name: 1.0}) for name in ("disc.q2", "disc.u2")]
        tips = np.array([model.outputs(0.0, x)["tip"] for x in lower])
        amplitude = 1e-3 * tips / (tips @ tips)
        start = start + sum(a * (x - start) for a, x in zip(amplitude, lower, strict=True))
        runs.append(model.simulate(1.0, step=0.01, rtol=1e-11, atol=1e-13, initial=start)["tip"])
    assert np.abs(runs[1] - runs[0]).max() < 2e-6 * np.abs(runs[0]).max()


def test_modes_of_another_vehicle_or_scale_are_refused() -> None:
    with pytest.raises(ModelError, match="do not fit the masses"):
        rotor(**data(frequencies=[1.0, 3.0]))
    s = rotor(**data(complex_shapes=tuple(0.9985 * np.array(x) for x in data()["complex_shapes"])))
    s.body("load", s.bodies["base"], arm.Fixed(), mass=100, inertia=0)
    with pytest.raises(ModelError, match="vehicle of mass 500, but this one has 600"):
        s.derive("mbdyfr")


def truncated() -> dict[str, Any]:
    """Two complex modes of six, of a mass with inertia on coupled springs: they move in four real shapes."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(6, 6))
    stiffness = 400 * (root @ root.T + 6 * np.eye(6))
    matrices = spinning_matrices([1.0], [np.diag([0.2, 0.2, 0.3])], stiffness, SPIN, 500.0)
    modes = complex_modes(matrices, "mass")
    few = slice(2)
    return data(
        inertias=[(0.2, 0.2, 0.3)],
        complex_shapes=(modes.psi[:, few], modes.gamma[:, few]),
        frequencies=modes.frequencies[few],
    )


def test_complex_modes_that_were_cut_off_are_for_mbdyfr_alone() -> None:
    s = rotor(**truncated())
    model = s.derive("mbdyfr").compile()
    assert np.isfinite(model.derivatives(0.0, model.state({"disc.u1": 10.0, "disc.q2": 1e-3}))).all()
    with pytest.raises(ModelError, match=r"body 'disc' has 2 complex modes.*use formalism='mbdyfr'"):
        s.derive("kane")


def test_complex_modes_are_saved_with_their_model(tmp_path: Path) -> None:
    s = rotor(**data())
    s.save(tmp_path / "rotor.toml")
    again = arm.load(tmp_path / "rotor.toml")
    state = {"disc.u1": 10.0, "disc.q2": 1e-3, "disc.u3": 2e-3}
    models = [x.derive("mbdyfr").compile() for x in (s, again)]
    np.testing.assert_array_equal(*(m.derivatives(0.0, m.state(state)) for m in models))


def test_without_a_nominal_spin_the_centrifugal_load_bends_the_appendage() -> None:
    """SR = 0 on a body that spins: undeformed, all accelerations are those of kane."""
    plane = [[[1, 0], [0, 1], [0, 0]]]
    s = rotor(shapes=plane, stiffness=np.diag([399.2, 399.2]))
    start = {"disc.u1": 10.0, "base.u4": 0.1, "base.u5": -0.2, "base.u6": 0.3}
    found = []
    for formalism in ("kane", "mbdyfr"):
        model = s.derive(formalism).compile()
        state = model.state(start)
        u = model.derivatives(0.0, state)[len(model.coordinate_names) :][:7]
        found.append([*u, model.outputs(0.0, state)["pull"]])
    assert found[0][-1] > -1.0  # the spring does not pull yet: the tip is left behind, −Ω² r = −35 with it
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-10 * np.abs(found[0]).max())


def test_loads_at_each_node_of_an_appendage_move_the_vehicle_as_in_kane() -> None:
    """Two masses in three shapes, undeformed and without spin: the same rates of the rigid speeds; those of
    the modes are of other coordinates.
    """
    rng = np.random.default_rng(3)
    s = arm.System("panel")
    base = s.body("base", joint=arm.Free(), mass=449.9, inertia=(250, 275, 350))
    panel = s.body("panel", base, arm.Revolute("z"), at=(0, 0, -2), mass=49.1, inertia=(11, 11, 20))
    nodes = {"tip": (0.3333, 0, -0.493), "end": (-0.5, 0.4, 0.2)}
    panel.flexible(
        nodes=nodes,
        masses=[1.0, 0.7],
        shapes=rng.normal(size=(2, 3, 3)),
        stiffness=np.diag([400, 300, 500.0]),
    )
    s.force("push", 3.0, panel.y, at=panel.node("end"))
    s.force("pull", 2.0, base.x, at=panel.node("tip"))
    s.force("lift", -4.0, panel.z, at=panel.node("end"))
    start = {"base.q4": 0.3, "base.u4": 0.1, "base.u5": -0.2, "base.u6": 0.3, "panel.u1": 0.5}
    found = []
    for formalism in ("kane", "mbdyfr"):
        model = s.derive(formalism).compile()
        found.append(model.derivatives(0.0, model.state(start))[len(model.coordinate_names) :][:7])
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-12 * np.abs(found[0]).max())


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal, field by field; functions are not compared."""
    if is_dataclass(one):
        return type(one) is type(other) and all(
            _same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if callable(one):
        return True
    return type(one) is type(other) and bool(np.array_equal(one, other))


@pytest.mark.parametrize("whole", [True, False])
def test_parts_read_back_from_files_with_all_that_was_given(whole: bool, tmp_path: Path) -> None:
    part = rotor(**data()).bodies["disc"].flex.part  # type: ignore[union-attr]
    given = replace(
        part, g=np.arange(12.0).reshape(2, 2, 3), complex_modes=replace(part.complex_modes, whole=whole)
    )
    assert given.lumps is not None and given.total_mass == 500.0
    np.savez(tmp_path / "part.npz", **part_arrays(given, given.nodes))
    found = read_part(tmp_path / "part.npz")
    for field in fields(given):
        if field.name != "anywhere":
            assert _same(getattr(found, field.name), getattr(given, field.name)), field.name
