"""Back substitution: branches found, contributions against Schur complements, constraints, modes, names.

That accelerations obey first principles on every joint and on random trees, test_tree_formalisms.py shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.expression import Expr
from armillary.algebra.functions import KeptName
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.mass_matrix import mass_matrix
from armillary.mechanics.tree.tree import Tree
from armillary.program.formalisms.back_substitution import eliminate_branches
from armillary.program.formalisms.hubs import branches
from tests.mechanics.constrained_agreement import LOOPS, check
from tests.mechanics.solving import close, planted_on_numbers

AXES: tuple[Any, ...] = ("x", "y", "z", (0.36, -0.48, 0.8))

# Parents of the bodies, each with the branches that must be found: (hub, links).
TREES: tuple[tuple[dict[str, str], list[tuple[str, str]]], ...] = (
    ({"a": "ground", "b": "a", "c": "b"}, [("ground", "a b c")]),
    ({"hub": "ground", "a": "hub", "b": "a"}, [("ground", "hub"), ("hub", "a b")]),
    (
        {"hub": "ground", "a": "hub", "b": "a", "c": "hub"},
        [("ground", "hub"), ("hub", "a b"), ("hub", "c")],
    ),
    (
        {"hub": "ground", "a": "hub", "b": "a", "c": "b", "d": "b", "e": "d"},
        [("ground", "hub"), ("hub", "a b"), ("b", "c"), ("b", "d e")],
    ),
    (
        {"a": "ground", "b": "a", "c": "a", "d": "ground"},
        [("ground", "a"), ("a", "b"), ("a", "c"), ("ground", "d")],
    ),
)


def system(parents: dict[str, str], seed: int = 3) -> arm.System:
    """A tree of turning bodies with random data; the one called hub is free."""
    rng = np.random.default_rng(seed)
    s = arm.System("tree")
    for i, (name, parent) in enumerate(parents.items()):
        joint = arm.Free() if name == "hub" else arm.Revolute(AXES[i % 4])
        s.body(
            name, s.ground if parent == "ground" else s.bodies[parent], joint, at=rng.normal(size=3).tolist(),
            com=rng.normal(size=3).tolist(), mass=float(rng.uniform(0.5, 3)),
            inertia=rng.uniform(1, 1.5, size=3).tolist(),
        )  # fmt: skip
    s.gravity(9.81, -s.ground.z)
    return s


def state(s: arm.System, seed: int = 5) -> dict[str, float]:
    """Numbers by name, Euler parameters of unit length."""
    rng = np.random.default_rng(seed)
    values = {
        str(x): float(v) for x, v in zip([*s.coordinates, *s.speeds], rng.normal(size=99), strict=False)
    }
    for body in s.bodies.values():
        for start in body.assembly.quaternions:
            names = [str(q) for q in body.coordinates[start : start + 4]]
            e = np.array([values[name] for name in names])
            values |= dict(zip(names, (e / np.linalg.norm(e)).tolist(), strict=True))
    return values | {"t": 0.0}


@pytest.mark.parametrize(
    ("parents", "expected"), TREES, ids=lambda x: " ".join(x) if isinstance(x, dict) else ""
)
def test_branches_run_from_hub_to_hub(parents: dict[str, str], expected: list[tuple[str, str]]) -> None:
    tree = build_tree(system(parents))

    def name(i: int) -> str:
        return "ground" if i < 0 else tree.links[i].name

    assert [(name(b.hub), " ".join(map(name, b.links))) for b in branches(tree)] == expected


def schur(tree: Tree, branch: str) -> np.ndarray:
    """What eliminating all that hangs on the free hub by a branch leaves of its rows, linear ones first."""
    found = mass_matrix(tree)
    size = 1 + max(j for _, j in found)
    M = np.zeros((size, size))
    for (i, j), value in found.items():
        M[i, j] = M[j, i] = value
    names = [link.name for link in tree.links]
    inside = [names.index(branch)]
    for i, link in enumerate(tree.links):
        if link.parent in inside and i not in inside:
            inside.append(i)
    eliminated = [d.index for i in inside for d in tree.links[i].freedoms]
    F = M[np.ix_(eliminated, range(6))]
    return -F.T @ np.linalg.solve(M[np.ix_(eliminated, eliminated)], F)


@pytest.mark.parametrize("parents", [parents for parents, _ in TREES if "hub" in parents], ids=" ".join)
def test_contributions_are_schur_complements_of_the_mass_matrix(parents: dict[str, str]) -> None:
    """Nested branches too: what reaches the root is the elimination of the whole subtree at once."""
    s = system(parents)
    tree, applied = planted_on_numbers(s, state(s))
    checked = 0
    for block in eliminate_branches(tree, applied):
        c = block.contribution
        if c is None or c.hub != "hub":
            continue
        whole = np.block(
            [[np.array(c.A, float), np.array(c.B, float)], [np.array(c.C, float), np.array(c.D, float)]]
        )
        close(whole, schur(tree, c.branch))
        checked += 1
    assert checked == sum(parent == "hub" for parent in parents.values())


@pytest.mark.parametrize("seed", range(11, 11 + len(LOOPS)))
def test_closed_trees(seed: int) -> None:
    """Constraints by their forces on top of the free tree, as the recursion has them."""
    check(seed, LOOPS[seed - 11], "back_substitution")


def accelerations(s: arm.System, formalism: str, values: dict[str, float]) -> np.ndarray:
    model = s.derive(formalism).compile()
    names = (model.coordinate_names, model.speed_names)
    return np.asarray(model.accelerations(0.0, *([values[n] for n in part] for part in names)))


def test_prescribed_and_locked_speeds() -> None:
    parents = TREES[3][0]
    found = {}
    for formalism in ("kane", "back_substitution"):
        s = system(parents)
        s.prescribe("b.q1", "0.3*sin(2*t) + 0.1*t")
        s.lock("e.q1")
        found[formalism] = accelerations(s, formalism, state(s))
    close(found["back_substitution"], found["kane"])


def flexible(held: str | None, *, free: bool) -> arm.System:
    """A boom with two modes on a hub, carrying bodies at two of its nodes; a chain of bodies at its tip."""
    rng = np.random.default_rng(0)
    s = arm.System("flexible")
    joint = arm.Free() if free else arm.Revolute("z")
    hub = s.body("hub", joint=joint, mass=10.0, inertia=(3.0, 4.0, 5.0))
    boom = s.body("boom", hub, arm.Revolute("y"), at=(0.5, 0.1, 0.2))
    boom.flexible(
        nodes={f"n{i}": (0.5 * i, 0.1 * rng.normal(), 0.1 * rng.normal()) for i in range(4)},
        masses=rng.uniform(0.5, 1, 4), inertias=rng.uniform(0.01, 0.02, (4, 3)),
        shapes=0.1 * rng.normal(size=(4, 6, 2)), stiffness=np.diag((3.0, 5.0)), held=held,
    )  # fmt: skip
    data: dict[str, Any] = {"com": (0.2, 0.1, 0.1), "mass": 1.0, "inertia": (0.1, 0.2, 0.15)}
    dish = s.body("dish", boom.node("n3"), arm.Revolute("x"), at=(0.1, 0, 0), **data)
    s.body("feed", dish, arm.Revolute("z"), at=(0.1, 0, 0), **data)
    s.body("fin", boom.node("n2"), arm.Gimbal("zx"), **data)
    s.body("panel", hub, arm.Revolute("y"), at=(-0.5, 0, 0), **data)
    s.gravity(9.81, -s.ground.z)
    return s


@pytest.mark.parametrize(("held", "free"), [("n1", True), (None, False)], ids=["free", "on the ground"])
def test_modes_are_branches_of_their_body(held: str | None, free: bool) -> None:
    s = flexible(held, free=free)
    values = state(s)
    close(accelerations(s, "back_substitution", values), accelerations(s, "kane", values))


def test_contributions_stand_in_the_program() -> None:
    """By name, with the values that the equations report, also where a single joint makes products of all."""
    s = system({"hub": "ground", "a": "hub", "b": "a", "c": "hub"})
    eom = s.derive("back_substitution")
    shown: dict[str, Expr] = {
        n.data: n for n in eom.program.derivatives.nodes if isinstance(n.data, KeptName)
    }
    expected = {}
    for branch, c in eom.contributions.items():
        assert c.hub == "hub"
        for i, x in enumerate("xyz"):
            expected |= {f"v_trans_{branch}_{x}": c.v_trans[i], f"v_rot_{branch}_{x}": c.v_rot[i]}
            for j, y in enumerate("xyz"):
                expected[f"B_{branch}_{x}{y}"] = c.B[i][j]
                if j >= i:
                    expected |= {f"A_{branch}_{x}{y}": c.A[i][j], f"D_{branch}_{x}{y}": c.D[i][j]}
    assert set(shown) == {name for name, value in expected.items() if value.kind != "number"}
    assert len(shown) > 40
    values = state(s) | constants(eom)
    for name, node in shown.items():
        np.testing.assert_allclose(
            arm.evaluate(node, values), arm.evaluate(expected[name], values), rtol=1e-10
        )
        assert f"  {name} = " in eom.show()


def constants(eom: Any) -> dict[str, float]:
    """Values of precomputed constants, none of which depends on a parameter here."""
    made = eom.program.precompute
    return {label: arm.evaluate(node, {}) for label, node in zip(made.labels, made.results, strict=True)}


def test_only_back_substitution_has_contributions() -> None:
    eom = system(TREES[1][0]).derive("recursive")
    with pytest.raises(arm.ArmillaryError, match=r"by 'recursive' have no contributions.*back_substitution"):
        _ = eom.contributions
