"""Textures of mesh files: a picture of at most 512 pixels a side, and its mean colour, as light adds up.

Pages and GLB files show the picture; what has no room for it, and films, the colour. Pillow decodes images
(``pip install 'armillary[plot]'``); without it, and for images that cannot be read, a material has its plain
colour.
"""

from __future__ import annotations

import io

import numpy as np

from armillary.files.meshes.surface import Paint, hex_colour

SIDE = 512  # pixels to which an image is reduced
_MOST = 50_000_000  # pixels of an image
_FEW = 64  # pixels a side of which the mean is taken
_QUALITY = 85


def texture(data: bytes, factor: np.ndarray | None = None) -> Paint:
    """An image with its light multiplied by a factor; nothing where it cannot be read."""
    try:
        from PIL import Image
    except ImportError:
        return Paint()
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > _MOST:
                return Paint()
            image.thumbnail((SIDE, SIDE))
            seen = image.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # what Pillow raises
        return Paint()
    if factor is not None and np.any(factor != 1.0):
        values = np.asarray(seen, dtype=float) / 255.0
        values[..., :3] = srgb(factor * linear(values[..., :3]))
        seen = Image.fromarray(np.rint(255.0 * values).astype(np.uint8), "RGBA")
    stored = io.BytesIO()
    seen.convert("RGB").save(stored, "JPEG", quality=_QUALITY)
    small = seen.copy()
    small.thumbnail((_FEW, _FEW))
    pixels = np.asarray(small, dtype=float) / 255.0
    weights = pixels[..., 3].ravel()
    if not weights.sum() > 0.0:
        return Paint()
    light = weights @ linear(pixels[..., :3].reshape(-1, 3)) / weights.sum()
    return Paint(hex_colour(srgb(light)), stored.getvalue())


def linear(colour: np.ndarray) -> np.ndarray:
    """Light of sRGB values, both between 0 and 1 (IEC 61966-2-1)."""
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def srgb(light: np.ndarray) -> np.ndarray:
    """sRGB values of light, both between 0 and 1."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.maximum(light, 0.0) ** (1 / 2.4) - 0.055)
