"""The store as readable JSON files: a folder for each project, user and task."""

from memwarden.stores.jsonfile.store import JsonStore

__all__ = ["JsonStore"]
