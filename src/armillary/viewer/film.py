"""Pictures and films of runs: the times of frames, the poses of bodies in them, and the files.

PNG files are written with zlib, GIF and WebP by Pillow, MP4 by the program ffmpeg.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from armillary.errors import ArmillaryError, require
from armillary.limited_files import replacing
from armillary.program.equations import DerivedEquations
from armillary.results import Run
from armillary.results.plots.motion import PictureOptions
from armillary.untyped import LibraryObject
from armillary.viewer.figures import PageFigure, figure_of
from armillary.viewer.page import look_of
from armillary.viewer.picture import Camera, FilmFigure, Floor, Painter, fit_camera, ribbon


def write_frames(frames: Iterator[np.ndarray], place: Path, rate: float) -> None:
    """Write frames (rows × columns × 3 bytes) as a picture or film, atomically."""
    kind = place.suffix.lower()
    writer = {".png": _png, ".gif": _gif, ".webp": _webp, ".mp4": _mp4}[kind]
    with replacing(place) as temporary:
        writer(frames, temporary, rate)


def png_bytes(image: np.ndarray) -> bytes:
    """Return a picture as a PNG file."""
    height, width, _ = image.shape
    rows = np.concatenate([np.zeros((height, 1), dtype=np.uint8), image.reshape(height, -1)], axis=1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def _png(frames: Iterator[np.ndarray], place: Path, rate: float) -> None:
    place.write_bytes(png_bytes(next(frames)))


def _gif(frames: Iterator[np.ndarray], place: Path, rate: float) -> None:
    image = require("PIL.Image", extra="plot", purpose="GIF films")
    pictures, palette = [], None
    for frame in frames:
        whole = image.fromarray(frame)
        palette = whole.quantize(96, dither=image.Dither.NONE) if palette is None else palette
        pictures.append(whole.quantize(palette=palette, dither=image.Dither.NONE))
    _write_animation(pictures, place, rate, format="GIF", optimize=False, disposal=1)


def _webp(frames: Iterator[np.ndarray], place: Path, rate: float) -> None:
    image = require("PIL.Image", extra="plot", purpose="WebP films")
    pictures = [image.fromarray(frame) for frame in frames]
    _write_animation(pictures, place, rate, format="WEBP", quality=70, method=4)


def _write_animation(pictures: list[LibraryObject], place: Path, rate: float, **options: object) -> None:
    duration = round(1000 / rate)
    pictures[0].save(place, save_all=True, append_images=pictures[1:], duration=duration, loop=0, **options)


def _mp4(frames: Iterator[np.ndarray], place: Path, rate: float) -> None:
    program = shutil.which("ffmpeg")
    if program is None:
        raise ArmillaryError(
            "an .mp4 film needs the program ffmpeg, which is not installed; install it, or write a .webp or "
            ".gif, which needs no other program"
        )
    first = next(frames)
    height, width, _ = first.shape
    command = [
        program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
        "-r", f"{rate:g}", "-i", "-", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4",
        str(place),
    ]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        try:
            process.stdin.write(first.tobytes())
            for frame in frames:
                process.stdin.write(frame.tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # ffmpeg's own message gives the reason
        said = process.stderr.read().decode("utf-8", "replace").strip()
    if process.returncode:
        raise ArmillaryError(f"ffmpeg did not write the film: {said or process.returncode}")


SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_WATCHED = 8.0  # seconds of a film of a very short or long motion
_MOST = 3000  # frames of a film
_PROBES = 24  # frames from which the camera's position is found
_WIDE = 150.0  # half the extent of a motion over the system's size; beyond, the camera follows it
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def film_of(run: Run, equations: DerivedEquations, place: Path, options: PictureOptions) -> None:
    """Write the picture or film of a run; the suffix of the file decides which."""
    write_film([figure_of(run, equations, options, arrows=False)], place, options)


def write_film(
    figures: Sequence[PageFigure],
    place: Path,
    options: PictureOptions,
    *,
    opacities: Sequence[float] | None = None,
    shifts: np.ndarray | None = None,
) -> None:
    """Write one picture, or a film, of figures in one scene."""
    single = place.suffix.lower() == ".png"
    times = _picture_time(figures[0], options) if single else _frame_times(figures[0], options)
    films = [
        FilmFigure(
            figure.content,
            _interpolate_rows(figure.time, figure.channels, times),
            _interpolate_rows(figure.time, figure.amplitudes, times),
            opacity=1.0 if opacities is None else opacities[i],
            shift=np.zeros(3) if shifts is None else shifts[i],
            meshes=figure.meshes,
        )
        for i, figure in enumerate(figures)
    ]
    paths = [
        (_path(figure, film, path), _COLOURS[k % len(_COLOURS)])
        for figure, film in zip(figures, films, strict=True)
        for k, path in enumerate(figure.content["paths"])
    ]
    write_frames(_frames(films, paths, options), place, options.rate)


def _frames(
    films: list[FilmFigure], paths: list[tuple[np.ndarray, str]], options: PictureOptions
) -> Iterator[np.ndarray]:
    """Yield the pictures one by one."""
    content = films[0].content
    up, count = np.array(content["up"]), len(films[0].positions)
    look = look_of(options, content)
    probes = np.unique(np.rint(np.linspace(0, count - 1, min(count, _PROBES))).astype(int))
    clouds = [[film.points(k) for film in films] for k in probes]
    points = np.concatenate([*(v for cloud in clouds for v in cloud), *(path for path, _ in paths)])
    if not len(points):
        raise ArmillaryError(f"'{content['name']}' has no bodies, so there is nothing to show")
    size = content["size"]
    reach = float(np.linalg.norm(np.ptp(points, axis=0)))
    follow = look["follow"] if look["follow"] >= 0 or reach <= 2 * _WIDE * size else 0
    floor: Floor | None = None
    if follow >= 0:
        origins = films[0].positions[:, follow]
        near = [v - origins[k] for cloud, k in zip(clouds, probes, strict=True) for v in cloud]
        points = np.concatenate(near)
        reach = float(np.linalg.norm(np.ptp(points, axis=0)))
    if reach <= 2 * _WIDE * size and look["follow"] < 0 and follow < 0:
        floor = _floor(points, up, reach)
    elif look["follow"] >= 0:
        whole = np.concatenate([v for cloud in clouds for v in cloud])
        floor = _floor(whole, up, max(reach, float(np.linalg.norm(np.ptp(whole, axis=0)))), reach)
    if any(part["kind"] in ("heights", "earth") for part in content["ground"]["parts"]):
        floor = None  # the model has its own ground
    camera: Camera = fit_camera(points, options.view, up, *options.size)
    painter = Painter(up, floor, options.theme or "light")
    for k in range(count):
        seen = camera.move(films[0].positions[k, follow]) if follow >= 0 else camera
        lines = [ribbon(path, seen, colour) for path, colour in paths if len(path) > 1]
        yield painter.picture(seen, [film.paint_frame(k) for film in films], lines)


def _floor(points: np.ndarray, up: np.ndarray, reach: float, fine: float | None = None) -> Floor:
    """Return a floor under all points, with a grid as on the viewer's page."""
    radius = 0.5 * (fine or reach)
    spacing = 10.0 ** np.ceil(np.log10(max(4 * radius, 1e-9))) / 40
    lowest = float(np.min(points @ up)) - 0.01 * reach
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    centre = centre + up * (lowest - centre @ up)
    return Floor(lowest, spacing, centre, 2.5 * reach)


