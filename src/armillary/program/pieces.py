"""Kane's equations of a system in its independent speeds, M u̇ = f, and the terms of f.

    f = −c + g + e + Σ Q        c  velocity terms, and terms of given accelerations
                                g  uniform gravity
                                e  stiffness and damping of flexible bodies
                                Q  generalised force of one load

M and f depend on the system and its configuration, not on the formalism of the derivation: closed loops and
given motions are eliminated, and the speeds of free bodies are those of the description. If quantities are
declared small, M and f keep the orders that the derivation kept.

``with_functions`` makes programs for other functions of a system, such as the poses of its bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from armillary.algebra.calculus import gradient
from armillary.algebra.expression import ZERO, Expr, as_expr, symbol, total
from armillary.algebra.node import truncate_new_nodes
from armillary.algebra.textbook_form import ExpressionMatrix, ExpressionVector
from armillary.algebra.triples import ZEROS, Scalar, minus, plus, times
from armillary.algebra.truncation import Truncation
from armillary.algebra.vectors import Vector, direction_cosines
from armillary.algebra.walk import Undimensioned, operands_first, symbols, transform
from armillary.errors import ModelError, shown
from armillary.mechanics.constraints.constrained_equations import reduced_equations, reduced_forces
from armillary.mechanics.constraints.reduction import (
    Configuration,
    Reduction,
    acceleration_remainders,
    reduce_system,
    with_given,
)
from armillary.mechanics.tree.build import build_tree
from armillary.mechanics.tree.inverse_dynamics import efforts, elasticity, generalised_forces, weight
from armillary.mechanics.tree.kinematics import AppliedLoads, applied_loads, corrections, loads_on_tree
from armillary.mechanics.tree.mass_matrix import ImplicitEquations, mass_matrix
from armillary.mechanics.tree.tree import Freedom, Link, Tree
from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description, Load
from armillary.model.quantities import jacobian_of_rows, velocity_rows
from armillary.model.reading.expressions import parse_text
from armillary.model.reading.references import find_body
from armillary.model.signals import state_rates
from armillary.model.space.attraction import all_loads, modal_forces
from armillary.program.equations import DerivedEquations
from armillary.program.formalisms.formalism import derivation
from armillary.program.formalisms.tree_formalisms import force_array
from armillary.program.sections import program_of
from armillary.program.targets.targets import StepSection, reader

_NOTHING = AppliedLoads({}, {})
# If there are more pairs (link, link on its path to the ground), ``mass_product`` replaces M.
_PAIRS = 1000


class MassProduct(NamedTuple):
    """M x, for symbols x: the efforts of inverse dynamics at rest, without gravity and loads.

    The size of M grows with the square of a chain's length, the size of M x with the length. Each unit vector
    x gives a column of M.
    """

    x: tuple[Expr, ...]
    product: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Pieces:
    """M u̇ = f of a system in one configuration; each term is derived when it is requested."""

    system: Description
    reduction: Reduction
    keep: int | None = None  # orders of small quantities above the leading one; None: nothing is small

    @property
    def plain(self) -> Undimensioned:
        """The converter of the description's expressions for these equations."""
        return self.reduction.plain

    @cached_property
    def coordinates(self) -> tuple[Expr, ...]:
        """Coordinates that are not given, in the order of the description."""
        return tuple(self.plain(q) for q in self.reduction.coordinates(self.system))

    @cached_property
    def speeds(self) -> tuple[Expr, ...]:
        """The independent speeds u."""
        return tuple(self.plain(u) for u in self.reduction.independent(self.system))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows: the independent speeds."""
        return tuple(u.data.name for u in self.speeds)

    @cached_property
    def mass_matrix(self) -> ExpressionMatrix:
        """The mass matrix M of the independent speeds."""
        elements = tuple(
            tuple(as_expr(self._mass(r, s)) for s in self._speed_indices) for r in self._speed_indices
        )
        return ExpressionMatrix("mass matrix", self.names, self.names, elements)

    @cached_property
    def mass_product(self) -> MassProduct | None:
        """M x of a large tree of rigid bodies; None for other systems, for which M itself is used."""
        tree = self._tree
        short = sum(len(tree.path_to_ground(i)) for i in range(len(tree.links))) <= _PAIRS
        flexible = any(link.modes is not None for link in tree.links)
        if short or flexible or self.keep is not None or self.reduction.elimination.factors:
            return None
        identity = self.system.identity
        x = {k: symbol(f"x_{k + 1}", "variable", owner=identity) for k in self._speed_indices}

        def move_freedom(d: Freedom) -> Freedom:
            return replace(d, speed=0, rate=x.get(d.index, 0), dependent=d.index in x)

        with _derivation(None):
            found = efforts(replace(tree, gravity=ZEROS).with_degrees(move_freedom), _NOTHING)
        return MassProduct(tuple(x.values()), tuple(as_expr(found[k]) for k in x))

    @cached_property
    def forcing(self) -> ExpressionVector:
        """f, all terms that do not depend on u̇: the sum of all causes, derived together."""
        with _derivation(self.keep):
            loads = applied_loads(self.system, self._tree, self.plain)
            force = reduced_forces(force_array(self._tree, loads), self.reduction.elimination.factors)
            return self._name_values("forcing", self._with_gain(force, self._tree))

    @cached_property
    def coriolis(self) -> ExpressionVector:
        """c, with M u̇ + c = generalised forces: velocity terms, and terms of given accelerations."""
        with _derivation(self.keep):
            tree = replace(self.reduction.free_tree or self.reduction.tree, gravity=ZEROS)
            tree = replace(tree, links=tuple(_without_elasticity(link) for link in tree.links))
            elimination = self.reduction.elimination
            if elimination.kept:
                right = acceleration_remainders(
                    self.system, tree, elimination, self.plain, self.reduction.given
                )
                tree = tree.with_dependent_rates(elimination.solve(right, "c"))
            force = reduced_forces(force_array(tree, _NOTHING), elimination.factors)
            found = self._with_gain(force, tree)
        return self._name_values("velocity terms", {k: minus(0, value) for k, value in found.items()})

    @cached_property
    def coriolis_matrix(self) -> ExpressionMatrix:
        """C with C u = c, by Christoffel's symbols, so that Ṁ − 2 C is skew:

            C_ij = ½ Σ_k ( ∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i ) u_k

        Source: Murray, Li and Sastry (1994), eq. 4.23. The speeds must be the rates of the coordinates.
        """
        q, u, system = self.coordinates, self.speeds, self.system
        rates = [self.plain(system.rates[s]) for s in self.reduction.coordinates(system)]
        if rates != list(u) or self.reduction.given or system.constraints:
            raise ModelError(
                f"system '{system.name}' has no matrix C by Christoffel's symbols: its speeds are not the "
                "rates of its coordinates, or constraints or given motions exist; coriolis has the vector C u"
            )
        n = range(len(u))
        slopes = [[gradient(x, q) for x in row] for row in self.mass_matrix]

        def element(i: int, j: int) -> Expr:
            terms = [(0.5, (slopes[i][j][k] + slopes[i][k][j] - slopes[j][k][i]) * u[k]) for k in n]
            return total(terms)

        elements = tuple(tuple(element(i, j) for j in n) for i in n)
        return ExpressionMatrix("Coriolis matrix", self.names, self.names, elements)

    @cached_property
    def gravity_forces(self) -> ExpressionVector:
        """g, the generalised forces of gravity that acts uniformly on all bodies."""
        return self._generalise("gravity", weight)

    @cached_property
    def elastic_forces(self) -> ExpressionVector:
        """e, the generalised forces of stiffness and damping of flexible bodies."""
        return self._generalise("elasticity", elasticity)

    @cached_property
    def load_forces(self) -> dict[str, ExpressionVector]:
        """Q of each load by name; the attraction beyond uniform gravity by the name of the attractor."""
        groups: dict[str, list[Load]] = {}
        for load in all_loads(self.system):
            groups.setdefault(_cause(self.system, load), []).append(load)
        found = {
            name: self._generalise(name, partial(loads_on_tree, loads, plain=self.plain))
            for name, loads in groups.items()
        }
        on_modes: dict[int, Scalar] = {
            self.system.speeds.index(u): self.plain(x) for u, x in modal_forces(self.system).items()
        }
        if on_modes:
            name = "attraction of modes"
            found[name] = self._generalise(name, lambda _: AppliedLoads({}, on_modes))
        return found

    @property
    def causes(self) -> dict[str, ExpressionVector]:
        """Nonzero terms of f by name; velocity terms are −c, as in f."""
        velocity = ExpressionVector("velocity terms", self.names, tuple(-x for x in self.coriolis))
        found = {"velocity": velocity, "gravity": self.gravity_forces, "elasticity": self.elastic_forces}
        for name, forces in self.load_forces.items():
            found[f"load {name}" if name in found else name] = forces
        return {name: v for name, v in found.items() if any(x is not ZERO for x in v)}

    @cached_property
    def input_map(self) -> ExpressionMatrix:
        """B, with f = f₀ + B w for the declared inputs w; f₀ and B must not depend on w."""
        inputs = [self.plain(m.symbol) for m in self.system.memories.values() if m.input]
        if not inputs:
            raise ModelError(
                f"system '{self.system.name}' has no inputs to map; declare one with s.input(name, units=…)"
            )
        rows = [gradient(f, inputs) for f in self.forcing]
        held = {
            s: w for w, column in zip(inputs, zip(*rows, strict=True), strict=True) for s in symbols(*column)
        }
        for w in inputs:
            if w in held:
                raise ModelError(
                    f"input '{held[w]}' does not enter the forcing linearly: its factor depends on '{w}'; "
                    "use model.linearize(inputs=[…]) at an operating point"
                )
        names = tuple(w.data.name for w in inputs)
        return ExpressionMatrix("input map", self.names, names, tuple(map(tuple, rows)))

    def jacobian(self, of: object, axes: object = None) -> ExpressionMatrix:
        """Return the Jacobian of a point's or body's velocity by the independent speeds; see
        ``arm.jacobian``.
        """
        found = parse_text(self.system, of, "jacobian", {}) if isinstance(of, str) else of
        if not isinstance(found, Point | Body):
            raise ModelError(f"jacobian: {shown(of)} is not a point or a body, such as body.com or 'A.com'")
        find_body(self.system, found.body if isinstance(found, Point) else found, "jacobian")
        turned = None if axes is None else find_body(self.system, axes, "jacobian: axes")
        with _derivation(self.keep):
            rows = [self.plain(row) for row in velocity_rows(found, turned)]
            return jacobian_of_rows(found, rows, self.speeds)

    def quantity(self, value: object) -> list[Expr]:
        """Return a scalar, or a vector's components in the ground's axes, as functions of the state."""
        parts = value.components(self.system.ground.frame) if isinstance(value, Vector) else [value]
        with _derivation(self.keep):
            return [self.plain(as_expr(x)) for x in parts]

    # ------------------------------------------------------------ derivation of M and f

    @cached_property
    def _speed_indices(self) -> list[int]:
        return [self.system.speeds.index(u) for u in self.reduction.independent(self.system)]

    @property
    def _tree(self) -> Tree:
        return self.reduction.tree

    @cached_property
    def _matrix(self) -> Mapping[tuple[int, int], Scalar]:
        with _derivation(self.keep):
            names = {d.index: d.name for link in self._tree.links for d in link.degrees if not d.prescribed}
            whole = ImplicitEquations(mass_matrix(self._tree), dict.fromkeys(names, 0), names)
            return reduced_equations(whole, self.reduction.elimination.factors).matrix

    def _mass(self, r: int, s: int) -> Scalar:
        return self._matrix.get((min(r, s), max(r, s)), 0)

    def _with_gain(self, force: Mapping[int, Scalar], tree: Tree) -> dict[int, Scalar]:
        """Return f + M γ, for M u̇ = f + M γ, from f of the equations M x = f with x = u̇ − γ."""
        gained = {k: v for k, v in corrections(tree).items() if k in self._speed_indices}
        found = dict(force)
        for r in found:
            for s, more in gained.items():
                found[r] = plus(found[r], times(self._mass(r, s), more))
        return found

    def _generalise(self, what: str, loads: Callable[[Tree], AppliedLoads]) -> ExpressionVector:
        with _derivation(self.keep):
            forces = generalised_forces(self._tree, loads(self._tree))
            return self._name_values(what, reduced_forces(forces, self.reduction.elimination.factors))

    def _name_values(self, what: str, values: Mapping[int, Scalar]) -> ExpressionVector:
        return ExpressionVector(
            what, self.names, tuple(as_expr(values.get(k, 0)) for k in self._speed_indices)
        )


_KEPT = "_pieces"  # attribute of equations


def pieces_of(equations: DerivedEquations) -> Pieces:
    """Return the pieces of equations by any formalism, in their configuration; the equations keep them."""
    if (known := vars(equations).get(_KEPT)) is not None:
        found: Pieces = known
        return found
    system, judged = equations.system, equations.judged
    keep = judged.keep if judged else None
    with _derivation(keep):
        reduction = _reduce_to_independent_speeds(
            system, reader(judged.declared, judged.keep), _configuration(equations)
        )
        found = vars(equations)[_KEPT] = Pieces(system, reduction.regroup(), keep)
    return found


def kane_states(equations: DerivedEquations, pieces: Pieces) -> DerivedEquations:
    """Return equations with the pieces' state: coordinates, independent speeds, the user's own states.

    Functions of this state can be added to the result, also if the equations have other states.
    """
    own = tuple(pieces.plain(s) for s in state_rates(equations.system))
    targets = replace(
        equations.targets, coordinates=pieces.coordinates, speeds=pieces.speeds, states=own, carried=()
    )
    return replace(equations, targets=targets)


def _configuration(equations: DerivedEquations) -> Configuration:
    """Return the configuration of equations, including the derivation's choice of dependent speeds."""
    chosen = tuple((constraint, speed) for speed, constraint in equations.dependents.items())
    return Configuration(equations.configuration.locked, chosen)


