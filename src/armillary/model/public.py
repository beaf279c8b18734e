"""The functions of vectors and motion that users call, each remembering what it made for saved models."""

from armillary.algebra import vectors as vec
from armillary.model import motion
from armillary.model.origins import told

dot = told(vec.dot)
cross = told(vec.cross)
magnitude = told(vec.magnitude)
direction = told(vec.direction)
project = told(vec.project)
angle = told(vec.angle)
position = told(motion.position)
velocity = told(motion.velocity)
acceleration = told(motion.acceleration)
angular_velocity = told(motion.angular_velocity)
angular_acceleration = told(motion.angular_acceleration)
time_derivative = told(motion.time_derivative)
