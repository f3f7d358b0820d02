"""``python -m memwarden``: the command line."""

from memwarden.surfaces.cli.main import main

if __name__ == "__main__":
    main()
