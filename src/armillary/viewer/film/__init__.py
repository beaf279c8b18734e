"""Pictures and films of motions without a browser: triangles drawn by NumPy, files by zlib, Pillow or ffmpeg.

Enters: runs with their equations. Leaves: .png, .gif, .webp, .mp4. Read ``film.py`` (times, frames, files),
``scene.py`` (figures as triangles, one picture), ``camera.py``, ``raster.py``.
"""
