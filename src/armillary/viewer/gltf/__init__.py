"""Motions as binary glTF 2.0 (.glb), which other programs show, edit and render.

Enters: the figure of a run. Leaves: one file with a node per body, its meshes and colours, and an animation.
Read ``motion.py`` (what becomes a node or a channel), then ``document.py`` (how the file is laid out).

Source: Khronos Group (2021), glTF 2.0 Specification.
"""
