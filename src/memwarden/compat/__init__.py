"""Clients with the calls of other memory libraries: a program changes one import."""
