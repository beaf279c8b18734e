"""Triangles of GLB and DAE files at their nodes, with units and colours; damaged files are refused."""

from __future__ import annotations

import base64
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from armillary.files import mesh_formats as formats
from armillary.files import mesh_surface as surface
from armillary.files.mesh_formats import READERS, read_surface
from armillary.files.mesh_surface import MeshFault, Paint

CORNERS = np.array([[0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 4]], dtype=np.float32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype=np.uint16)


def glb_bytes(**changes) -> bytes:
    """A tetrahedron twice: turned a quarter about z and moved, and inside that again with a half size."""
    binary = CORNERS.tobytes() + FACES.tobytes()
    content = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {
                "mesh": 0,
                "rotation": [0, 0, 0.5**0.5, 0.5**0.5],
                "translation": [10, 0, 0],
                "children": [1],
            },
            {"mesh": 0, "scale": [0.5, 0.5, 0.5]},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [1, 0.2158605, 0, 1]}}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [{"byteLength": 72}],
    } | changes
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    chunks = (
        struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    )
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def dae_text(geometry: str, node: str = "", unit: str = '<unit meter="0.01"/>') -> str:
    places = " ".join(f"{x:g}" for x in CORNERS.ravel())
    return f"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
    <asset>{unit}<up_axis>Z_UP</up_axis></asset>
    <library_effects><effect id="e"><profile_COMMON><technique sid="c"><lambert><diffuse>
      <color>0 0.5 1 1</color></diffuse></lambert></technique></profile_COMMON></effect></library_effects>
    <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
    <library_geometries><geometry id="g"><mesh>
      <source id="p"><float_array count="12">{places}</float_array><technique_common>
        <accessor source="#x" count="4" stride="3"/></technique_common></source>
      <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>{geometry}</mesh></geometry>
    </library_geometries>
    <library_visual_scenes><visual_scene id="s"><node>{node}<instance_geometry url="#g"><bind_material>
      <technique_common><instance_material symbol="paint" target="#m"/></technique_common></bind_material>
      </instance_geometry></node></visual_scene></library_visual_scenes>
    <scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


_IN = '<input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#p" offset="1"/>'
_INDICES = " ".join(f"{i} 0" for i in FACES.ravel())
TRIANGLES = f'<triangles count="4" material="paint">{_IN}<p>{_INDICES}</p></triangles>'
_QUADS = "<vcount>4 3</vcount><p>0 0 2 0 1 0 3 0 1 0 2 0 3 0</p>"
QUAD = f'<polylist count="2" material="paint">{_IN}{_QUADS}</polylist>'


def _written(tmp_path: Path, name: str, content: bytes | str) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_glb_meshes_stand_where_their_nodes_are(tmp_path: Path) -> None:
    found = read_surface(_written(tmp_path, "part.GLB", glb_bytes()))
    assert len(found.faces) == 8 and found.colours == ((0, "#ff8000"),)  # 0.2159 is 128/255 in sRGB
    turned = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    whole, half = CORNERS @ turned.T + [10, 0, 0], 0.5 * CORNERS @ turned.T + [10, 0, 0]
    assert np.allclose(found.corners, np.vstack([whole, half]), atol=1e-5)


def test_dae_meshes_have_units_nodes_and_colours(tmp_path: Path) -> None:
    node = "<translate>100 0 0</translate><rotate>0 0 1 90</rotate><scale>1 1 -1</scale>"
    found = read_surface(_written(tmp_path, "part.dae", dae_text(TRIANGLES, node)))
    expected = 0.01 * (CORNERS * [1, 1, -1] @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).T + [100, 0, 0])
    assert np.allclose(found.corners, expected, atol=1e-7)
    assert found.colours == ((0, "#0080ff"),)
    assert np.array_equal(found.faces, FACES[:, ::-1])  # a mirror turns faces around
    quads = read_surface(_written(tmp_path, "quads.dae", dae_text(QUAD, unit="")))
    assert quads.faces.tolist() == [[0, 2, 1], [0, 1, 3], [1, 2, 3]]


