"""A description as a vehicle: substructures, appendages and loads."""
