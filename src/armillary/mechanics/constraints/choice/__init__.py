"""Which speeds are dependent: samples of the motion, the choice among them, and the parts that it makes."""
