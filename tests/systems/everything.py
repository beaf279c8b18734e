"""A system with a load, output, event or memory of every kind."""

from __future__ import annotations

import armillary as arm


def everything() -> arm.System:
    """A small system whose outputs hold every kind of operation that is printed in its own way."""
    s = arm.System("everything")
    body = s.body("A", joint=arm.Revolute("z"), mass="m", inertia=("Ix", "Iy", "Iz"), com=("L", 0, 0))
    s.body("B", parent=body, joint=arm.Revolute("x"), at=("L", 0, 0), mass="m", inertia=(0.1, 0.2, 0.15))
    s.gravity("g", -s.ground.y)
    s.moment("tau", "-k*(A.q1 - target)", "ground.z", on=body)
    s.memory("held", 0.0, update="select(A.q1 > held, A.q1, held)")
    s.event("turned", "A.u1 - limit", set={"held": "held + 2*A.q1", "A.u1": "-A.u1/2"})
    texts = [
        "sqrt(1 + A.q1^2)", "(2 + B.q1)^3", "A.q1^(-2)", "1/sqrt(2 + A.q1)", "A.q1/(B.q1*A.u1)",
        "2*A.q1/B.q1", "(1 + A.q1^2)^1.5", "(2 + A.q1)^0.3", "(2 + A.q1)^B.q1", "atan2(A.q1, B.q1)",
        "min(A.q1, 2*B.q1)",
        "select(A.q1 < B.q1 and not (A.u1 > 0 or B.u1 > 0), A.q1, -B.q1)", "abs(A.q1) - sign(B.q1)",
        "exp(-A.q1)*log(2 + B.q1)", "held*A.q1", "k*L*A.q1 + k*L", "t*A.u1",
    ]  # fmt: skip
    for i, text in enumerate(texts):
        s.output(f"o{i}", text)
    return s
