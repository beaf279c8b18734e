"""What an import leaves besides the system: the file's names and ours, and what was left out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from armillary.errors import outside


class ImportedWarning(UserWarning):
    """What a loader left out or approximated; once per file, as one list."""


@dataclass
class Imported:
    """Where a system came from, as ``system.imported``.

    ``notes`` lists what of the file was left out or approximated. ``bodies``, ``joints``, ``inputs`` and
    ``points`` lead from the file's names to ours: a body's name, the coordinates of a joint such as
    ``("forearm.q1",)``, the input of an actuator, a point such as ``"hand.tip"``. ``settings`` are numbers of
    the file that belong to a run, such as its time step.
    """

    source: str
    format: str
    notes: list[str] = field(default_factory=list)
    bodies: dict[str, str] = field(default_factory=dict)
    joints: dict[str, tuple[str, ...]] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    points: dict[str, str] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """One more thing that was left out; the same is told once."""
        if text not in self.notes:
            self.notes.append(text)

    def warn(self) -> None:
        """One Python warning with all notes, told at the line of the user's that loads the file."""
        if not self.notes:
            return
        told = "".join(f"\n  - {note}" for note in self.notes)
        warnings.warn(f"{self.source}: not everything in it was imported:{told}", ImportedWarning, outside())
