"""JPL's trees of rigid bodies with flexible appendages: MBDYFR, MBDYFN and MBDYFL.

A description (or plain numbers) becomes a ``Vehicle`` (vehicle.py; from a System by conversion/). Its
barycentres and attitude (barycentres.py, attitude.py) give the blocks of one symmetric matrix (blocks.py), to
which each of the formulations/ adds modal columns and its right side. solution.py makes accelerations,
momentum and torques of it; rates.py those of a system's own speeds. Complex modes come from
model/flexible/modal_data.py. Read vehicle.py first.

Source: Fleischer and Likins (1975), JPL TR 32-1598, with its errors corrected where each formula stands.
"""
