"""Textures of mesh files as one colour each: the mean of the picture, as light adds up.

Pictures show materials by one colour, so that a page holds no images. Pillow decodes them
(``pip install 'armillary[plot]'``); without it, and for images that cannot be read, a material has its plain
colour.
"""

from __future__ import annotations

import io

import numpy as np

from armillary.files.meshes.surface import hex_colour

_MOST = 50_000_000  # pixels of an image
_SIDE = 64  # pixels to which an image is reduced


def mean_colour(data: bytes) -> str:
    """The mean colour of an image, "#0072b2"; empty where it cannot be read."""
    try:
        from PIL import Image
    except ImportError:
        return ""
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > _MOST:
                return ""
            image.thumbnail((_SIDE, _SIDE))
            pixels = np.asarray(image.convert("RGBA"), dtype=float) / 255.0
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # what Pillow raises
        return ""
    weights = pixels[..., 3].ravel()
    if not weights.sum() > 0.0:
        return ""
    return hex_colour(srgb(weights @ linear(pixels[..., :3].reshape(-1, 3)) / weights.sum()))


def linear(colour: np.ndarray) -> np.ndarray:
    """Light of sRGB values, both between 0 and 1 (IEC 61966-2-1)."""
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def srgb(light: np.ndarray) -> np.ndarray:
    """sRGB values of light, both between 0 and 1."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.maximum(light, 0.0) ** (1 / 2.4) - 0.055)
