"""The tree of links: kinematics, inertia and loads."""
