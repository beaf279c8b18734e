"""JPL's trees of rigid bodies with flexible appendages: MBDYFR, MBDYFN and MBDYFL.

A description (or plain numbers) becomes a ``Vehicle`` (vehicle.py; from a System by rates.py and what it
calls). Its barycentres and attitude (barycentres.py, attitude.py) give the blocks of one symmetric matrix
(blocks.py, modal.py), and each formulation adds its right side (mbdyfn.py, mbdyfl.py, and mbdyfr.py with
deformation.py). solution.py makes accelerations, momentum and torques of it; rates.py those of a system's own
speeds. Complex modes come from model/flexible/complex_modes.py. Read vehicle.py first.

Source: Fleischer and Likins (1975), JPL TR 32-1598, with its errors corrected where each formula stands.
"""
