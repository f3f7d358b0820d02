"""The namespace index: what recall holds of a namespace in RAM."""
