"""Counts requests for Prometheus; the processes of a server count together, in files of their own folder."""

from __future__ import annotations

import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    multiprocess,
)
from starlette.responses import Response

# The package reads it when it is imported, so it is set before a process of several is started.
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5, 5.0, 10.0)
_LABELS = ("method", "route")

requests = Counter("memwarden_http_requests", "Requests by route and status code.", (*_LABELS, "status"))
seconds = Histogram("memwarden_http_request_seconds", "How long requests took.", _LABELS, buckets=_BUCKETS)
refusals = Counter("memwarden_http_refusals", "Requests refused by key, grant or rate.", ("status",))
REFUSED = (401, 403, 421, 429)


def count_request(method: str, route: str, status: int, took: float) -> None:
    """Count a request that was answered."""
    requests.labels(method, route, str(status)).inc()
    seconds.labels(method, route).observe(took)
    if status in REFUSED:
        refusals.labels(str(status)).inc()


def render_metrics() -> Response:
    """Return what was counted, in the text format of Prometheus."""
    registry = REGISTRY
    if SHARED_FOLDER in os.environ:
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the package has no types there
    return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
