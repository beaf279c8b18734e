"""Identifiers that a language accepts: letters, digits and underscores, each one once, no keyword."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

# Greek letters are common in names of angles and have no ASCII decomposition.
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "ο": "omicron",
    "π": "pi", "ρ": "rho", "σ": "sigma", "ς": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi",
    "ψ": "psi", "ω": "omega",
}  # fmt: skip


def plain(text: str, otherwise: str = "x") -> str:
    """Text as letters, digits and single underscores, beginning with a letter."""
    spelled = "".join(_spelled(character) for character in text)
    decomposed = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    name = re.sub(r"_+", "_", re.sub(r"\W", "_", decomposed)).strip("_")
    if not name:
        return otherwise
    return name if name[0].isalpha() else f"{otherwise}_{name}"


def _spelled(character: str) -> str:
    greek = _GREEK.get(character.lower())
    if greek is None:
        return character
    return greek if character.islower() else greek.capitalize()


def fields(names: Iterable[str], reserved: Iterable[str] = (), *, folded: bool = False) -> tuple[str, ...]:
    """Names by which a user sets values, as close to those of the model as a language allows."""
    namer = Namer(reserved, folded=folded)
    return tuple(namer.fresh(name) for name in names)


class Namer:
    """Names given so far, and new ones that differ from all of them."""

    def __init__(self, reserved: Iterable[str] = (), *, folded: bool = False, longest: int = 63) -> None:
        self.folded, self.longest = folded, longest
        self.taken = {self._key(name) for name in reserved}
        self._numbers: dict[str, int] = {}

    def _key(self, name: str) -> str:
        return name.casefold() if self.folded else name

    def fresh(self, wish: str, otherwise: str = "x") -> str:
        """A name like the wish: itself, or with a number behind it."""
        stem = plain(wish, otherwise)[: self.longest]
        name = stem
        while self._key(name) in self.taken:
            number = self._numbers.get(stem, 0) + 1
            self._numbers[stem] = number
            tail = f"_{number}"
            name = stem[: self.longest - len(tail)] + tail
        self.taken.add(self._key(name))
        return name

    def numbered(self, stem: str) -> Iterator[str]:
        """stem1, stem2, … without those that are taken."""
        number = 0
        while True:
            number += 1
            name = f"{stem}{number}"
            if self._key(name) not in self.taken:
                self.taken.add(self._key(name))
                yield name

    def copy(self) -> Namer:
        """The same names, to go on from in a scope of its own."""
        other = Namer(folded=self.folded, longest=self.longest)
        other.taken, other._numbers = set(self.taken), dict(self._numbers)
        return other
