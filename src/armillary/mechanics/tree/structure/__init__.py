"""The tree of links built from a description: joints as steps, rigid groups, origins, regrouped inertia."""
