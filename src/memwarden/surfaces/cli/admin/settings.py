"""``memwarden config`` and ``memwarden version``."""

from __future__ import annotations

import os
import platform
from dataclasses import fields
from pathlib import Path

import typer

from memwarden import __version__
from memwarden import settings as config
from memwarden.settings import ENVIRONMENT_PREFIX, SETTINGS_FILE, Settings
from memwarden.stores.url import without_login
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer, to_json_value

app = typer.Typer(
    help="Show the settings in force and where they come from.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("show")
@command
async def show(options: Options) -> None:
    """Show the settings in force, the categories and who may read them.

    \b
    Example:
      memwarden config show --json
    """
    settings = options.settings
    values = {field.name: getattr(settings, field.name) for field in fields(Settings) if field.name != "categories"}
    values["db"] = without_login(settings.db or config.default_db())
    categories = settings.categories
    if options.as_json:
        print_json(values | {"categories": categories.declared, "allowlists": categories.allowlists})
        return
    console = printer()
    for name, value in values.items():
        console.print(clean(f"{name:<18} {value}"))
    console.print("\ncategories")
    for category in categories.declared.values():
        most = f", at most {category.rag_length} for a query" if category.rag_length else ""
        console.print(clean(f"  {category.name:<22} {'always offered' if category.always else 'when relevant'}{most}"))
    console.print("\nagents and what each may read")
    for agent, names in categories.allowlists.items():
        console.print(clean(f"  {agent:<22} {', '.join(names)}"))


@app.command("path")
@command
async def path(options: Options) -> None:
    """Show which settings file, environment variables and store are in use.

    \b
    Example:
      memwarden config path
    """
    names = [ENVIRONMENT_PREFIX + field.name.upper() for field in fields(Settings)]
    used = {
        "settings_file": _settings_file(),
        "environment": [name for name in names if name in os.environ],
        "db": without_login(options.settings.db or config.default_db()),
    }
    if options.as_json:
        print_json(used)
        return
    for name, value in to_json_value(used).items():
        shown = ", ".join(value) if isinstance(value, list) else value
        printer().print(clean(f"{name:<14} {shown or 'none'}"))


@command
async def version(options: Options) -> None:
    """Show the version."""
    if options.as_json:
        print_json({"memwarden": __version__, "python": platform.python_version()})
    else:
        printer().print(f"memwarden {__version__} (Python {platform.python_version()})")


def _settings_file() -> str | None:
    file = Path(SETTINGS_FILE)
    return str(file.resolve()) if file.is_file() else None
