"""What only looks like a secret stays: what stands for a value, fingerprints, and examples of manuals."""

from __future__ import annotations

import pytest

from memwarden import redact


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=change_me",
        "password: replaceme",
        'admin_password = "ChangeThis!"',
        "<password>%system.deploy.password%</password>",
        "password=@db.password@",
        "<password>#{vault.db.password}</password>",
        'password: "@{pipeline.password}"',
        "The key of the server is SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
        "aws_access_key_id = AKIAI44QH8DHBEXAMPLE",
        "aws_secret_access_key = je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
    ],
)
def test_what_is_public_stays(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("DB_PASSWORD=changeme77!Qz", "changeme77!Qz"),
        ("password: replaceme77!Qz", "replaceme77!Qz"),
        ("my password is ChangeThis!", "ChangeThis!"),
        ("<password>%tR9#vQ2m%</password>", "%tR9#vQ2m%"),
        ("aws_access_key_id = AKIAI44QH8DHBQAMPLE2", "AKIAI44QH8DHBQAMPLE2"),
        ("password: sha256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8", "nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8"),
    ],
)
def test_what_resembles_it_goes(text: str, secret: str) -> None:
    assert secret not in redact(text).text
