"""Cases of flexible bodies."""