def _frame_times(figure: PageFigure, options: PictureOptions) -> np.ndarray:
    start, end = figure.time[0], figure.time[-1]
    span = abs(float(end - start))
    speed = options.speed or default_speed(span)
    count = round(span / speed * options.rate) + 1
    if count > _MOST:
        raise ArmillaryError(
            f"a film of {span:g} s at {options.rate:g} pictures per second and speed {speed:g} has {count} "
            f"pictures, more than {_MOST}; give a larger speed= or a smaller rate="
        )
    return np.linspace(start, end, count)


def default_speed(span: float) -> float:
    """Return speed 1 for motions of a watchable duration, else a speed at which they last some seconds."""
    if 2.0 < span < 40.0 or not span > 0:
        return 1.0
    return min(SPEEDS, key=lambda s: abs(np.log(span / s / _WATCHED)))


def _picture_time(figure: PageFigure, options: PictureOptions) -> np.ndarray:
    start, end = sorted((float(figure.time[0]), float(figure.time[-1])))
    time = figure.time[0] if options.time is None else options.time
    if not start <= time <= end:
        raise ArmillaryError(f"time={time:g} is outside the run, which goes from {start:g} to {end:g} s")
    return np.array([time])


def _interpolate_rows(time: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return values at other times, interpolated linearly without rows that are not finite."""
    usable = np.flatnonzero(np.isfinite(values).all(axis=1))
    usable = usable if time[-1] >= time[0] else usable[::-1]
    if not len(usable):
        raise ArmillaryError("no row of the run has finite coordinates, so there is nothing to show")
    t = time[usable]
    columns = [np.interp(wanted, t, values[usable, k]) for k in range(values.shape[1])]
    return np.stack(columns, axis=1) if columns else np.zeros((len(wanted), 0))


def _path(figure: PageFigure, film: FilmFigure, path: dict[str, object]) -> np.ndarray:
    """Return the whole path of a point in a run, not only at the frames."""
    rows = np.unique(np.rint(np.linspace(0, len(figure.time) - 1, min(len(figure.time), 2000))).astype(int))
    whole = FilmFigure(figure.content, figure.channels[rows], figure.amplitudes[rows], shift=film.shift)
    found = whole.path(str(path["body"]), path["at"])
    result: np.ndarray = found[np.isfinite(found).all(axis=1)]
    return result
