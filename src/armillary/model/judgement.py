"""Engineering judgement: quantities that the user declares small or large.

A declaration only records; the derivation neglects what follows from it, or ignores it on request, so that
one description gives both the small and the full model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from armillary.algebra.expression import Expr
from armillary.errors import ModelError, nearest
from armillary.model.joints import Assembly
from armillary.model.reading.expressions import read_expression
from armillary.model.reading.kinds import ExpressionLike
from armillary.model.verbs import ListForm, verb

if TYPE_CHECKING:
    from armillary.model.description import Description

SMALL, LARGE = 1, -1
_WORDS = {SMALL: "small", LARGE: "large"}


@verb(ListForm("small"))
def small(system: Description, *things: ExpressionLike) -> None:
    """Coordinates, speeds, parameters, memories or expressions that stay small: of first order, so that
    terms two orders above the leading ones of their sum are neglected."""
    _declare_order(system, things, SMALL)


@verb(ListForm("large"))
def large(system: Description, *things: ExpressionLike) -> None:
    """Quantities that are large: of order −1, so that their product with a small one is of order zero, as
    the force of a stiff spring is."""
    _declare_order(system, things, LARGE)


def judgements(system: Description) -> dict[Expr, int]:
    """Declared orders by expression; the value of a prescribed speed has the order of the speed."""
    found = dict(system.smallness)
    for given in system.prescriptions.values():
        if given.speed in system.smallness and given.value.kind != "number":
            found[given.value] = system.smallness[given.speed]
    return found


def _declare_order(system: Description, things: tuple[object, ...], order: int) -> None:
    word = _WORDS[order]
    if not things:
        raise ModelError(f"{word}() names nothing; give quantities, e.g. system.{word}('A.q1', 'A.u1')")
    nodes = [_quantity_of(system, thing, word) for thing in things]
    for node in nodes:
        if system.smallness.get(node, order) != order:
            raise ModelError(f"'{node}' is declared both small and large; drop one of the two declarations")
    system.smallness.update(dict.fromkeys(nodes, order))


def _quantity_of(system: Description, thing: object, word: str) -> Expr:
    """Return the quantity of a declaration, without a number before it."""
    known = set(system.parameters)
    node = read_expression(system, thing, f"declared {word}")
    for name in set(system.parameters) - known:  # a text would make a parameter of an unknown name
        del system.parameters[name]
        hint = nearest(name, [*system.parameters, *system.memories, *system.states, *system.loads])
        raise ModelError(f"declared {word}: there is no '{name}'{hint}; declare it before it is judged")
    if node.kind == "product" and node.data[1] == (1,):
        node = node.args[0]
    if node.kind == "number":
        raise ModelError(
            f"declared {word}: '{thing}' is the number {node}, which has a size of its own; "
            "give it a name with parameter() and declare that"
        )
    if node.kind == "symbol" and node.data.role in ("time", "acceleration"):
        why = "time passes" if node.data.role == "time" else "the rate of a speed follows from the equations"
        raise ModelError(f"declared {word}: '{node}' cannot be: {why}")
    _check_euler_parameters(system, node, word)
    return node


def _check_euler_parameters(system: Description, node: Expr, word: str) -> None:
    for body in system.bodies.values():
        for start in body.assembly.quaternions:
            if node in body.coordinates[start : start + 4]:
                raise ModelError(
                    f"declared {word}: '{node}' is an Euler parameter of body '{body.name}', and the "
                    f"four are of unit length together; {_SEQUENCE}"
                )


def judge_joint(system: Description, body: str, assembly: Assembly, variables: tuple[Expr, ...]) -> None:
    """All coordinates and speeds of a joint with small=True."""
    if assembly.quaternions:
        raise ModelError(
            f"body '{body}': a joint with Euler parameters cannot be small, since the four are of unit "
            f"length together; {_SEQUENCE}"
        )
    system.smallness.update(dict.fromkeys(variables, SMALL))


_SEQUENCE = "give its joint a sequence of angles such as rotation='xyz'"
