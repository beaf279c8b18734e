"""Meshes in pages: stored once with 16 bits, merged where they are too fine, left out where missing."""

from __future__ import annotations

import base64
import json
import re
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.files.mesh_formats import read_surface
from armillary.files.mesh_surface import MeshFault, Paint, Surface, from_hex
from armillary.viewer import page_data
from armillary.viewer.figures import bodies_of
from armillary.viewer.page_data import picture_mesh, upward_axis

BRACKET = Path(__file__).parent.parent / "files" / "robots" / "data" / "bracket.stl"


def _sphere(n: int) -> Surface:
    """A ball of 2 n² triangles, its corners numbered row by row, in two colours."""
    a, b = np.meshgrid(np.linspace(0, np.pi, n + 1), np.linspace(0, 2 * np.pi, n + 1), indexing="ij")
    corners = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], axis=2).reshape(-1, 3)
    i = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    faces = np.vstack([np.stack([i, i + n + 1, i + 1], 1), np.stack([i + 1, i + n + 1, i + n + 2], 1)])
    return Surface(corners, faces, ((0, Paint("#ff0000")), (n * n, Paint())))


def _unpacked(packed: dict) -> tuple[np.ndarray, np.ndarray]:
    """What the page makes of a packed mesh."""
    corners, faces = (
        np.frombuffer(zlib.decompress(base64.b64decode(packed[k])), np.uint8) for k in ("corners", "faces")
    )
    low, high = corners.reshape(2, 3, -1).astype(np.int64)
    levels = np.cumsum(low + 256 * high, axis=1) & 0xFFFF
    codes = faces.reshape(3, -1).astype(np.int64).T @ [1, 256, 65536]
    highest, order = 0, []
    for code in codes:
        order.append(highest - code)
        highest += code == 0
    return np.array(packed["low"]) + packed["step"] * levels.T, np.array(order).reshape(-1, 3)


def test_packed_meshes_have_the_corners_of_their_file() -> None:
    surface = read_surface(BRACKET)
    made = picture_mesh(surface)
    corners, faces = _unpacked(made.pack())
    assert np.allclose(corners[faces], surface.corners[surface.faces], atol=0.51 * made.step)
    assert made.step == pytest.approx(np.ptp(surface.corners, axis=0).max() / 65535)
    assert len(corners) == len(np.unique(np.round(surface.corners, 6), axis=0))  # each corner once


def test_large_meshes_are_merged_and_keep_their_form(monkeypatch) -> None:
    """The volume of the ball, from its faces: a corner is moved by at most half a cell, 1/64 of the ball."""
    monkeypatch.setattr(page_data, "FINEST", 5000)
    made = picture_mesh(_sphere(120))
    assert 1000 < len(made.faces) <= 5000
    a, b, c = made.corners[made.faces].transpose(1, 0, 2)
    volume = np.sum(np.cross(a, b) * c) / 6
    assert abs(volume) == pytest.approx(4 / 3 * np.pi, rel=3 / 64)
    assert [name for _, name in made.colours] == ["#ff0000", ""]
    with pytest.raises(MeshFault, match="no area"):
        picture_mesh(Surface(np.zeros((3, 3)), np.array([[0, 1, 2]])))


def _system(*files: Path) -> arm.System:
    s = arm.System("parts")
    for i, file in enumerate(files):
        body = s.body(f"b{i}", joint=arm.Revolute("y"), mass=1, inertia=(1, 1, 1))
        body.shape(arm.Mesh(file, scale=0.5 + i), at=(0, i, 0), name=f"part{i}")
    return s


def _page(s: arm.System) -> dict:
    model = s.derive().compile()
    run = model.simulate(0.1, step=0.05)
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', run.picture.page(run, ""), re.S)[1])


