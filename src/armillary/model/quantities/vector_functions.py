"""The functions of vectors and motion that users call, whose calls are recorded for saved models."""

from armillary.algebra import vectors as vec
from armillary.model.bodies import motion
from armillary.model.recording.recorder import records_calls

dot = records_calls(vec.dot)
cross = records_calls(vec.cross)
magnitude = records_calls(vec.magnitude)
direction = records_calls(vec.direction)
project = records_calls(vec.project)
angle = records_calls(vec.angle)
position = records_calls(motion.position)
velocity = records_calls(motion.velocity)
acceleration = records_calls(motion.acceleration)
angular_velocity = records_calls(motion.angular_velocity)
angular_acceleration = records_calls(motion.angular_acceleration)
time_derivative = records_calls(motion.time_derivative)
