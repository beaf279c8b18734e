"""What JPL's formulations cannot describe is refused, with the offender's name and a way out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ModelError

BOOM = {"nodes": {"tip": (1, 0, 0)}, "masses": [1.0], "shapes": [[[0], [0], [1]]], "stiffness": [[100.0]]}


def vehicle() -> tuple[arm.System, arm.Body, arm.Body]:
    s = arm.System("vehicle")
    hub = s.body("hub", joint=arm.Free(), mass=10.0, inertia=(1, 2, 2.5))
    panel = s.body(
        "panel", hub, arm.Revolute("y"), at=(1, 0, 0), com=(1, 0, 0), mass=2.0, inertia=(1, 2, 2.5)
    )
    return s, hub, panel


def gravity() -> arm.System:
    s, *_ = vehicle()
    s.gravity(9.81, -s.ground.z)
    return s


def slider() -> arm.System:
    s, hub, _ = vehicle()
    s.body("piston", hub, arm.Prismatic("x"), mass=1.0, inertia=0)
    return s


def second() -> arm.System:
    s, *_ = vehicle()
    s.body("other", joint=arm.Free(), mass=1.0, inertia=(1, 1, 1))
    return s


def pinned() -> arm.System:
    s = arm.System("pinned")
    s.body("hub", joint=arm.Spherical(), mass=10.0, inertia=(1, 2, 2.5))
    return s


def loop() -> arm.System:
    s, _, panel = vehicle()
    s.constrain(f"{panel.name}.u1 - hub.u4")
    return s


def on_node() -> arm.System:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.body("camera", hub.node("tip"), arm.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    return s


def held() -> arm.System:
    s, hub, _ = vehicle()
    boom = s.body("boom", hub, arm.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    boom.flexible(held="tip", **BOOM)
    return s


def massless() -> arm.System:
    s, hub, _ = vehicle()
    ring = s.body("ring", hub, arm.Revolute("z"), mass=0, inertia=0)
    s.body("dish", ring, arm.Revolute("x"), mass=0, inertia=0)
    return s


def massless_modes() -> arm.System:
    s, hub, _ = vehicle()
    ring = s.body("ring", hub, arm.Revolute("z"), mass=0, inertia=0)
    s.body("dish", ring, arm.Revolute("x"), mass=1.0, inertia=(1, 2, 2.5))
    ring.flexible(coupling=(np.ones((3, 1)), np.ones((3, 1))), frequencies=[3.0])
    return s


def given_root() -> arm.System:
    s, *_ = vehicle()
    s.prescribe("hub.u4", 0.1)
    return s


def given_mode() -> arm.System:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.prescribe("hub.u7", 0.1)
    return s


def small() -> arm.System:
    s, *_ = vehicle()
    s.small("panel.q1")
    return s


@pytest.mark.parametrize("formulation", ["mbdyfr", "mbdyfn", "mbdyfl"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (gravity, "gravity acts.*kane"),
        (slider, "body 'piston' \\(prismatic x\\) is not made of one to three hinges.*Revolute"),
        (second, "body 'other'.*one reference body"),
        (pinned, "body 'hub'.*spherical.*Free"),
        (loop, "constraint '.*tree is needed"),
        (on_node, "body 'camera' is on a node"),
        (held, "body 'boom' is held at its node 'tip'"),
        (massless, r"singular in 2 directions:\n.*'ring.u1' moves no mass.*\n.*'dish.u1' moves no mass"),
        (given_root, "'hub.u4' is given"),
        (given_mode, "'hub.u7' is given"),
        (small, "'panel.q1' is declared small"),
    ],
    ids=lambda x: x.__name__ if callable(x) else "",
)
def test_refused(make: Callable[[], arm.System], words: str, formulation: str) -> None:
    with pytest.raises(ModelError, match=words):
        make().derive(formulation)


@pytest.mark.parametrize("formulation", ["mbdyfn", "mbdyfl"])
def test_modes_need_a_mass_that_carries_them(formulation: str) -> None:
    """Coupling coefficients bring none; what modes do to the mass centre is not defined then."""
    with pytest.raises(ModelError, match=r"body 'ring' has modes and no mass; give it some"):
        massless_modes().derive(formulation)


def test_complex_modes_need_masses() -> None:
    s, hub, _ = vehicle()
    hub.flexible(coupling=(np.ones((3, 1)), np.ones((3, 1))), frequencies=[1.0], total_mass=12.0)
    with pytest.raises(ModelError, match=r"body 'hub'.*masses of its nodes.*nodes="):
        s.derive("mbdyfr")


def test_complex_modes_need_damping_of_each_alone() -> None:
    """Ratios, or a matrix without what ties two modes: of the part as held, or as the vehicle has them."""
    made = {}
    for name, C in (("tied", [[0.5, 0.4], [0.4, 0.6]]), ("apart", [[0.5, 0], [0, 0.6]])):
        s, hub, _ = vehicle()
        K = 10 * np.kron([[4.0, -2], [-2, 2]], np.eye(3))
        nodes = {"a": (1, 0, 0), "b": (2, 0.3, 0)}
        hub.flexible(nodes=nodes, masses=[1.0, 0.7], stiffness=K, modes=2, damping_matrix=C)
        made[name] = s
    with pytest.raises(ModelError, match=r"body 'hub'.*damping matrix couples modes 1 and 2 .*mbdyfn"):
        made["tied"].derive("mbdyfr")
    assert made["tied"].derive("mbdyfn").formalism == "mbdyfn"
    assert made["apart"].derive("mbdyfr").formalism == "mbdyfr"


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize("total_mass", [None, 5.0])
def test_damping_stays_with_its_mode(order: list[int], total_mass: float | None) -> None:
    """Modes may come in any order, and be those of the vehicle or with the hub held.

    Two masses swing together along y (2 rad/s, ratio 0.1) and z (5 rad/s, 0.02), so that nothing turns. The
    vehicle of 5 kg has σ as given; where it was given for a held hub of 3 kg, σ² grows by 5/3. The rates of
    decay are ζσ, beside the frequencies σ (module docstring of mbdyfr).
    """
    s = arm.System("vehicle")
    hub = s.body("hub", joint=arm.Free(), mass=3.0, inertia=(1, 2, 3))
    hub.flexible(
        nodes={"left": (-1, 0, 0), "right": (1, 0, 0)},
        masses=1.0,
        shapes=np.array([[[0, 0], [1.0, 0], [0, 1.0]]] * 2)[:, :, order],
        frequencies=np.array([2.0, 5])[order],
        damping=np.array([0.1, 0.02])[order],
        total_mass=total_mass,
    )
    model = s.derive("mbdyfr").compile()
    modal, columns = [7, 8, 15, 16], []
    for k in modal:
        state = np.zeros(17)
        state[3], state[k] = 1.0, 1e-3
        columns.append(model.derivatives(0, state)[modal] / 1e-3)
    values = np.linalg.eigvals(np.array(columns).T)
    values = values[values.imag > 0]
    expected = np.array([-0.2 + 2j, -0.1 + 5j]) * (np.sqrt(5 / 3) if total_mass is None else 1)
    np.testing.assert_allclose(values[np.argsort(values.imag)], expected, rtol=1e-9)


def test_complex_modes_need_numbers() -> None:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.body("load", hub, arm.Revolute("z"), mass="payload", inertia=(1, 2, 2.5))
    with pytest.raises(ModelError, match=r"total mass as a number.*payload"):
        s.derive("mbdyfr")
    assert s.derive("mbdyfn").formalism == "mbdyfn"  # where only the reduced modal mass holds it


def test_events_leave_complex_modes_alone() -> None:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.event("kick", "t - 0.1", set={"hub.q8": 0.01})
    with pytest.raises(ModelError, match=r"event 'kick' sets 'hub.q8'"):
        s.derive("mbdyfr")


def test_locking_would_change_complex_modes() -> None:
    s, hub, _ = vehicle()
    hub.flexible(**BOOM)
    s.event("latch", "panel.q1 - 0.1", lock="panel.u1")
    with pytest.raises(ModelError, match=r"event 'latch' locks 'panel\.u1'.*mbdyfn"):
        s.derive("mbdyfr")
    run = s.derive("mbdyfn").compile().simulate(0.5, step=0.01, initial={"panel.u1": 1.0})
    assert run.final["panel.u1"] == 0.0


def test_unknown_formalism_names_them() -> None:
    s, *_ = vehicle()
    with pytest.raises(ModelError, match="mbdyfn"):
        s.derive("mbdyf")
