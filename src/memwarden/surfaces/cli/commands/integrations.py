"""``memwarden integrations``: the adapters of frameworks, and what each needs."""

from __future__ import annotations

from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import print_json, printer
from memwarden.surfaces.integrations.catalogue import ADAPTERS


@command
async def integrations(options: Options) -> None:
    """List the adapters of frameworks: what to import, and what to install.

    \b
    Example:
      memwarden integrations --json
    """
    if options.as_json:
        print_json([adapter._asdict() | {"missing": adapter.missing()} for adapter in ADAPTERS])
        return
    for adapter in ADAPTERS:
        install = f"pip install {adapter.install}" if adapter.missing() else "installed"
        lines = (
            f"{adapter.framework}: {install}",
            f"  from {adapter.module} import {', '.join(adapter.offers)}",
            f"  docs/howto/{adapter.page}",
        )
        printer().print("\n".join(lines), soft_wrap=True)
