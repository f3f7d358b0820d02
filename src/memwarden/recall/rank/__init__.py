"""Ranking: features of each memory, weighed into calibrated scores."""
