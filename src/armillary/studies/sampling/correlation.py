"""Quantities that vary together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from armillary.algebra.arguments import table
from armillary.errors import ParameterError
from armillary.studies.sampling.distributions import Distribution
from armillary.studies.sampling.reading import as_distribution

_SYMMETRIC = 1e-12  # a matrix typed or computed as symmetric differs by no more


class Correlated:
    """Several distributions with the correlation of a multivariate normal one (a Gaussian copula):

        zᵢ = Φ⁻¹(uᵢ),   xᵢ = Fᵢ⁻¹(Φ((L z)ᵢ)),   L Lᵀ = correlation

    so that each quantity keeps its own distribution. Between normal distributions `correlation` is theirs;
    between others it is that of the normal ones behind them, which comes close.

        arm.Correlated({"Cf": arm.Normal(80e3, 5e3), "Cr": arm.Normal(90e3, 5e3)}, [[1, 0.8], [0.8, 1]])
    """

    def __init__(self, distributions: Mapping[str, object], correlation: object) -> None:
        self.distributions: dict[str, Distribution] = {
            name: as_distribution(value, name)
            for name, value in table(distributions, "what varies together", ParameterError).items()
        }
        self.correlation = _checked(correlation, tuple(self.distributions))
        self._factor = np.linalg.cholesky(self.correlation)

    @staticmethod
    def from_data(data: Mapping[str, object]) -> Correlated:
        """From {"correlated": {name: distribution, …}, "correlation": [[…]]}."""
        if set(data) != {"correlated", "correlation"} or not isinstance(data["correlated"], Mapping):
            raise ParameterError("what varies together needs a table 'correlated' and a matrix 'correlation'")
        return Correlated(data["correlated"], data["correlation"])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.distributions)

    def mixed(self, u: np.ndarray) -> np.ndarray:
        """Correlated uniform numbers (names, runs) from independent ones."""
        from scipy.special import ndtr, ndtri

        z = ndtri(u)
        # Term by term: a matrix product rounds by the number of runs in the block.
        found: np.ndarray = ndtr(
            [sum(row[j] * z[j] for j in range(i + 1)) for i, row in enumerate(self._factor)]
        )
        return found

    def __repr__(self) -> str:
        return f"Correlated({', '.join(self.names)})"


def _checked(correlation: object, names: tuple[str, ...]) -> np.ndarray:
    where = f"Correlated({', '.join(names)})"
    if len(names) < 2:
        raise ParameterError(f"{where} needs two names at least; one alone is correlated with nothing")
    try:
        matrix = np.array(correlation, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{where}: the correlation must be a matrix of numbers") from None
    size = len(names)
    if matrix.shape != (size, size):
        raise ParameterError(f"{where}: the correlation must be {size}×{size}, not of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ParameterError(f"{where}: the correlation holds numbers that are not finite")
    for i in range(size):
        if abs(matrix[i, i] - 1) > _SYMMETRIC:
            raise ParameterError(f"{where}: '{names[i]}' has correlation {matrix[i, i]:g} with itself, not 1")
        for j in range(i):
            pair = f"'{names[j]}' and '{names[i]}'"
            if abs(matrix[i, j] - matrix[j, i]) > _SYMMETRIC:
                values = f"{matrix[j, i]:g} above the diagonal and {matrix[i, j]:g} below"
                raise ParameterError(f"{where}: the correlation of {pair} is {values}; it must be symmetric")
            if abs(matrix[i, j]) >= 1:
                raise ParameterError(
                    f"{where}: the correlation of {pair} is {matrix[i, j]:g}; it must lie between -1 and 1, "
                    "and what depends on another entirely should be computed from it in the model"
                )
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest <= _SYMMETRIC:
        raise ParameterError(
            f"{where}: no quantities can have these correlations: the matrix is not positive definite "
            f"(smallest eigenvalue {smallest:.3g}); bring some of them closer to zero"
        )
    matrix.flags.writeable = False
    return matrix
