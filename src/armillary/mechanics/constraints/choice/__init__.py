"""The choice of dependent speeds: samples of the motion, choices, and the parts that they make."""
