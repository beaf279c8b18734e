"""Faults in text models: one sentence each, with the file, the line and the remedy."""

from __future__ import annotations

import os
import time
from pathlib import Path

import jsonschema
import pytest

import armillary as arm

MODEL = """name = "pendulum"
[parameters]
m = { value = 2.0, units = "kg" }
L = { value = 1.5, units = "m" }
[bodies.bob]
joint = { revolute = "z" }
com = [0, "-L", 0]
mass = "m"
inertia = 0
[gravity]
magnitude = 9.81
direction = "-ground.y"
[outputs.height]
value = "dot(position(bob.com), ground.y)"
units = "m"
"""


def load(tmp_path, content):
    path = tmp_path / "bob.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return arm.load(path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[bodies.bob]", "[bodys.bob]", "5: unknown key 'bodys'; did you mean 'bodies'?"),
        ("joint =", "joynt =", "6: [bodies.bob]: unknown key 'joynt'; did you mean 'joint'?"),
        ("revolute =", "revolut =", "6: [bodies.bob.joint]: unknown key 'revolut'; did you mean 'revolute'?"),
        ('"z" }', '"z", velocity = "body" }',
         "6: [bodies.bob.joint]: unknown key 'velocity'; there are revolute, small"),
        ("revolute =", "small = true, prismatik =",
         "6: [bodies.bob.joint]: unknown key 'prismatik'; did you mean 'prismatic'?"),
        ('{ revolute = "z" }', "{ velocity = 3, small = 3 }",  # of the forms that have both keys
         "6: [bodies.bob.joint]: 'velocity' must be one of"),
        ('{ revolute = "z" }', '"hinge"', "6: [bodies.bob]: 'joint' must be one of \"fixed\""),
        ('"-L", 0]', '"-LL", 0]',
         "mass centre of body 'bob': there is nothing called 'LL'; did you mean 'L'?"),
        ('[0, "-L", 0]', '[0, "-L"]',
         "7: [bodies.bob]: 'com' must be a list of 3 × an expression, not [0, '-L']"),
        ('mass = "m"', "mass = true", "8: [bodies.bob]: 'mass' must be an expression, not True"),
        ('mass = "m"', 'mass = "L"', "mass of body 'bob': 'L' has dimension [m], but [kg] (kg) is needed"),
        ('"kg"', '"kgg"', "3: unknown unit 'kgg'; did you mean 'kg'?"),
        ("dot(", "dott(", "unknown function 'dott'; did you mean 'dot'?"),
        ('units = "m"\n', 'units = "s"\n', "output 'height' in s: "),
        ('"m"\ninertia', '"m\ninertia', "8: this is not TOML"),
        ('name = "pendulum"', "name = 3", "1: 'name' must be a text, not 3"),
        ('name = "pendulum"', "", "the model has no name"),
        ('name = "pendulum"', 'name = "p"\narmillary = 9', "2: the model is in format 9"),
        ('name = "pendulum"', 'name = "p"\nunits = "furlongs"', "2: "),
        ("[gravity]", "[bodies.c]\nparent = \"d\"\n[gravity]",
         "10: parent of body 'c': there is no body 'd'"),
        ("[gravity]", "[bodies.c]\nparent = \"c\"\n[gravity]", "10: body 'c' hangs on 'c' again"),
        ("[gravity]",
         "".join(f'[bodies.{a}]\nparent = "{b}"\n' for a, b in ("td", "dc", "cd")) + "[gravity]",
         "12: body 'd' hangs on 'c', which hangs on 'd' again"),
        ("[gravity]", "[loads.F]\nforc = 3\n[gravity]", "10: [loads.F] has no kind"),
        ("[gravity]", "[loads.F]\nforce = 3\n[gravity]", "10: [loads.F]: 'direction' is missing"),
        ("[gravity]", "[loads]\nF = 3\n[gravity]", "[loads.F] must be a table, not 3"),
        ("[gravity]", "[memory.x]\nupdate = \"x + y\"\n[gravity]", "there is nothing called 'y'"),
        ("[gravity]", "[expressions]\na = \"b\"\nb = \"a\"\n[outputs.c]\nvalue=\"a\"\n[gravity]",
         "refers to itself"),
        ("[gravity]",
         "[functions.f]\narguments=[\"x\"]\nvalue=\"f(x)\"\n[outputs.c]\nvalue=\"f(1)\"\n[gravity]",
         "calls itself"),
        ("[gravity]", "[tables.f]\nx = [0, 0]\ny = [1, 2]\n[gravity]", "10: table 'f': x must increase"),
        ("[gravity]", "[tables.f]\nx = {file = \"no.npy\"}\ny = [1, 2]\n[gravity]", "there is no file"),
        ("com = ", "flexible = { beam = { length = -1, EI = 2.0, mass_per_length = 1 }, modes = 2 }\ncom = ",
         "Beam: length"),
        ("[gravity]", "[bodies.ground]\nmass = 3\n[gravity]",
         "10: body 'ground' exists already; this entry may add points and nodes to it, but no 'mass'"),
        ("com = ", "flexible = { beem = 2 }\ncom = ",
         "7: [bodies.bob.flexible]: unknown key 'beem'; did you mean 'beam'?"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_line_and_a_remedy(tmp_path, old, new, said):
    with pytest.raises(arm.ArmillaryError) as caught:
        load(tmp_path, MODEL.replace(old, new, 1))
    message = str(caught.value)
    assert "bob.toml" in message
    assert said in message


def test_the_model_that_these_faults_were_made_of_is_right(tmp_path):
    assert load(tmp_path, MODEL).derive().operations.total == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "1: this is not a text in UTF-8"),
        (b"name = 'a'\0", "1: this is a binary file"),
        (MODEL[:200], "this is not TOML"),
        ("", "the model has no name"),
        ("name = 'x'\na = " + "[" * 5000 + "]" * 5000, "brackets are nested more than 60 deep"),
        ("name = 'x'\n[parameters]\na = 1\na = 2", "4: this is not TOML: cannot overwrite a value"),
        ("name = 'x'\n[parameters]\na = nan", "3: the default of parameter 'a' is nan"),
    ],
)
def test_a_file_that_is_no_text_model_is_told_in_one_sentence(tmp_path, content, said):
    with pytest.raises(arm.ModelError, match=r"bob\.toml") as caught:
        load(tmp_path, content)
    assert said in str(caught.value)