def test_a_mesh_is_stored_once_and_a_missing_one_is_left_out(tmp_path: Path) -> None:
    broken = tmp_path / "broken.stl"
    broken.write_text("nothing")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = _page(_system(BRACKET, BRACKET, tmp_path / "missing.stl", broken))
    messages = [str(w.message) for w in caught if w.category is arm.PictureWarning]
    assert len(messages) == 2
    assert (
        "shape 'part2' is left out: mesh 'missing.stl' cannot be used: there is no such file" in messages[0]
    )
    assert "'part3'" in messages[1] and "damaged" in messages[1]
    bodies = data["figures"][0]["bodies"]
    (key,) = data["meshes"]
    assert [[p["kind"] for p in b["parts"]] for b in bodies] == [["mesh"], ["mesh"], [], []]
    assert [b["parts"][0]["scale"] for b in bodies[:2]] == [[0.5] * 3, [1.5] * 3]
    assert {b["parts"][0]["mesh"] for b in bodies[:2]} == {key}


def test_files_that_state_what_is_upwards_can_be_turned(tmp_path: Path) -> None:
    tilted = tmp_path / "a.dae"
    tilted.write_text("<COLLADA><asset><up_axis>X_UP</up_axis></asset></COLLADA>")
    assert [upward_axis(p) for p in (tilted, tmp_path / "a.glb", BRACKET)] == [0, 1, None]
    surface = page_data._upright(_sphere(2), tmp_path / "a.glb", "z")
    assert np.allclose(surface.corners, _sphere(2).corners[:, [2, 0, 1]])  # y to z, z to x, x to y
    s = _system(BRACKET)
    s.ground.shape(arm.Mesh(BRACKET, up="z"))
    with pytest.warns(arm.PictureWarning, match="does not state its vertical axis"):
        _page(s)


