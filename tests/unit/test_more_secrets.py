"""Secrets of command lines, mark-up and talk are taken out; what looks alike stays."""

from __future__ import annotations

import pytest

from memwarden import redact

SECRETS = {
    "curl -u ana:hunter22x https://api.example": "hunter22x",
    "sshpass -p 'q7Rt!mm2' ssh ana@host": "q7Rt!mm2",
    "mysql -u root -pTiger99x shop": "Tiger99x",
    "<db><password>tigerlily</password></db>": "tigerlily",
    "pw = 'sommer wind'": "sommer wind",
    "aws_secret_access_key = /Abc1Def2Ghi3Jkl4Mno5Pqr6Stu7Vwx8Yz9a+bc": "/Abc1Def2Ghi3Jkl4Mno5Pqr6Stu7Vwx8Yz9a+bc",
    "My password is brass-otter-window-nine.": "brass-otter-window-nine",
    "Your verification code is 482 913.": "482 913",
    "My PUK is 48291377": "48291377",
    "backup codes: k3j9-22xp 7fh2-q0zz": "7fh2-q0zz",
    "private key: 0x" + "1f" * 32: "1f" * 32,
    "Send it to DE89 3704 0044 0532 0130 00, please.": "3704 0044",
}


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_gone(text: str) -> None:
    assert SECRETS[text] not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "The door code is 4821 and the locker is 17.",
        "The home wifi is called Otter.",
        "curl -u prints nothing here",
        "Our zip code is 48291, the error code 404.",
        "A well-known-fact is that mysql -p asks for it.",
        "DE89 3704 0044 0532 0130 01 has a typing error.",
    ],
)
def test_what_looks_alike_stays(text: str) -> None:
    assert redact(text).text == text
