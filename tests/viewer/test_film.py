"""Pictures and films without a browser: surfaces, pixels, files, and what is refused."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import armillary as arm
from armillary.viewer.picture import FilmFigure, fit_camera, fragments, nearest
from armillary.viewer.surfaces import cylinder_between, surfaces_of, turned_to

# Volumes of the solids with a circle of 28 corners, of area 14 sin(2π/28) r² instead of π r²; balls are
# inscribed, with 2.5 % less.
_DISC = 14 * np.sin(2 * np.pi / 28)


@pytest.mark.parametrize(
    ("part", "volume", "rough"),
    [
        ({"kind": "box", "size": [1, 2, 3]}, 6.0, 1e-12),
        ({"kind": "cylinder", "radius": 0.5, "length": 40.0, "axis": [1, 2, 2]}, _DISC * 10, 1e-12),
        ({"kind": "cone", "radius": 0.5, "length": 3.0, "at": [1, 1, 1]}, _DISC * 0.25, 1e-12),
        ({"kind": "sphere", "radius": 2.0}, 4 / 3 * np.pi * 8, 0.03),
        ({"kind": "capsule", "radius": 0.5, "length": 2.0}, np.pi * (0.5 + 1 / 6), 0.03),
        ({"kind": "ellipsoid", "radii": [1, 2, 3], "axes": [0, 1, 0, 0, 0, 1, 1, 0, 0]}, 8 * np.pi, 0.03),
        ({"kind": "pin", "axis": [0, 1, 0], "size": 1.0}, _DISC * 0.25 * 2.2, 1e-12),
        ({"kind": "polyline", "points": [[0, 0, 0], [0, 0, 1]], "radius": 0.01}, 3.2e-4, 0.2),
        ({"kind": "sleeve", "axis": [0, 0, -1], "size": 1.0}, 1.1**2 * 2.4, 1e-12),
    ],
)
def test_surfaces_are_closed_and_enclose_the_volume_of_their_solid(part, volume: float, rough: float) -> None:
    """By the divergence theorem, V = ⅙ Σ a·(b × c): the sign shows that all triangles face outwards."""
    ((surface, _),) = surfaces_of(part, {})
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    assert np.sum(a * np.cross(b, c)) / 6 == pytest.approx(volume, rel=rough)
    assert np.linalg.norm(surface.normals, axis=1) == pytest.approx(1.0)
    outward = np.cross(b - a, c - a)
    facing = np.sum(outward * surface.normals[surface.faces[:, 0]], axis=1)
    assert np.all(facing > -1e-12)


def test_rods_go_from_end_to_end() -> None:
    rod = cylinder_between((1, 0, 0), (1, 3, 4), 0.1)
    along = (rod.vertices - [1, 0, 0]) @ [0, 0.6, 0.8]
    assert (along.min(), along.max()) == (pytest.approx(0.0), pytest.approx(5.0))
    for axis in ((0, 0, 1), (0, 0, -1), (3, -2, 0.5)):
        R = turned_to(axis)
        assert np.allclose(R @ R.T, np.eye(3)) and np.linalg.det(R) == pytest.approx(1)
        assert np.allclose(R[:, 2], np.array(axis) / np.linalg.norm(axis))


def test_triangles_fill_their_area_and_the_nearest_is_seen() -> None:
    corners = np.array([[[10, 10], [90, 20], [30.3, 80]], [[0, 0], [100.3, 0], [0, 100.3]]], dtype=float)
    near = np.array([[0.5, 0.5, 0.5], [0.9, 0.1, 0.1]])
    found = fragments(corners, near, 100, 100)
    counts = np.bincount(found.face)
    assert counts[0] == pytest.approx(0.5 * (80 * 70 - 20.3 * 10), rel=0.01)  # half the cross product
    assert counts[1] == pytest.approx(0.5 * 100.3**2, rel=0.01)
    # 1/z of the second triangle is 0.9 − 0.8/100.3 (x + y), above 0.5 where x + y < 50.15.
    seen = nearest(found, np.zeros(100 * 100))
    both = np.isin(seen.pixel, found.pixel[found.face == 0])
    assert np.array_equal(seen.face[both] == 1, (seen.x + seen.y < 50.15)[both])
    assert len(np.unique(seen.pixel)) == len(np.unique(found.pixel))


@pytest.mark.parametrize("view", ["oblique", "front", "top", "x", "z"])
def test_the_camera_has_all_points_in_its_picture_and_one_near_an_edge(view: str) -> None:
    points = np.random.default_rng(3).normal(size=(200, 3)) * [3, 1, 0.5] + [10, 0, 0]
    screen, near = fit_camera(points, view, np.array([0.0, 0.0, 1.0]), 300, 200).project(points)
    assert np.all(near > 0)
    part = np.abs(screen - [150, 100]) / [150, 100]
    assert 0.85 < part.max() < 0.92


@pytest.mark.parametrize("kind", ["spring", "rod"])
def test_springs_and_rods_are_round_and_reach_from_end_to_end(kind: str) -> None:
    """Across its axis a coil of radius 0.1 m is as wide one way as the other, however long it is drawn."""
    bodies = [{"name": "b", "parts": [], "colour": "#ffffff"}]
    ends = [{"body": "b", "at": [0.5, 0, 0]}, {"body": "", "at": [0.5, 3, 4]}]
    content = {"bodies": bodies, "ground": {"parts": []}, "bending": [], "up": [0, 0, 1]}
    link = {"kind": kind, "radius": 0.1, "ends": ends, "coils": 20, "colour": "#ff0000"}
    poses = np.array([[0, 0, 0, 0, 0, 0, 1], [0, 3, 4, 0, 0, 0, 1]])  # in the second frame nearly closed
    figure = FilmFigure({**content, "springs": [link]}, poses - [[0] * 7, [0, 0.003, 0.004, 0, 0, 0, 0]], [])
    for frame, length in enumerate((5.0, 0.005)):
        painted = figure.paint_frame(frame)
        across = (painted.surface.vertices - [0.5, 0, 0]) @ np.array([[1, 0, 0], [0, 0.8, -0.6]]).T
        np.testing.assert_allclose(np.ptp(across, axis=0), 0.2, rtol=0.15)
        assert across.mean(axis=0) == pytest.approx([0, 0], abs=0.02)
        along = painted.surface.vertices @ [0, 0.6, 0.8]
        assert (along.max(), np.ptp(along)) == pytest.approx((5.0, length), rel=0.05)
        assert np.all(painted.colours == [1, 0, 0]) and np.all(painted.opacities == 1.0)


def _pendulum() -> arm.System:
    s = arm.System("pendulum")
    s.gravity(9.81, "-ground.z")
    bob = s.body("bob", joint=arm.Revolute("y"), mass=1, com=(0, 0, -1), inertia=0)
    bob.shape(arm.Sphere(0.3), at=(0, 0, -1), colour="#ff0000")
    bob.point((0, 0, -1.5), name="tip")
    s.start({"bob.q1": 1.0})
    return s


@pytest.fixture(scope="module")
def run() -> arm.Run:
    return _pendulum().derive().compile().simulate(2.5, step=0.05)


def test_a_picture_shows_the_body_where_it_is(run, tmp_path: Path) -> None:
    """The red ball alone is in the picture, so its middle is where the camera looks."""
    run.animate(tmp_path / "a.png", time=0.0, size=(200, 120), view="front")
    image = np.asarray(Image.open(tmp_path / "a.png")).astype(int)
    assert image.shape == (120, 200, 3)
    red = (image[..., 0] > 120) & (image[..., 1] < 90) & (image[..., 2] < 90)
    middle = np.argwhere(red).mean(axis=0)
    assert middle == pytest.approx([60, 100], abs=1.5)
    radius = np.sqrt(red.sum() / np.pi)
    assert radius == pytest.approx(0.9 * 60, rel=0.05)  # the ball fills the picture except for the margin
    assert np.ptp(image[:5, :5]) < 20  # the sky


@pytest.mark.parametrize("suffix", [".gif", ".webp"])
def test_films_have_the_length_of_the_motion(run, tmp_path: Path, suffix: str) -> None:
    place = run.animate(
        tmp_path / f"a{suffix}", size=(64, 48), rate=10, paths=["bob.tip"], theme="dark", follow="bob"
    )
    film = Image.open(place)
    lengths = []
    for k in range(film.n_frames):
        film.seek(k)
        film.load()
        lengths.append(film.info["duration"])
    assert film.size == (64, 48) and film.info["loop"] == 0
    assert sum(lengths) == pytest.approx(2600, abs=150)


def test_films_by_ffmpeg_hand_over_all_frames(run, tmp_path: Path, monkeypatch) -> None:
    program = tmp_path / "ffmpeg"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nopen(sys.argv[-1], 'w').write(str(len(sys.stdin.buffer.read())))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    place = run.animate(tmp_path / "a.mp4", size=(40, 30), rate=4)
    assert int(place.read_text()) == 11 * 40 * 30 * 3
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(arm.ArmillaryError, match=r"ffmpeg, which is not installed.*\.webp"):
        run.animate(tmp_path / "b.mp4")
    assert not (tmp_path / "b.mp4").exists()


@pytest.mark.skipif(
    not all(map(shutil.which, ("ffmpeg", "ffprobe"))), reason="no ffmpeg to write a film with"
)
def test_an_mp4_film_has_the_frames_of_the_motion(run, tmp_path: Path) -> None:
    """H.264 with an even size, the rate that was requested, and a red ball in the fifth picture."""
    film = run.animate(tmp_path / "film.mp4", size=(161, 121), rate=10, speed=1)
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream", "-of", "json", film],
        capture_output=True, check=True,
    )  # fmt: skip
    (stream,) = json.loads(shown.stdout)["streams"]
    frames = round(10 * (run.time[-1] - run.time[0])) + 1
    assert (stream["codec_name"], stream["pix_fmt"]) == ("h264", "yuv420p")
    assert (stream["width"], stream["height"], stream["r_frame_rate"]) == (160, 120, "10/1")
    assert abs(int(stream["nb_read_frames"]) - frames) <= 1
    pixels = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", film, "-vf", "select=eq(n\\,5)", "-frames:v", "1", "-f", "rawvideo",
         "-pix_fmt", "rgb24", "-"], capture_output=True, check=True,
    )  # fmt: skip
    found = np.frombuffer(pixels.stdout, np.uint8).reshape(120, 160, 3).astype(float)
    red = (found[..., 0] > 150) & (found[..., 1] < 90)
    assert 0.02 < np.mean(red) < 0.3  # the ball


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"time": 3.0}, "from 0 to 2.5 s"),
        ({"follow": "bbo"}, "did you mean 'bob'"),
        ({"paths": ["bob.tipp"]}, r"did you mean 'bob\.tip'"),
        ({"view": "fornt"}, "front"),
        ({"theme": "blue"}, "dark"),
        ({"size": (10, 10)}, "pixels"),
        ({"rate": -1}, "positive"),
        ({"speed": "fast"}, "number"),
        ({"paths": 3}, "paths"),
    ],
)
def test_wrong_arguments_of_pictures_are_sentences(run, tmp_path: Path, wrong, message: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=message):
        run.animate(tmp_path / "a.png", **wrong)
    with pytest.raises(arm.ArmillaryError, match="more than 3000"):
        run.animate(tmp_path / "a.gif", speed=1e-4)
    assert not list(tmp_path.iterdir())
