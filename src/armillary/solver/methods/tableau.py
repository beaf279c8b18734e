"""Explicit Runge–Kutta methods, and linearly implicit ones, as data.

    kᵢ = f( t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ ),   i = 0 … s−1
    y₁ = y + h Σᵢ bᵢ kᵢ
    kₛ = f( t + h, y₁ )                     the derivative at the end, first stage of the next step

Dense output between the ends, θ = (t' − t)/h, is one nested form for every method here,

    y(θ) = y + θ(F₀ + (1−θ)(F₁ + θ(F₂ + (1−θ)(F₃ + θ(F₄ + …)))))
    F₀ = y₁ − y,   F₁ = h k₀ − F₀,   F₂ = F₀ − h kₛ − F₁,   F₃₊ᵢ = h Σⱼ dᵢⱼ kⱼ

The first three terms are the cubic Hermite polynomial; methods differ only in the rows d, and in the further
stages kₛ₊₁ … that some of them need. Source: Hairer, Nørsett, Wanner (1993), Solving Ordinary Differential
Equations I, II.6, and their codes dopri5.f and dop853.f.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Row = tuple[float, ...]


def row(entries: dict[int, float]) -> Row:
    """Return a row of a tableau from its nonzero entries."""
    return tuple(entries.get(j, 0.0) for j in range(max(entries) + 1))


@dataclass(frozen=True)
class StepControl:
    """Step-size control from the error norm e of a step and the error of the step before (PI control).

        h' = h / clip( e^exponent / e_before^beta / safety,  1/most,  1/least )

    Source: Hairer, Wanner (1996), Solving Ordinary Differential Equations II, IV.2.
    """

    exponent: float
    beta: float
    least: float
    most: float
    safety: float = 0.9


class ChainedStage(NamedTuple):
    """A stage of a method whose stages need only the rates k of the stage before, so that a step keeps one
    rate and one sum. The stage is at t + h·time, adds h·weight·k to the sum, and puts the next stage at y +
    h·ahead·k.
    """

    time: float
    weight: float
    ahead: float  # 0 for the last stage


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit Runge–Kutta method; only adaptive methods have `control` and `errors`.

    Each method has one tableau object and tableaux are compared by identity, so that runs find their compiled
    loop by the tableau.
    """

    order: int
    c: Row
    a: tuple[Row, ...]  # row i multiplies k₀ … kᵢ₋₁; row 0 is empty
    b: Row
    errors: tuple[Row, ...] = ()  # one row: e = ‖h Σ eⱼkⱼ‖; two rows: the 5th and 3rd order pair of dop853
    control: StepControl | None = None
    extra_c: Row = ()
    extra_a: tuple[Row, ...] = ()
    dense: tuple[Row, ...] = ()
    multistep: bool = False  # whether steps are Adams–Bashforth of order 2, the first by the stages

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def chained_stages(self) -> list[ChainedStage]:
        """Stages as a chain; empty if a stage needs other rates than that of the stage before, and for
        multistep methods.
        """
        if self.multistep or any(weight for row in self.a for weight in row[:-1]):
            return []
        ahead = [*(row[-1] for row in self.a[1:]), 0.0]
        return [ChainedStage(*stage) for stage in zip(self.c, self.b, ahead, strict=True)]

    @property
    def stage_vectors(self) -> list[str]:
        """Names of the rates at the stages."""
        return [rate_name(self, i) for i in range(self.stages)]

    @property
    def vectors(self) -> list[str]:
        """Names of all vectors of a step: the rates at its stages, at its end and at further stages for dense
        output, and the coefficients F of the dense output ("nests").
        """
        rates = [rate_name(self, i) for i in range(self.stages + 1 + len(self.extra_c))]
        return [*rates, *(f"nest{i}" for i in range(3 + len(self.dense)))]

    @property
    def end_enters_error(self) -> bool:
        """Whether kₛ is part of the error estimate, so that a trial step already pays for it."""
        return any(len(weights) > self.stages for weights in self.errors)


@dataclass(frozen=True, eq=False)
class Rosenbrock:
    """A linearly implicit method: all stages of a step solve linear equations with one factorised matrix.

        ( I/(hγ) − ∂f/∂y ) wᵢ = f( t + cᵢ h, y + Σⱼ aᵢⱼ wⱼ ) + Σⱼ cᵢⱼ wⱼ / h + h dᵢ ∂f/∂t
        y₁ = y + Σᵢ bᵢ wᵢ,   error Σᵢ eᵢ wᵢ,   nest F₁₊ᵢ = Σⱼ dᵢⱼ wⱼ

    `couplings` are the cᵢⱼ, `slopes` the dᵢ. The dense output has the nested form above with F₀ = y₁ − y; all
    further coefficients come from the stages, since a rate at the end of a stiff step amplifies its error.
    Source: Hairer, Wanner (1996), Solving Ordinary Differential Equations II, IV.7.
    """

    order: int
    gamma: float
    c: Row
    a: tuple[Row, ...]
    couplings: tuple[Row, ...]
    slopes: Row
    b: Row
    errors: tuple[Row, ...] = ()
    control: StepControl | None = None
    dense: tuple[Row, ...] = ()
    end_enters_error = False
    multistep = False

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def stage_vectors(self) -> list[str]:
        """Names of the stages."""
        return [f"w{i + 1}" for i in range(self.stages)]

    @property
    def vectors(self) -> list[str]:
        """Names of all vectors of a step: its stages, and the coefficients F of dense output ("nests")."""
        return [*self.stage_vectors, *(f"nest{i}" for i in range(max(3, 1 + len(self.dense))))]


def rate_name(tableau: Tableau, i: int) -> str:
    """Return the name of the vector kᵢ; the derivative at the end of a step is ``k_end`` in all methods."""
    return "k_end" if i == tableau.stages else f"k{i}"


@dataclass(frozen=True)
class Method:
    """An integration method: a tableau for the compiled loops, explicit or linearly implicit
    (``rosenbrock``). It integrates only equations whose ``method_family`` is its ``family``, "" for most.
    Exported programs have the ``exported`` methods.
    """

    name: str
    order: int
    adaptive: bool
    description: str
    tableau: Tableau | None = None
    family: str = ""
    exported: bool = False
    rosenbrock: Rosenbrock | None = None
    begins_with: str = ""  # the explicit method that steps until a run is stiff

    @property
    def coefficients(self) -> Tableau | Rosenbrock:
        """The tableau, explicit or linearly implicit."""
        found = self.tableau or self.rosenbrock
        assert found is not None
        return found
