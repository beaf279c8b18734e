"""The tree of links: kinematics, inertia and loads.

In: a description (`build.py`). Out: velocities, forces and the mass matrix over any scalar. Read `tree.py`
first, then `kinematics.py`.
"""
