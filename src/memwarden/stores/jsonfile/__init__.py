"""The store as readable files: a folder for each project, user and task (E8)."""

from memwarden.stores.jsonfile.store import JsonStore

__all__ = ["JsonStore"]