def test_a_hundred_megabytes_of_expression_are_refused_at_once(tmp_path):
    start = time.process_time()
    with pytest.raises(arm.ModelError, match="it has more than 67 MB; keep arrays in files of their own"):
        load(tmp_path, MODEL + '[outputs.e]\nvalue = "' + "a+" * (50 * 2**20) + 'a"\n')
    with pytest.raises(arm.ModelError, match="the expression has 6,000,001 characters"):
        load(tmp_path, MODEL + '[outputs.e]\nvalue = "' + "m+" * 3_000_000 + 'm"\n')
    assert time.process_time() - start < 20


def test_missing_files_and_folders_are_told(tmp_path):
    (tmp_path / "bob.toml").write_text(MODEL)
    with pytest.raises(arm.ModelError, match=r"there is no such file; did you mean 'bob.toml'"):
        arm.load(tmp_path / "bobb.toml")
    with pytest.raises(arm.ModelError, match=r"read from .toml, .urdf, .xml, .ssp files"):
        arm.load(tmp_path / "bob.yaml")
    with pytest.raises(arm.ArmillaryError, match="there is no folder"):
        arm.load(tmp_path / "bob.toml").save(tmp_path / "no" / "bob.toml")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "bob.toml").write_text(MODEL)
    system = arm.load(tmp_path / "bob.toml")
    tmp_path.chmod(0o500)
    with pytest.raises(arm.ArmillaryError, match="cannot save"):
        system.save(tmp_path / "c.toml")


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "bob.toml").write_text(MODEL)
    system = arm.load(tmp_path / "bob.toml")
    system.bodies["bob"].flexible(arm.Beam(2.0, EI=5.0, mass_per_length=0.3), modes=2)
    folder = tmp_path / "full"
    folder.mkdir()
    original = os.replace

    def full(source, target):
        if folder in Path(target).parents:
            raise OSError(28, "No space left on device")
        return original(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(arm.ArmillaryError, match=r"cannot save .*no space left on device; make room"):
        system.save(folder / "bob.toml")
    assert list(folder.iterdir()) == []


def test_the_published_schema_accepts_what_is_saved_and_refuses_what_is_not_known(tmp_path):
    import tomllib

    schema = arm.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    against = jsonschema.Draft202012Validator(schema)
    against.validate(tomllib.loads(MODEL))
    for old, new in (("joint =", "joynt ="), ('mass = "m"', "mass = true"), ("[bodies.bob]", "[bodys.bob]")):
        with pytest.raises(jsonschema.ValidationError):
            against.validate(tomllib.loads(MODEL.replace(old, new)))