def _reduce_to_independent_speeds(
    system: Description, plain: Undimensioned, configuration: Configuration
) -> Reduction:
    """Return the system reduced to its independent speeds.

    Free bodies are split into single freedoms, so that each unknown is the rate of a speed less a known part.
    """
    if system.constraints:
        return reduce_system(system, plain, configuration)
    plain, given = with_given(system, plain, configuration)
    return Reduction(build_tree(system, plain, given=given, split_free_bodies=True), plain, given)


@contextmanager
def _derivation(keep: int | None) -> Iterator[None]:
    with derivation(), truncate_new_nodes(None if keep is None else Truncation(keep)):
        yield


def _without_elasticity(link: Link) -> Link:
    if link.modes is None:
        return link
    return replace(link, modes=replace(link.modes, restoring=tuple(0 for _ in link.modes.restoring)))


def _cause(system: Description, load: Load) -> str:
    """Return the name of a load, or of the attractor that causes it."""
    if load.name in system.loads:
        return load.name
    return next(name for name in system.attractors if load.name.startswith(f"{name}_"))


# Programs for other functions of a system: any expressions of its time, state, memory and parameters.


def with_functions(
    equations: DerivedEquations,
    functions: Mapping[str, Sequence[Expr]],
    inputs: Sequence[Expr] = (),
    *,
    search: bool = True,
    per_state: Mapping[Expr, Expr] | None = None,
) -> DerivedEquations:
    """Return the equations with a program of these functions alone, with one table of constants.

    The expressions have no dimensions and contain neither dependent speeds nor accelerations (see
    ``program/targets/targets.py``); ``inputs`` are the symbols in them other than state, time, memory and
    parameters. With ``search``, passes search for common factors and pairs in the results, as for the
    derivatives of a system. Symbols of contact forces are replaced by their expressions. ``per_state`` has an
    input for each state, such as a weight of its rate. Branch packs, which combine the states of branches
    that are alike, combine these inputs in the same way.
    """
    forces = equations.targets.forces
    if forces:
        functions = {name: transform(results, forces.get) for name, results in functions.items()}
    function_targets = replace(
        equations.targets,
        rates=(),
        columns=(),
        watched=(),
        events=(),
        updates=(),
        fires=(),
        normalised=(),
        quaternions=(),
        renewed=(),
        corrected=(),
        corrections=(),
        geometry=(),
        sizes=(),
        row_sizes=(),
        inputs=tuple(inputs),
        stepping=tuple(
            StepSection(name, tuple(f"{name}[{i}]" for i in range(len(results))), tuple(results), search)
            for name, results in functions.items()
        ),
    )
    with derivation():
        program, gains = program_of(equations.system, function_targets, equations.reduction.plain)
    if per_state:
        columns = [c for c in program.alike if all(s in per_state for s in c)]
        program = replace(
            program, alike=(*program.alike, *(tuple([per_state[s] for s in c]) for c in columns))
        )
    return replace(equations, program=program, targets=function_targets, gains=tuple(gains))


