"""Files of frames: PNG by zlib, GIF and WebP by Pillow, MP4 by the program ffmpeg."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from armillary.atomic import replacing
from armillary.errors import ArmillaryError, require
from armillary.untyped import LibraryObject


def write_frames(frames: Iterator[np.ndarray], place: Path, rate: float) -> None:
    """Frames (rows × columns × 3 bytes) as a picture or film, written whole or not at all."""
    kind = place.suffix.lower()
    writer = {".png": _png, ".gif": _gif, ".webp": _webp, ".mp4": _mp4}[kind]
    with replacing(place) as temporary:
        writer(frames, temporary, rate)


def png_bytes(image: np.ndarray) -> bytes:
    """A picture as a PNG file."""
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
    _animated(pictures, place, rate, format="GIF", optimize=False, disposal=1)


def _webp(frames: Iterator[np.ndarray], place: Path, rate: float) -> None:
    image = require("PIL.Image", extra="plot", purpose="WebP films")
    pictures = [image.fromarray(frame) for frame in frames]
    _animated(pictures, place, rate, format="WEBP", quality=70, method=4)


def _animated(pictures: list[LibraryObject], place: Path, rate: float, **options: object) -> None:
    duration = round(1000 / rate)
    pictures[0].save(place, save_all=True, append_images=pictures[1:], duration=duration, loop=0, **options)


def _mp4(frames: Iterator[np.ndarray], place: Path, rate: float) -> None:
    program = shutil.which("ffmpeg")
    if program is None:
        raise ArmillaryError(
            "an .mp4 film is made by the program ffmpeg, which is not there; install it, or write a .webp or "
            ".gif, which need no other program"
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
            pass  # its own words say why
        said = process.stderr.read().decode("utf-8", "replace").strip()
    if process.returncode:
        raise ArmillaryError(f"ffmpeg did not write the film: {said or process.returncode}")