_LISTS = b"[" * 100_000
DEEP = struct.pack("<4sIIII", b"glTF", 2, 20 + len(_LISTS), len(_LISTS), 0x4E4F534A) + _LISTS
BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><COLLADA>&a;</COLLADA>'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.glb", b"glTF", "damaged"),
        ("a.glb", glb_bytes(nodes=[{"mesh": 0, "children": [0]}]), "cycle"),
        ("a.glb", glb_bytes(buffers=[{"uri": "../other.bin", "byteLength": 72}]), "another file"),
        ("a.glb", glb_bytes(extensionsRequired=["KHR_draco_mesh_compression"]), "KHR_draco"),
        ("a.glb", glb_bytes(meshes=[]), "damaged"),
        ("a.glb", DEEP, "damaged"),
        ("a.glb", glb_bytes(bufferViews=[{"buffer": 0, "byteLength": 9, "byteOffset": 60}] * 2), "beyond"),
        ("a.dae", dae_text(TRIANGLES).replace("<node>", '<node id="n"><instance_node url="#n"/>'), "cycle"),
        ("a.dae", BOMB, "document type or entity"),
        ("a.dae", dae_text(TRIANGLES.replace("#v", "#nothing")), "no '#nothing'"),
        ("a.dae", dae_text(TRIANGLES.replace("<p>0", "<p>99")), "not there"),
        ("a.dae", dae_text("<triangles/>"), "damaged"),
        ("a.dae", dae_text(""), "no triangles"),
        ("a.dae", "<COLLADA>", "not a whole XML file"),
        ("a.step", "", "'.step' are not read"),
        ("missing.stl", None, "there is no such file"),
    ],
)
def test_damaged_and_hostile_meshes_are_refused(tmp_path: Path, name: str, content, message: str) -> None:
    path = tmp_path / name if content is None else _written(tmp_path, name, content)
    with pytest.raises(MeshFault, match=message):
        read_surface(path)


def test_meshes_of_too_many_triangles_are_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(surface, "MOST", 3)
    monkeypatch.setattr(formats, "MOST", 7)
    with pytest.raises(MeshFault, match="more than 7 triangles"):
        read_surface(_written(tmp_path, "a.glb", glb_bytes()))
    no_scene = dae_text(TRIANGLES * 2).partition("<library_visual_scenes>")[0] + "</COLLADA>"
    with pytest.raises(MeshFault, match="more than 7 triangles"):
        read_surface(_written(tmp_path, "a.dae", no_scene))
    fan = f"<polygons>{_IN}<p>{'0 0 1 0 2 0 ' * 3}</p></polygons>"
    with pytest.raises(MeshFault, match="7 triangles; up to 3"):
        read_surface(_written(tmp_path, "a.dae", dae_text(fan)))


def test_damaged_bytes_never_give_raw_errors(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    for original in (glb_bytes(), dae_text(TRIANGLES).encode()):
        for _ in range(60):
            data = bytearray(original)
            for place in random.integers(0, len(data), 3):
                data[place] = random.integers(0, 256)
            path = _written(tmp_path, f"x.{'glb' if original[:4] == b'glTF' else 'dae'}", bytes(data))
            try:
                read_surface(path)
            except MeshFault as fault:
                assert str(fault)


def test_strips_and_fans_keep_the_side_of_their_faces() -> None:
    order = np.arange(5)
    assert formats._faces(order, 5).tolist() == [[0, 1, 2], [1, 3, 2], [2, 3, 4]]
    assert formats._faces(order, 6).tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4]]
    assert set(READERS) == {".stl", ".obj", ".msh", ".glb", ".dae"}


def test_msh_files_have_their_faces_behind_normals_and_places_in_textures(tmp_path: Path) -> None:
    """Four counts; corners and normals of three numbers, places in textures of two; faces."""
    counts, rest = np.array([4, 2, 5, 4], "<i4"), np.full(3 * 2 + 2 * 5, 7.0, "<f4")
    data = counts.tobytes() + CORNERS.astype("<f4").tobytes() + rest.tobytes() + FACES.astype("<i4").tobytes()
    found = read_surface(_written(tmp_path, "part.msh", data))
    assert np.array_equal(found.faces, FACES) and np.allclose(found.corners, CORNERS)


def test_obj_files_have_the_colours_of_their_materials(tmp_path: Path) -> None:
    """Of a texture the mean; a material without a line, or with one outside of the folders, has none."""
    Image = pytest.importorskip("PIL.Image")
    picture = Image.new("RGB", (2, 1))
    picture.putdata([(255, 0, 0), (0, 0, 0)])
    picture.save(tmp_path / "half red.png")
    picture.save(tmp_path / "half.png")
    (tmp_path / "some paints.mtl").write_text(
        "newmtl green\nKd 0 0.5 0\nnewmtl mixed\nKd 0 0 1\nmap_Kd half.png\n"
        "newmtl gone\nKd 0 0 1\nmap_Kd ../../gone.png\nnewmtl odd\nKd spectral a.rfl\n"
    )
    corners = "\n".join(f"v {x} {y} {z}" for x, y, z in CORNERS)
    names = ("green", "mixed", "gone", "odd", "green")
    faces = "\n".join(f"usemtl {name}\nf {1 + k % 2} 3 4" for k, name in enumerate(names))
    (tmp_path / "a.obj").write_text(f"mtllib some paints.mtl\n{corners}\n{faces}\n")
    found = read_surface(tmp_path / "a.obj")
    # Half of the light of 255 is 188 in sRGB.
    assert found.colours == ((0, "#008000"), (2, "#bc0000"), (3, "#0000ff"), (4, ""))
    expected = [[1, 3, 4], [1, 3, 4], [2, 3, 4], [1, 3, 4], [2, 3, 4]]
    assert np.array_equal(found.corners[found.faces], CORNERS[np.array(expected) - 1])
    (tmp_path / "some paints.mtl").unlink()
    assert read_surface(tmp_path / "a.obj").colours == ((0, ""),)


