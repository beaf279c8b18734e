"""Unit systems of models, numbers with units, and units deduced for parameters without them."""
