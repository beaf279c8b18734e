"""The generated program as data: sections of ordered assignments, and the constants that they share.

    precompute    constants from parameters, once per parameter set
    derivatives   q̇, u̇ and rates of the user's states from time, state, constants and memory
    outputs       the quantities of interest at a sample
    events        expressions whose zeros matter
    update        new memory, once per step
    fire          new memory and state when an event happens, one section per event
    normalise     Euler parameters back to unit length, closed contacts without drift
    correct       coordinates with the gaps of closed loops made smaller, one step of Newton's method
    geometry      gaps and speed relations of the constraints, as numbers: for assembly, not for every step
    solve, …      what steps in redundant coordinates need; see redundant.py
    leave, …      what a change of configuration needs; see configurations/sections.py

A section holds nodes in the order in which they are computed; each node has its operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from armillary.algebra.expression import Expr
from armillary.program.derivatives.sparse_rates import SparseStructure
from armillary.program.form.cost import Operations, sum_operations
from armillary.program.form.schedule import schedule
from armillary.program.lanes import Pack
from armillary.program.passes import Graph, narrow


@dataclass(frozen=True, repr=False)
class ProgramSection:
    """Labelled results and the nodes that lead to them, operands first."""

    name: str
    labels: tuple[str, ...]
    results: tuple[Expr, ...]
    nodes: tuple[Expr, ...]
    operations: Operations
    arrival: Mapping[Expr, int] = field(compare=False)  # cycles at which nodes are known; see schedule.py
    packs: tuple[Pack, ...] = ()  # nodes that are computed as one, on vectors; see lanes/

    def __repr__(self) -> str:
        return f"Section({self.name!r}: {len(self.results)} results, {self.operations})"


def section(
    name: str, labels: Sequence[str], results: Graph | Sequence[Expr], *, constant: bool = False
) -> ProgramSection:
    """A section with its nodes put in order; ``constant`` ones compute constants and enter them."""
    graph = narrow(results if isinstance(results, Graph) else Graph(results))
    nodes, arrival = schedule(graph.order, enter_constants=constant)
    operations = sum_operations(nodes) if constant else graph.operations
    return ProgramSection(name, tuple(labels), tuple(graph.roots), nodes, operations, arrival)


@dataclass(frozen=True, repr=False)
class Program:
    """All sections of one system, and where each input symbol is found."""

    name: str
    parameters: tuple[Expr, ...]  # inputs of precompute, in order
    constants: tuple[Expr, ...]  # results of precompute, in order: inputs of all other sections
    state: tuple[Expr, ...]  # coordinates, the independent speeds, the user's own states
    memory: tuple[Expr, ...]
    time: Expr
    precompute: ProgramSection
    derivatives: ProgramSection
    outputs: ProgramSection
    events: ProgramSection
    update: ProgramSection
    fire: tuple[ProgramSection, ...]
    normalise: ProgramSection
    correct: ProgramSection
    corrected: tuple[int, ...]  # places in the state that ``correct`` renews
    geometry: ProgramSection
    quaternions: tuple[int, ...]  # places in the state where four Euler parameters start
    renewed: tuple[int, ...] = ()  # places in the state that ``normalise`` renews
    correction_sizes: tuple[Expr, ...] = ()  # numbers or constants: of what ``correct`` renews
    speed_sizes: tuple[Expr, ...] = ()  # likewise of all speeds that ``geometry`` holds
    row_sizes: tuple[Expr, ...] = ()  # and of its rows
    inputs: tuple[Expr, ...] = ()  # of stepping sections, after the state
    stepping: tuple[ProgramSection, ...] = ()  # what integrators of redundant coordinates call
    motion: tuple[Expr, ...] = ()  # what sections of changes but ``leave`` take in place of the state
    changes: tuple[ProgramSection, ...] = ()  # of configuration
    partial_rates: tuple[ProgramSection, ...] = ()  # one or none: ∂f/∂y by columns, or sparse; then ∂f/∂t
    structure: SparseStructure | None = None  # of the equations of implicit steps, where they are sparse
    driven: tuple[Expr, ...] = ()  # inputs over time: their memory holds the addresses of their data
    alike: tuple[tuple[Expr, ...], ...] = ()  # states of branches that are alike: see lanes/
    tabled: tuple[tuple[Expr, Expr], ...] = ()  # inputs whose data an export holds, and these of the time
    stops: tuple[tuple[float, bool], ...] = ()  # times at which data of inputs bend, and whether they jump

    @property
    def normalises(self) -> bool:
        """Whether a state is corrected after each step."""
        return bool(self.renewed or self.corrected)

    def sections(self) -> tuple[ProgramSection, ...]:
        """All sections, in the order in which they are met."""
        return (
            self.precompute,
            self.derivatives,
            self.outputs,
            self.events,
            self.update,
            *self.fire,
            self.normalise,
            self.correct,
            self.geometry,
            *self.stepping,
            *self.changes,
            *self.partial_rates,
        )

    def __repr__(self) -> str:
        return f"Program({self.name!r}: {', '.join(s.name for s in self.sections())})"