def shared_part(results: Sequence[Expr], inputs: Sequence[Expr], owner: object) -> dict[Expr, Expr]:
    """Return the largest expressions in the results that do not depend on the inputs, each by a new symbol.

    If a function is called for one state with many inputs, these expressions can be computed once.
    """
    moving = set(inputs)
    shared: dict[Expr, None] = {}
    for node in operands_first(results):
        if any(a in moving for a in node.args):
            moving.add(node)
            shared.update(dict.fromkeys(a for a in node.args if a.args and not a.constant))
    still = [x for x in shared if x not in moving]
    return {symbol(f"shared_{i + 1}", "variable", owner=owner): x for i, x in enumerate(still)}


# The pose of every body in its parent, as expressions, from which pictures of a motion are made.
#
# The displacement d of a body's origin, in the parent's axes, and the rotation R with v_parent = R v_body.

LENGTH = 12  # number of expressions of a pose: d, then R row by row


def moving_bodies(equations: DerivedEquations) -> list[Body]:
    """Return all bodies but the ground, parents before children."""
    return [body for body in equations.system.bodies.values() if body.parent is not None]


def pose_expressions(equations: DerivedEquations) -> list[Expr]:
    """Return the poses of all moving bodies in their parents, twelve expressions each."""
    plain = equations.reduction.plain
    found: list[Expr] = []
    for body in moving_bodies(equations):
        assert body.parent is not None
        parent = body.parent.frame
        turned = (x for row in direction_cosines(parent, body.frame) for x in row)
        found += [plain(as_expr(e)) for e in (*body.displacement.components(parent), *turned)]
    return found
