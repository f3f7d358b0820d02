"""The paths under which requests are passed on to an upstream."""

from __future__ import annotations

import pytest

from memwarden.errors import NotFound
from memwarden.surfaces.proxy.upstream import quote_path


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/../files",
        "/v1/models/../../admin?x=1",
        "/v1/models/./a",
        "/v1/models//a",
        "/v1/models/a#b",
        "/v1/models/%2e%2e/files",
        "/v1/models/..\\files",
    ],
)
def test_a_name_that_leads_elsewhere_is_no_model(path: str) -> None:
    with pytest.raises(NotFound, match="nothing is passed on"):
        quote_path(path)


def test_names_of_models_reach_the_upstream_as_they_are() -> None:
    assert quote_path("/v1/models/org/name-1.5:free") == "/models/org/name-1.5:free"
    assert quote_path("/v1/models/a b") == "/models/a%20b"
    assert quote_path("/v1/chat/completions") == "/chat/completions"
