"""Notes of an import: the file's names and the system's, and omitted elements."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from armillary.errors import ImportedWarning, ModelError, outside


@dataclass
class Imported:
    """Where a system came from, as ``system.imported``.

    ``notes`` lists what of the file was left out or approximated, so that the motion may differ; what has no
    effect on it is not listed. ``remarks`` lists what was read otherwise than it is written: angles whose
    digits spell a multiple of π/12. ``keyframes`` are names that ``keyframe=`` takes. ``bodies``, ``joints``,
    ``inputs`` and ``points`` lead from the file's names to ours: a body's name, the coordinates of a joint
    such as ``("forearm.q1",)``, the input of an actuator, a point such as ``"hand.tip"``. ``settings`` are
    numbers of the file that belong to a run, such as its time step.
    """

    source: str
    format: str
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    bodies: dict[str, str] = field(default_factory=dict)
    joints: dict[str, tuple[str, ...]] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    points: dict[str, str] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)
    keyframes: tuple[str, ...] = ()

    def note(self, text: str) -> None:
        """A note on something that may change the motion; the same text is noted once."""
        if text not in self.notes:
            self.notes.append(text)

    def remark(self, text: str) -> None:
        """A remark on something that was read otherwise than it is written, where there is any."""
        if text:
            self.remarks.append(text)

    def warn(self, *, strict: bool) -> None:
        """A Python warning for each note and remark, at the line of the user's that loads the file; with
        ``strict`` one error with all notes.
        """
        if strict and self.notes:
            listed = "".join(f"\n  {note}" for note in self.notes)
            raise ModelError(
                f"{self.source}: what was left out or approximated may change the motion:{listed}"
            )
        for note in [*self.notes, *self.remarks]:
            warnings.warn(f"{self.source}: {note}", ImportedWarning, outside())
