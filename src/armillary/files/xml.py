"""XML files as elements with their lines, and the record of an import: its names and what was left out.

Readers mark the attributes and children that they read. So an import can note the others, once for each kind,
without a list of everything that is supported. Nothing is executed, fetched or expanded: entities and
document types are refused, which also prevents "billion laughs".
"""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from armillary.errors import ArmillaryError, ImportedWarning, ModelError, nearest, outside
from armillary.limited_files import UnreadableFileError, read_limited

LARGEST = 50_000_000  # most bytes; models of a thousand bodies have one million
DEEPEST = 5_000  # most nested elements
HUGE = 1e50  # beyond the mass of any star; products of three such numbers are still finite


class Element:
    """One element of an XML file: attributes, children, and its line."""

    __slots__ = (
        "attributes", "children", "file", "line", "literal", "read", "remarks", "second", "snapped", "tag",
        "taken", "words",
    )  # fmt: skip

    def __init__(self, tag: str, attributes: dict[str, str], file: str, line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.file = file
        self.line = line
        self.children: list[Element] = []
        self.words = ""
        self.read: set[str] = set()
        self.taken = False
        self.second = False  # whether it follows another of its kind, though only one is allowed
        self.literal = False  # whether its angles are read as written
        self.snapped: list[tuple[str, str, int]] = []  # angles read as k π/12: attribute, text, k
        self.remarks: list[str] = []  # of a root element: deviations of its file from XML

    # ------------------------------------------------------------ errors

    @property
    def where(self) -> str:
        """Place and element for messages, e.g. ``arm.urdf:12: <joint name="elbow">``."""
        name = self.attributes.get("name")
        return f"{self.file}:{self.line}: <{self.tag}{f' name={_shorten(name)}' if name else ''}>"

    def fail(self, message: str) -> NoReturn:
        """Raise an error about this element."""
        raise ModelError(f"{self.where}: {message}")

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Add the place in the file to errors of the system inside this context."""
        try:
            yield
        except ArmillaryError as error:
            if str(error).startswith(f"{self.file}:"):
                raise
            raise ModelError(f"{self.where}: {error}") from error

    # ------------------------------------------------------------ children

    def all(self, *tags: str) -> list[Element]:
        """Return the children of these kinds, in order; mark them as read."""
        found = [child for child in self.children if child.tag in tags]
        for child in found:
            child.taken = True
        return found

    def inside(self, tag: str) -> list[Element]:
        """Return the children of the child of this kind; empty if there is no such child."""
        group = self.only(tag)
        return group.children if group else []

    def only(self, tag: str) -> Element | None:
        """Return the child of this kind, or `None`; if there are two, the first, as in other programs."""
        found = [child for child in self.children if child.tag == tag]
        for extra in found[1:]:
            extra.second = True
        if not found:
            return None
        found[0].taken = True
        return found[0]

    def need(self, tag: str) -> Element:
        """Return the child of this kind; raise an error if there is none."""
        return self.only(tag) or self.fail(f"it needs a <{tag}> inside")

    def take_whole(self) -> None:
        """Mark the element and everything inside it as read."""
        self.taken = True
        stack = [self]
        while stack:
            element = stack.pop()
            element.taken = True
            element.read.update(element.attributes)
            stack += element.children

    # ------------------------------------------------------------ attributes

    def has(self, key: str) -> bool:
        return key in self.attributes

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; raise an error if it is missing and there is no default."""
        self.read.add(key)
        value = self.attributes.get(key, default)
        return value if value is not None else self.fail(f"its attribute '{key}' is missing")

    def choice(self, key: str, options: Sequence[str], default: str | None = None) -> str:
        """Return a text that must be one of a few words."""
        value = self.text(key, default)
        if value not in options:
            self.fail(
                f"{key}={_shorten(value)} is not one of {', '.join(options)}{nearest(value[:80], options)}"
            )
        return value

    def number(self, key: str, default: float | None = None, *, least: float = -math.inf) -> float:
        """Return a finite number."""
        return self.numbers(key, 1, None if default is None else [default], least=least)[0]

    def numbers(
        self,
        key: str,
        count: int | tuple[int, int],
        default: Sequence[float] | None = None,
        *,
        least: float = -math.inf,
    ) -> list[float]:
        """Return the finite numbers of an attribute, which are separated by spaces.

        ``count`` is how many there must be, or the least and greatest count.
        """
        self.read.add(key)
        if key not in self.attributes:
            return list(default) if default is not None else self.fail(f"its attribute '{key}' is missing")
        low, high = (count, count) if isinstance(count, int) else count
        words = self.attributes[key].split()
        if not low <= len(words) <= high:
            wanted = str(low) if low == high else f"{low} to {high}"
            self.fail(
                f"{key}={_shorten(self.attributes[key])} has {len(words)} values; "
                f"give {wanted} number{'s' if high > 1 else ''}"
            )
        return [self._finite(key, word, least) for word in words]

    def _finite(self, key: str, word: str, least: float) -> float:
        try:
            value = float(word)
        except ValueError:
            self.fail(f"{key}: {_shorten(word)} is not a number")
        if not math.isfinite(value) or abs(value) > HUGE:
            self.fail(f"{key}: {_shorten(word)} is not a quantity of a machine; give a finite number")
        if value < least:
            self.fail(f"{key}={_shorten(word)} is less than {least:g}")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """Return whether a text, which must be "true" or "false", is "true"."""
        return self.choice(key, ("true", "false"), "true" if default else "false") == "true"


def read_xml(path: str | os.PathLike[str]) -> Element:
    """Return the root element of a file."""
    file = Path(path)
    try:
        return parse_xml(read_limited(file, LARGEST), file.name)
    except UnreadableFileError as error:
        raise ModelError(f"cannot load '{path}': {error}") from None


def parse_xml(data: bytes, file: str) -> Element:
    """Return the root element of a text; ``file`` is its name in messages."""
    body = data.lstrip()
    early = data[: len(data) - len(body)] if body.startswith(b"<?xml") else b""
    lines = early.count(b"\n")
    data = data[len(early) :]
    parser = expat.ParserCreate()
    parser.buffer_text, parser.buffer_size = True, 2**20  # numbers of a mesh are one long text
    stack: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, file, parser.CurrentLineNumber + lines)
        if len(stack) >= DEEPEST:
            element.fail(f"elements are nested more than {DEEPEST} deep; no model is that deep")
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(tag: str) -> None:
        stack.pop()

    def words(text: str) -> None:
        stack[-1].words += text

    def refuse(*_: object) -> None:
        line = parser.CurrentLineNumber + lines
        raise ModelError(f"{file}:{line}: a document type or entity; a model file needs none, take it out")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = words
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise ModelError(f"{file}:{error.lineno + lines}: not a whole XML file: {reason}") from None
    except (LookupError, UnicodeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{file}: its encoding cannot be read ({error}); save it as UTF-8") from None
    if early:
        roots[0].remarks.append(
            "there are blanks before <?xml …?>, with which an XML file must begin; they are ignored"
        )
    return roots[0]


def left_out(root: Element) -> Iterator[tuple[str, str | None, Element]]:
    """Yield (tag, attribute or None for the whole element, element) of everything that was not read."""
    stack = [root]
    while stack:
        element = stack.pop()
        for key in element.attributes:
            if key not in element.read:
                yield element.tag, key, element
        for child in reversed(element.children):
            if child.taken:
                stack.append(child)
            else:
                yield child.tag, None, child


def _shorten(text: str) -> str:
    """Return a text of the file in quotes, on one line and cut if it is long."""
    clean = " ".join(text.split())
    return f"'{clean if len(clean) <= 60 else clean[:57] + '…'}'"


@dataclass
class Imported:
    """Where a system came from, as ``system.imported``.

    ``notes`` lists parts of the file that were left out or approximated and may change the motion.
    ``remarks`` lists values that were not read as written, such as angles that are rounded multiples of π/12.
    ``keyframes`` are names that ``keyframe=`` takes. ``bodies``, ``joints``, ``inputs`` and ``points`` map
    names of the file to names of the system: of a body, of a joint's coordinates such as ``("forearm.q1",)``,
    of an actuator's input, of a point such as ``"hand.tip"``. ``settings`` are numbers of the file that
    belong to a run, such as its time step.
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
        """Add a note on something that may change the motion; the same text is noted once."""
        if text not in self.notes:
            self.notes.append(text)

    def remark(self, text: str) -> None:
        """Add a remark on values that were not read as written; an empty text is ignored."""
        if text:
            self.remarks.append(text)

    def warn(self, *, strict: bool) -> None:
        """Issue a Python warning for each note and remark, at the user's line that loads the file.

        With ``strict``, raise one error with all notes, if there are any.
        """
        if strict and self.notes:
            listed = "".join(f"\n  {note}" for note in self.notes)
            raise ModelError(
                f"{self.source}: what was left out or approximated may change the motion:{listed}"
            )
        for note in [*self.notes, *self.remarks]:
            warnings.warn(f"{self.source}: {note}", ImportedWarning, outside())


_MOST = 40  # most notes on parts that were left out; a damaged file can have as many kinds as lines


def note_left_out(record: Imported, root: Element, no_effect: Collection[str]) -> None:
    """Note everything that was not read, except elements and attributes without effect on the motion."""
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
