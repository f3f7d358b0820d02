"""Sets the server's log up: a JSON object a line on stderr, without anything that somebody said."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog


def configure_logs(level: str) -> None:
    """Send the log of the server, of memwarden and of uvicorn to stderr as JSON."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _name_exception,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("memwarden").setLevel(level.upper())
    # Sentences for terminals: the command line says where the server listens, and the log tells of requests.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


def _name_exception(logger: Any, name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keep the kind of an exception alone: its message and its frames may hold content."""
    info = event.pop("exc_info", None)
    if isinstance(info, tuple) and info[0] is not None:
        event["error"] = info[0].__name__
    return event
