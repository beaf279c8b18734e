"""Settings of a whole MJCF file: included files, compiler settings, defaults by class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from armillary.files.robots import rotations
from armillary.files.robots.rotations import read_angles
from armillary.files.xml import Element, read_xml

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion",
    "dcmotor", "plugin",
)  # fmt: skip


def with_includes(root: Element, path: Path) -> Element:
    """Return the file with each <include> replaced by the content of the file that it names.

    Names are relative to the main file's folder. Files outside it are refused: a model is data, and must not
    make the reader open other files. As in MuJoCo, a file is included at most once, so no file includes
    itself.
    """
    folder = path.resolve().parent
    seen = {path.resolve()}
    stack = [root]
    while stack:
        element = stack.pop()
        position = 0
        while position < len(element.children):
            child = element.children[position]
            if child.tag != "include":
                stack.append(child)
                position += 1
                continue
            name = child.text("file")
            target = find_file(folder, name, child)
            if target in seen:
                child.fail(f"'{name}' is included twice, or includes itself; each file once")
            seen.add(target)
            element.children[position : position + 1] = read_xml(target).children
    return root


def find_file(folder: Path, name: str, element: Element, *, anywhere: bool = False) -> Path:
    """Return a file by its path from the model's folder; without ``anywhere``, files outside are refused."""
    if "\0" in name or len(name) > 1000:
        element.fail("its file is not the name of a file")
    try:
        target = (folder / name).resolve()
    except (OSError, RuntimeError):
        element.fail(f"'{name[:60]}' is not the name of a file")
    if not anywhere and not target.is_relative_to(folder):
        element.fail(f"'{name[:60]}' is outside the model's folder; put the file beside the model")
    if not target.is_file():
        element.fail(f"there is no file '{name[:60]}' in the model's folder")
    return target


def merge_elements(root: Element, tag: str) -> Element:
    """Merge all top-level elements with a tag into the first one; later attributes take precedence."""
    found = root.all(tag)
    if not found:
        return Element(tag, {}, root.file, root.line)
    for later in found[1:]:
        found[0].attributes.update(later.attributes)
        found[0].children += later.children
        later.attributes, later.children = {}, []
    return found[0]


class Settings:
    """The <compiler> of a file: the meaning of its angles, orientations, limits and inertias."""

    def __init__(self, compiler: Element) -> None:
        in_degrees = compiler.choice("angle", ("radian", "degree"), "degree") == "degree"
        self.angle = math.pi / 180 if in_degrees else 1.0
        self.sequence = compiler.text("eulerseq", "xyz")
        if len(self.sequence) != 3 or any(c not in "xyzXYZ" for c in self.sequence):
            compiler.fail(f"eulerseq='{self.sequence[:20]}' is not three of the letters x, y, z, X, Y, Z")
        if compiler.choice("coordinate", ("local", "global"), "local") == "global":
            compiler.fail("coordinate='global' is no longer MJCF; save the model with local coordinates")
        self.autolimits = compiler.flag("autolimits", True)
        self.from_geoms = compiler.choice("inertiafromgeom", ("true", "false", "auto"), "auto")
        self.groups = compiler.numbers("inertiagrouprange", 2, [0, 5])
        self.total_mass = compiler.number("settotalmass", -1.0)
        self.align_free = compiler.flag("alignfree", False)
        assets = compiler.text("assetdir", "")
        self.mesh_folder = compiler.text("meshdir", assets)
        self.texture_folder = compiler.text("texturedir", assets)
        self.strip_path = compiler.flag("strippath", False)

    def place(self, element: Element) -> np.ndarray:
        return np.array(element.numbers("pos", 3, [0, 0, 0]))

    def rotation(self, element: Element) -> np.ndarray:
        """Return R with v_parent = R v_child, from the one orientation attribute of the element."""
        given = [key for key in ORIENTATIONS if element.has(key)]
        if len(given) > 1:
            element.fail(f"{' and '.join(given)} say the same thing; give one of them")
        if not given:
            return np.eye(3)
        key = given[0]
        size = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[key]
        if key == "euler":
            values = read_angles(element, key, 3) if self.angle == 1.0 else element.numbers(key, 3)
            return rotations.euler([v * self.angle for v in values], self.sequence)
        values = element.numbers(key, size)
        direction = values[:3] if key != "quat" else values
        if np.linalg.norm(direction) < 1e-12:
            element.fail(f"{key} of length zero has no direction")
        if key == "quat":
            return rotations.quaternion(values)
        if key == "axisangle":
            return rotations.rotation_about(rotations.unit_vector(direction).tolist(), values[3] * self.angle)
        if key == "zaxis":
            return rotations.from_z(values)
        R = rotations.from_xy(values)
        return R if R is not None else element.fail("xyaxes are parallel; give two directions")

    def has_limits(self, element: Element, key: str, flag: str) -> bool:
        """Return whether a range applies: its flag is "true", or "auto" with autolimits and a given range."""
        word = element.choice(flag, ("true", "false", "auto"), "auto")
        return word == "true" or (word == "auto" and self.autolimits and element.has(key))


class Defaults:
    """Default attributes by class and tag. A class inherits the attributes of the class around it; its own
    take precedence.
    """

    def __init__(self, root: Element) -> None:
        self.classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        # Actuators of all tags share defaults. By class: a list of elements for each class from the outermost
        # one to this class.
        self.drives: dict[str, list[list[Element]]] = {"main": []}
        stack = [(element, "main") for element in reversed(root.all("default"))]
        outer = {id(element) for element, _ in stack}
        while stack:
            element, above = stack.pop()
            name = element.text("class", "main" if id(element) in outer else None)
            known = self.classes[name if name in self.classes else above]
            table = {tag: dict(attributes) for tag, attributes in known.items()}
            drives: list[Element] = []
            for child in element.children:
                if child.tag in ACTUATORS:
                    drives.append(child)
                elif child.tag != "default":
                    table.setdefault(child.tag, {}).update(child.attributes)
            outer_drives = self.drives[name if name in self.drives else above]
            self.classes[name], self.drives[name] = table, [*outer_drives, drives]
            stack += [(inner, name) for inner in reversed(element.all("default"))]
            element.taken = True
        for element in root.all("default"):
            element.take_whole()

    def apply(self, element: Element, childclass: str) -> Element:
        """Return the element, its missing attributes taken from its class."""
        defaults: Mapping[str, str] = self.classes[self.of(element, childclass)].get(element.tag, {})
        if any(element.has(key) for key in ORIENTATIONS):
            defaults = {key: value for key, value in defaults.items() if key not in ORIENTATIONS}
        element.attributes = {**defaults, **element.attributes}
        return element

    def of(self, element: Element, childclass: str) -> str:
        """Return the class of an element."""
        return self.check_class(element, element.text("class", childclass))

    def check_class(self, element: Element, name: str) -> str:
        """Return the name of a class; raise an error if there is no such class."""
        return name if name in self.classes else element.fail(f"there is no default class '{name[:60]}'")
