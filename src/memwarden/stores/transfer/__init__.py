"""Whole namespaces and stores on the move: pages, migration, backup."""
