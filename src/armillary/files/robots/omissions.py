"""Elements and attributes of a file that no reader used: one note for each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from armillary.files.robots.import_notes import Imported
from armillary.files.xml import Element, left_out

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
