"""Keeps a backup beside the file before a migration changes it."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

from memwarden.errors import StoreError
from memwarden.stores.sqlite.backup import back_up
from memwarden.stores.transfer.backup import PARTIAL

MAX_COPIES = 3
"""Maximum backups kept beside a file, the newest: each upgrade adds a copy as large as the store."""

_COPY = r"\.schema-(\d+)\.(\d{8}T\d{12})\.mwbackup"


def keep_copy(path: Path, number: int) -> Path:
    """Make a backup of a file of schema ``number`` beside it. The caller holds the file's write lock.

    Raises the errors of :func:`memwarden.stores.sqlite.backup.back_up`, saying that nothing was upgraded.
    """
    for item in path.absolute().parent.iterdir():  # left by a kill; the write lock keeps others from copying now
        if re.fullmatch(re.escape(path.name) + _COPY + r"\..*" + re.escape(PARTIAL), item.name):
            shutil.rmtree(item, ignore_errors=True)
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    target = path.with_name(f"{path.name}.schema-{number}.{when}.mwbackup")
    try:
        back_up(path, target)
    except StoreError as error:
        raise type(error)(f"{path} was not upgraded and is as it was, since no copy could be kept: {error}") from error
    return target


def forget_oldest(path: Path) -> None:
    """Remove all but the newest backups beside a file."""
    for old in list_copies(path)[:-MAX_COPIES]:
        old.unlink(missing_ok=True)


def list_copies(path: Path) -> list[Path]:
    """Return the backups that upgrades left beside a file, the oldest first."""
    found = {
        match[2]: item
        for item in path.absolute().parent.iterdir()
        if (match := re.fullmatch(re.escape(path.name) + _COPY, item.name))
    }
    return [found[when] for when in sorted(found)]
