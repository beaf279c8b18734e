"""Flexible bodies: parts of modes, made from nodes, matrices, integrals, beams or plates."""
