"""Recall over time: the past, changes, histories, and the cursor of each thread."""
