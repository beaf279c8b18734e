"""Origins slid along their joints: the same motion by fewer operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.expression import as_expr
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.regroup import slide_origins
from armillary.mechanics.tree.tree import Tree


def chain(n: int) -> arm.System:
    """Links along z, hinged about x, y and z in turn."""
    s = arm.System("chain")
    s.gravity(9.81, -s.ground.z)
    link = s.ground
    for i in range(n):
        link = s.body(
            f"link{i + 1}", parent=link, joint=arm.Revolute("xyz"[i % 3]), at=(0, 0, 0.3 if i else 0),
            com=(0, 0, 0.15), mass=1.0, inertia=(0.01, 0.012, 0.005),
        )  # fmt: skip
    return s


def oblique() -> arm.System:
    """Turns and slides about axes of any direction, a fork, and a spring between points of two branches."""
    s = arm.System("fork")
    s.gravity(9.81, -s.ground.z)
    axis = np.array([1.0, 2.0, 2.0]) / 3.0
    a = s.body("a", joint=arm.Revolute(axis), at=(0.1, 0.2, 0.3), com=(0.1, 0, 0.2), mass=2.0,
               inertia=(0.1, 0.2, 0.25))  # fmt: skip
    b = s.body("b", parent=a, joint=arm.Prismatic((0, 0.6, 0.8)), at=(0.3, -0.1, 0.2), com=(0, 0.1, 0.1),
               mass=1.0, inertia=(0.02, 0.03, 0.04))  # fmt: skip
    c = s.body("c", parent=b, joint=arm.Revolute("z"), at=(0.2, 0.1, 0.4), com=(0.1, 0.05, 0), mass=0.7,
               inertia=(0.01, 0.02, 0.025))  # fmt: skip
    d = s.body("d", parent=c, joint=arm.Revolute("x"), at=(0.3, 0, 0.5), com=(0, 0.2, 0.1), mass=0.5,
               inertia=(0.01, 0.01, 0.015))  # fmt: skip
    e = s.body("e", parent=c, joint=arm.Spherical(), at=(-0.1, 0, 0.5), com=(0, 0, 0.2), mass=0.4,
               inertia=(0.01, 0.012, 0.015))  # fmt: skip
    s.strut(
        "spring", "-50*(x - 0.3)", between=(d.point("tip", (0.1, 0.2, 0.3)), e.point("tip", (0, 0.1, 0.2)))
    )
    return s


def numbers(triple: Any) -> tuple[float, ...]:
    return tuple(float(as_expr(x).data) for x in triple)


def offsets(tree: Tree) -> list[tuple[float, ...]]:
    return [numbers(link.offset) for link in tree.links]


@pytest.mark.parametrize("formalism", ["kane", "recursive", "momentum"])
def test_the_motion_is_the_same_as_with_origins_and_inertias_as_given(formalism: str) -> None:
    s = oblique()
    own, given = (s.derive(formalism, regroup=r).compile() for r in (True, False))
    rng = np.random.default_rng(3)
    for _ in range(5):
        values = {name: rng.normal() for name in (*own.coordinate_names, *own.speed_names)}
        rates = [m.derivatives(0.2, m.state(values)) for m in (own, given)]
        assert np.max(np.abs(rates[0] - rates[1])) <= 1e-11 * max(1.0, np.max(np.abs(rates[1])))


def test_operations_of_a_chain_of_eight() -> None:
    counts = chain(8).derive("recursive").operations
    assert (counts.additions, counts.multiplications) == (382, 549)


def test_mirrored_branches_stay_alike() -> None:
    """Two arms on a turning post: an origin that suits one of them alone stays where it is."""
    s = arm.System("post")
    base = s.body("base", joint=arm.Revolute("x"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    post = s.body(
        "post", parent=base, at=(0, 0.3, 0), joint=arm.Revolute("z"), mass=1.0, inertia=(0.1, 0.1, 0.1)
    )
    for name, y in (("left", 0.5), ("right", -0.5)):
        s.body(name, parent=post, joint=arm.Revolute("y"), at=(0.2, y, 0.1 if y > 0 else 0.3), mass=1.0,
               inertia=(0.1, 0.1, 0.1))  # fmt: skip
    tree = build_tree(s)
    assert offsets(slide_origins(tree)) == offsets(tree)


def test_bodies_follow_the_origins_of_their_links() -> None:
    s = arm.System("two")
    upper = s.body("upper", joint=arm.Revolute("z"), at=(0, 0, 0.7), mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.body(
        "lower", parent=upper, joint=arm.Revolute("x"), at=(0.2, 0, 0.5), mass=1.0, inertia=(0.1, 0.1, 0.1)
    )
    slid = slide_origins(build_tree(s))
    assert offsets(slid) == [(0, 0, 1.2), (0.2, 0, 0)]
    assert numbers(slid.placements["upper"].origin) == (0, 0, -0.5)
    assert numbers(slid.links[0].first) == (0, 0, -0.5)  # of the mass of one at the joint as it was
