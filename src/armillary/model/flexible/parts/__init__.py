"""Ways to describe a flexible part: beams, plates, nodes, matrices and modal integrals."""
