"""Contributions of branches to their hubs, read off equations by back substitution."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from armillary.algebra.expression import as_expr
from armillary.algebra.nodes.node import truncated
from armillary.algebra.smallness.truncation import Truncation
from armillary.algebra.vectors.matrices import Matrix
from armillary.algebra.vectors.triples import Triple
from armillary.errors import ModelError
from armillary.mechanics.formalisms.back_substitution import eliminate_branches
from armillary.mechanics.formalisms.contribution import Contribution
from armillary.mechanics.tree.loads import applied_loads

if TYPE_CHECKING:
    from armillary.program.equations import DerivedEquations


def contributions(equations: DerivedEquations) -> dict[str, Contribution]:
    """A, B, C, D, v_trans and v_rot of every branch by its name, as expressions.

    They are made again as the derivation made them. Equal expressions are the same nodes, so these are the
    values that the generated program shows as A_<branch>_xx and so on.
    """
    if equations.formalism != "back_substitution":
        raise ModelError(
            f"equations by '{equations.formalism}' have no contributions of branches to hubs; "
            'derive(formalism="back_substitution") has'
        )
    reduction = equations.reduction
    rule = reduction.plain.truncation
    with truncated(None if rule is None else Truncation(rule.keep)):
        loads = applied_loads(equations.system, reduction.tree, reduction.plain)
        found = eliminate_branches(reduction.free_tree or reduction.tree, loads)
    made = [_expressions(b.contribution) for b in found if b.contribution is not None]
    return {c.branch: c for c in made}


def _expressions(c: Contribution) -> Contribution:
    def triple(values: Triple) -> Triple:
        x, y, z = map(as_expr, values)
        return x, y, z

    def matrix(rows: Matrix) -> Matrix:
        x, y, z = map(triple, rows)
        return x, y, z

    return replace(
        c, A=matrix(c.A), B=matrix(c.B), D=matrix(c.D), v_trans=triple(c.v_trans), v_rot=triple(c.v_rot)
    )
