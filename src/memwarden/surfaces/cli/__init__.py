"""The command line. ``memwarden.surfaces.cli.main:main`` is its entry point."""
