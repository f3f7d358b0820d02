"""The copy that is kept beside a file before a later schema changes it."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

from memwarden.errors import StoreError
from memwarden.stores.sqlite.backup import back_up
from memwarden.stores.transfer.backup import PARTIAL

MAX_COPIES = 3
"""So many copies are kept of one file, the newest: each upgrade makes one, and each is as large as the store was."""

_COPY = r"\.schema-(\d+)\.(\d{8}T\d{12})\.mwbackup"


def keep_copy(path: Path, number: int) -> Path:
    """Make a backup of a file of schema ``number`` beside it. The caller holds the file's write lock.

    Raises the errors of :func:`memwarden.stores.sqlite.backup.back_up`, with what they mean for the upgrade.
    """
    for item in path.absolute().parent.iterdir():  # a copy that was killed; nobody else is at one now
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
    """Remove all but the newest copies beside a file."""
    for old in list_copies(path)[:-MAX_COPIES]:
        old.unlink(missing_ok=True)


def list_copies(path: Path) -> list[Path]:
    """Return the copies beside a file that upgrades left, the oldest first."""
    found = {
        match[2]: item
        for item in path.absolute().parent.iterdir()
        if (match := re.fullmatch(re.escape(path.name) + _COPY, item.name))
    }
    return [found[when] for when in sorted(found)]
