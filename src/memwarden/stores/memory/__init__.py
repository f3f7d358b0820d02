"""The store that keeps everything in RAM."""
