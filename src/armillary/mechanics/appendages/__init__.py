"""JPL's trees of rigid bodies with flexible appendages: MBDYFR, MBDYFN and MBDYFL.

A description (or plain numbers) becomes a ``Vehicle`` (vehicle.py; from a System by gathering.py), its
barycentres and attitude (barycentres.py, attitude.py) give the blocks of one symmetric matrix (blocks.py), and
each formulation adds its right side and modal rows (mbdyfn.py, mbdyfl.py, mbdyfr.py). solution.py makes
accelerations, momentum and torques of it; rates.py those of a system's own speeds. modes.py computes real and
complex modes. Read vehicle.py first.

Source: Fleischer and Likins (1975), JPL TR 32-1598, with its errors corrected where each formula stands.
"""