def test_text_models_name_meshes_from_their_folder(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.stl").write_bytes(BRACKET.read_bytes())
    _system(tmp_path / "parts" / "a.stl", BRACKET).save(tmp_path / "model.toml")
    text = (tmp_path / "model.toml").read_text()
    assert 'mesh = "parts/a.stl"' in text and f'mesh = "{BRACKET}"' in text
    again = arm.load(tmp_path / "model.toml")
    assert again.shapes["part0"].details["file"] == str(tmp_path / "parts" / "a.stl")
    assert again.shapes["part1"].details["scale"] == (1.5, 1.5, 1.5)


ACT = """() => {
  const [made] = MESHES.values(), at = made.geometry.attributes;
  return { places: [...at.position.array], normals: [...at.normal.array] };
}"""


def test_the_page_has_the_corners_and_normals_of_a_mesh(tmp_path: Path, open_page) -> None:
    """Of a ball the normals point from its centre; across an edge of the bracket they do not mix."""
    path = _system(BRACKET).derive().compile().simulate(0.1, step=0.05).animate(tmp_path / "mesh.html")
    seen = open_page(path).evaluate(ACT)
    surface = read_surface(BRACKET)
    corners = surface.corners[surface.faces]
    assert np.allclose(np.reshape(seen["places"], (-1, 3, 3)), corners, atol=1e-5)
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat /= np.linalg.norm(flat, axis=1)[:, None]
    assert np.allclose(
        np.reshape(seen["normals"], (-1, 3, 3)), flat[:, None], atol=2e-3
    )  # all edges are sharp


# ------------------------------------------------------------------------------------ textures

QUAD = """mtllib quad.mtl
usemtl board
v 0 0 0
v 1 0 0
v 1 0 1
v 0 0 1
vt 0 0
vt 1 0
vt 1 1
vt 0 1
f 1/1 2/2 3/3 4/4
"""
PLACES = [[[0, 1], [1, 1], [1, 0]], [[0, 1], [1, 0], [0, 0]]]  # from the upper left corner
SEEN = """() => {
  const [made] = MESHES.values(), [picture] = made.textures;
  let shown = 0;
  armillary.scene.world.traverse((o) => {
    shown += [o.material].flat().filter((m) => m && m.defines && m.defines.MAPPED).length;
  });
  const { width, height } = picture.image;
  return { uv: [...made.geometry.attributes.uv.array], size: [width, height], shown };
}"""


@pytest.fixture
def quad(tmp_path: Path) -> Path:
    """A square board: of its picture the left half is red and the right half blue."""
    Image = pytest.importorskip("PIL.Image")
    picture = Image.new("RGB", (1024, 256), (255, 0, 0))
    picture.paste((0, 0, 255), (512, 0, 1024, 256))
    picture.save(tmp_path / "board.png")
    (tmp_path / "quad.mtl").write_text("newmtl board\nKd 1 1 1\nmap_Kd board.png\n")
    (tmp_path / "quad.obj").write_text(QUAD)
    return tmp_path / "quad.obj"


def test_a_texture_and_the_places_in_it_reach_page_and_glb(quad: Path, tmp_path: Path, open_page) -> None:
    surface = read_surface(quad)
    mean = surface.colours[0][1]  # half of the light of 255 is 188 in sRGB
    assert surface.mapped.tolist() == PLACES and np.allclose(
        from_hex(mean), [188 / 255, 0, 188 / 255], atol=0.01
    )
    run = _system(quad).derive().compile().simulate(0.1, step=0.05)
    seen = open_page(run.animate(tmp_path / "quad.html")).evaluate(SEEN)
    assert np.allclose(np.reshape(seen["uv"], (2, 3, 2)), PLACES, atol=1e-4)
    assert seen["size"] == [512, 128] and seen["shown"] == 1  # reduced
    again = read_surface(run.animate(tmp_path / "quad.glb"))  # which holds the ground, too
    (first, paint) = next((f, p) for f, p in again.paints if p.image)
    assert np.allclose(again.mapped[first : first + 2], PLACES, atol=1e-6)
    assert np.allclose(from_hex(paint.colour), from_hex(mean), atol=0.02)


def test_textures_without_room_are_shown_as_colours(quad: Path, monkeypatch) -> None:
    monkeypatch.setattr(page_data, "PICTURES", 100)
    store = page_data.MeshStore()
    with pytest.warns(
        arm.PictureWarning, match=r"textures of mesh 'quad\.obj' are shown as their mean colours"
    ):
        key = store.key("board", str(quad), "")
    packed = store.pack()[key]
    assert "images" not in packed and packed["colours"] == [[0, read_surface(quad).colours[0][1]]]


ROBOT = """<mujoco><compiler texturedir="skins"/>
<asset><texture name="skin" type="2d" file="board.png"/><texture name="sky" type="skybox" file="sky.png"/>
  <material name="painted" texture="skin" rgba="1 1 1 1"/><mesh name="m" file="plain.obj"/></asset>
<worldbody><body name="b"><joint axis="0 1 0"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
  <geom type="mesh" mesh="m" material="painted" contype="0"/></body></worldbody></mujoco>"""


URDF = """<robot name="r"><material name="painted"><color rgba="1 1 1 1"/>
<texture filename="skins/board.png"/></material>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<visual><geometry><mesh filename="plain.obj"/></geometry><material name="painted"/></visual></link></robot>"""


def test_textures_of_robots_are_those_of_their_meshes(quad: Path) -> None:
    """From the folder of textures, saved with a model too; one that no mesh has is named."""
    folder = quad.parent
    (folder / "skins").mkdir()
    (folder / "board.png").rename(folder / "skins" / "board.png")
    (folder / "plain.obj").write_text(QUAD.replace("mtllib quad.mtl\n", ""))
    (folder / "m.xml").write_text(ROBOT)
    with pytest.warns(arm.ImportedWarning, match="plain colours in place of the textures 'sky'"):
        s = arm.load(folder / "m.xml")
    s.save(folder / "m.toml")
    assert 'texture = "skins/board.png"' in (folder / "m.toml").read_text()
    for system in (s, arm.load(folder / "m.toml")):
        store = bodies_of(core_of(system.derive()), {})["meshes"]
        ((_, paint),) = next(iter(store.found.values())).paints
        assert paint.image.startswith(b"\xff\xd8")  # JPEG
    (folder / "r.urdf").write_text(URDF)
    (shape,) = arm.load(folder / "r.urdf").shapes.values()
    assert shape.details["texture"] == str(folder / "skins" / "board.png") and not shape.colour
    (folder / "skins" / "board.png").unlink()
    with pytest.warns(arm.PictureWarning, match=r"without the texture 'board\.png': there is no such file"):
        bodies_of(core_of(s.derive()), {})
