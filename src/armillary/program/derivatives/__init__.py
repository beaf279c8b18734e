"""Programs of derivatives: equations linearised about a state, and sensitivities along a motion."""