def stored(image: Any) -> bytes:
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def test_textures_are_reduced_and_shaded_in_linear_light() -> None:
    """A factor multiplies the linear light; what is transparent has no part in the mean."""
    Image = pytest.importorskip("PIL.Image")
    plain = Image.new("RGB", (1024, 512), (200, 100, 50))
    paint = surface.texture(stored(plain))
    assert paint.colour == "#c86432"
    with Image.open(io.BytesIO(paint.image)) as reduced:
        assert (reduced.format, reduced.size) == ("JPEG", (surface.SIDE, surface.SIDE // 2))
    light = (((np.array([200, 100, 50]) / 255 + 0.055) / 1.055) ** 2.4) * [0.5, 1.0, 0.001]
    shaded = np.where(light < 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    expected = "#" + "".join(f"{x:02x}" for x in np.rint(255 * shaded).astype(int))
    assert surface.texture(stored(plain), np.array([0.5, 1.0, 0.001])).colour == expected
    both = Image.new("RGBA", (4, 1), (0, 0, 255, 0))
    both.putpixel((1, 0), (255, 0, 0, 255))
    assert surface.texture(stored(both)).colour == "#ff0000"
    assert surface.texture(stored(Image.new("RGBA", (4, 4), (9, 9, 9, 0)))) == Paint()


def test_images_of_millions_of_pixels_are_read_up_to_fifty() -> None:
    Image = pytest.importorskip("PIL.Image")
    assert surface.texture(stored(Image.new("1", (6000, 5000), 1))).colour == "#ffffff"
    assert surface.texture(stored(Image.new("1", (7000, 7200), 1))) == Paint()
    assert surface.texture(b"no image") == Paint()


def test_textures_of_glb_and_dae_files_are_their_mean_colour(tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    Image.new("RGB", (3, 3), (0, 128, 255)).save(tmp_path / "sea blue.png")
    image = base64.b64encode((tmp_path / "sea blue.png").read_bytes()).decode()
    painted = {
        "materials": [
            {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "baseColorFactor": [1, 1, 0, 1]}}
        ],
        "textures": [{"source": 0}],
        "images": [{"uri": f"data:image/png;base64,{image}"}],
    }
    (tmp_path / "a.glb").write_bytes(glb_bytes(**painted))
    assert read_surface(tmp_path / "a.glb").colours == ((0, "#008000"),)
    order = " ".join(f"{n} {i % 3}" for i, n in enumerate(FACES.ravel()))
    spots = '<source id="uv"><float_array count="6">0 0 1 0 0 1</float_array></source>'
    text = dae_text('<triangles count="4" material="m"><input semantic="VERTEX" source="#v" offset="0"/>'
                    '<input semantic="TEXCOORD" source="#uv" offset="1"/>'
                    f"<p>{order}</p></triangles>")  # fmt: skip
    text = text.replace("<vertices", f"{spots}<vertices", 1)
    colour = text[text.index("<diffuse>") : text.index("</diffuse>")]
    text = text.replace(colour, '<diffuse><texture texture="s" texcoord="c"/>').replace(
        "<profile_COMMON>",
        '<profile_COMMON><newparam sid="f"><surface type="2D"><init_from>i</init_from></surface></newparam>'
        '<newparam sid="s"><sampler2D><source>f</source></sampler2D></newparam>',
    )
    images = '<library_images><image id="i"><init_from>sea%20blue.png</init_from></image></library_images>'
    (tmp_path / "a.dae").write_text(text.replace("<library_effects>", images + "<library_effects>"))
    found = read_surface(tmp_path / "a.dae")
    assert found.colours == ((0, "#0080ff"),)
    assert found.mapped.tolist() == [[[0, 1], [1, 1], [0, 0]]] * 4  # from the upper left corner


def test_nodes_are_placed_by_quaternion_scale_and_matrix(tmp_path: Path) -> None:
    """x = R S x_node + r of any rotation, beside SciPy's; a matrix is given column by column."""
    rng = np.random.default_rng(4)
    for k in range(4):
        quaternion, scale, place = rng.normal(size=4), rng.uniform(0.5, 2.0, 3), rng.normal(size=3)
        quaternion /= np.linalg.norm(quaternion)
        T = np.eye(4)
        T[:3, :3] = Rotation.from_quat(quaternion).as_matrix() * scale
        T[:3, 3] = place
        parts = {"rotation": quaternion.tolist(), "scale": scale.tolist(), "translation": place.tolist()}
        for i, node in enumerate((parts, {"matrix": T.T.ravel().tolist()})):
            path = tmp_path / f"part{k}{i}.glb"
            path.write_bytes(glb_bytes(nodes=[{"mesh": 0, **node}]))
            found = read_surface(path).corners
            expected = CORNERS @ T[:3, :3].T + place
            for corner in expected:
                assert np.min(np.linalg.norm(found - corner, axis=1)) < 1e-5
