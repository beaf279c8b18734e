"""The three formulations MBDYFR, MBDYFN and MBDYFL: their right sides and modal columns."""
