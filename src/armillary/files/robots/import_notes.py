"""Notes of an import: names, and elements that were left out.

Notes of an import: the file's names and the system's, and omitted elements.

Elements and attributes of a file that no reader used: one note for each kind.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from armillary.errors import ImportedWarning, ModelError, outside
from armillary.files.xml import Element, left_out


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


_MOST = 40  # notes of this kind; a damaged file can have as many kinds as lines


def note_left_out(record: Imported, root: Element, no_effect: Collection[str]) -> None:
    """Notes about all that was not read, except for what has no effect on the motion."""
    counts: Counter[str] = Counter()
    places: dict[str, str] = {}
    for tag, attribute, element in left_out(root):
        if tag in no_effect or attribute in no_effect or _is_schema(attribute):
            continue
        what = f"<{tag[:40]}>" if attribute is None else f"'{attribute[:40]}' of <{tag[:40]}>"
        what = f"a second {what}" if attribute is None and element.second else what
        counts[what] += 1
        places.setdefault(what, f"{element.file}:{element.line}")
    for what, count in counts.most_common(_MOST):
        place = places[what] if count == 1 else f"{count} times, first at {places[what]}"
        record.note(f"{what} is left out ({place})")
    if len(counts) > _MOST:
        record.note(f"{len(counts) - _MOST} more kinds of elements and attributes are left out")


def _is_schema(attribute: str | None) -> bool:
    return attribute is not None and attribute.startswith(("xmlns", "xsi:", "xml:"))
