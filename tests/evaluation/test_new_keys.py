"""Keys of providers of 2025 and 2026 without a word beside them, and what only looks like them."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

import pytest

from memwarden import redact

DICE = random.Random(41)
WORD, HEX = string.ascii_letters + string.digits, "0123456789abcdef"
SMALL, LARGE = string.ascii_lowercase + string.digits, string.ascii_uppercase + string.digits
OPEN = f"{WORD}_-"


def made(signs: str, length: int) -> str:
    """Return characters that hold a digit and neither begin nor end with a sign."""
    inner = "".join(DICE.choice(signs) for _ in range(length - 3))
    letters = [sign for sign in signs if sign.isalpha()]
    return f"{DICE.choice(letters)}{inner}{DICE.choice(string.digits)}{DICE.choice(letters)}"


def uuid() -> str:
    return "-".join(made(HEX, length) for length in (8, 4, 4, 4, 12))


KEYS: dict[str, Callable[[], str]] = {
    "google": lambda: f"AQ.Ab8R{made(OPEN, 46)}",
    "google refresh": lambda: f"1//0{made(OPEN, 98)}",
    "tailscale": lambda: f"tskey-auth-{made(WORD, 11)}CNTRL-{made(WORD, 32)}",
    "tailscale api": lambda: f"tskey-api-{made(WORD, 11)}CNTRL-{made(WORD, 32)}",
    "nvidia": lambda: f"nvapi-{made(OPEN, 64)}",
    "dropbox": lambda: f"sl.u.{made(OPEN, 140)}",
    "hubspot": lambda: f"pat-na1-{uuid()}",
    "hubspot eu": lambda: f"pat-eu1-{uuid()}",
    "new relic": lambda: f"NRAK-{made(LARGE, 27)}",
    "circleci": lambda: f"CCIPAT_{made(WORD, 22)}_{made(HEX, 40)}",
    "neon": lambda: f"napi_{made(SMALL, 64)}",
    "sonarqube": lambda: f"squ_{made(HEX, 40)}",
    "firecrawl": lambda: f"fc-{made(HEX, 32)}",
    "together": lambda: f"tgp_v1_{made(OPEN, 43)}",
    "jina": lambda: f"jina_{made(HEX, 32)}{made(OPEN, 28)}",
    "yandex": lambda: f"y0_{made(OPEN, 58)}",
    "azure ai": lambda: f"{made(WORD, 52)}JQQJ99{made(WORD, 12)}AAAAACOG{made(WORD, 4)}",
    "azure storage": lambda: f"{made(WORD, 76)}+ASt{made(WORD, 6)}==",
    "azure devops": lambda: f"{made(WORD, 76)}AZDO{made(WORD, 4)}",
    "azure search": lambda: f"{made(WORD, 42)}AzSe{made(WORD, 6)}",
    "cerebras": lambda: f"csk-{made(SMALL, 48)}",
    "fireworks": lambda: f"fw_{made(WORD, 24)}",
    "voyage": lambda: f"pa-{made(OPEN, 43)}",
    "elevenlabs": lambda: f"sk_{made(HEX, 48)}",
    "e2b": lambda: f"e2b_{made(HEX, 40)}",
    "resend": lambda: f"re_{made(WORD, 8)}_{made(WORD, 24)}",
    "airtable": lambda: f"pat{made(WORD, 14)}.{made(HEX, 64)}",
    "atlassian": lambda: f"ATCTT3xFfGN0{made(OPEN, 170)}",
    "nuget": lambda: f"oy2a7{made(SMALL, 41)}",
    "buildkite": lambda: f"bkua_{made(HEX, 40)}",
    "asana": lambda: f"2/{DICE.randrange(10**15, 10**16)}/{DICE.randrange(10**15, 10**16)}:{made(HEX, 32)}",
    "mailgun": lambda: f"key-{made(HEX, 32)}",
    "modal": lambda: f"as-A{made(WORD, 21)}",
    "context7": lambda: f"ctx7sk-{uuid()}",
    "convex": lambda: f"prod:happy-otter-123|{made(OPEN, 80)}",
    "wandb": lambda: f"wandb_v1_{made(WORD, 60)}",
    "fal": lambda: f"{uuid()}:{made(HEX, 32)}",
}
SENTENCES = ("{}", "the new one is {} ok", "put {} into .env", "Here: {}.", "新的是{}。", "c'est {}, merci")
LOOK_ALIKES = [
    "The AQ.12 form is due in May.",
    "See 1//0 in the ratio table: 1//03 means three.",
    "Use tskey-auth-KEY as a placeholder for the Tailscale key.",
    "nvapi-doc is the folder of the NVIDIA pages.",
    "The sl.u. branch was merged.",
    "pat-na1-production is the name of the cluster.",
    "NRAK-1 is a ticket.",
    "napi_create_function is called once per module.",
    "napi_get_value_string_utf8 copies the string into a buffer.",
    "squ_total and squ_count are columns.",
    "fc-cache -fv rebuilds the fonts.",
    "fc-00 is the address range fc00::/7.",
    "tgp_v1_migration.sql is ready.",
    "jina_embeddings_v3_base_en_model is downloaded at start.",
    "y0_initial_condition_of_the_integrator is a vector.",
    "The commit is 3f786850e387550fdab836ed7e6dc881de23001b.",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "fw_update_and_restart is called at boot.",
    "fw_printenv shows the variables of the boot loader.",
    "pa-system-of-the-hall is broken again.",
    "re_match_groups_of_the_first_expression is a list.",
    "patient.records is the table.",
    "pattern.compile is called in a loop.",
    "sk_buff is the socket buffer of the kernel.",
    "e2b_test runs in the sandbox.",
    "The order is 550e8400-e29b-41d4-a716-446655440000:shipped.",
    "Id 550e8400-e29b-41d4-a716-446655440000, see the log.",
    "csk-team is the channel.",
    "AZDO is short for Azure DevOps.",
    "The file is IMG_20231220_WA0001_edited_final_version.jpg.",
    "APIMANAGEMENT_SERVICE_NAME_FOR_THE_EUROPEAN_REGION is set.",
    "ACDB and Acdb are the audio calibration database.",
    "key-value-store-performance-comparison is a page.",
    "oy2 is the code of the second voyage to the yard.",
    "bkua_pipelines_of_the_team_in_the_north is a table.",
    "Page 2/16 of the report, from 10:30.",
    "dev:happy-otter-123 is the name of the deployment.",
    "wandb_v1_migration_of_all_runs_and_artifacts is done.",
    "setx PATH %PATH%;C:\\tools",
    "echo user:group | chgrp",
    "az login --service-principal -u app -t tenant",
    "The last fast cast lasts: +ast +amc +aba.",
]


@pytest.mark.parametrize("name", KEYS)
def test_a_key_goes_without_a_word_beside_it(name: str) -> None:
    for sentence in SENTENCES:
        key = KEYS[name]()
        left = redact(sentence.format(key)).text
        assert key[len(key) // 3 :] not in left, left
        assert "[redacted:" in left


def test_look_alikes_stay() -> None:
    touched = [text for text in LOOK_ALIKES if redact(text).found]
    assert len(touched) <= 0.01 * len(LOOK_ALIKES), touched


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (r"net use Z: \\srv\share /user:ACME\bo Sommer2031xQ", "Sommer2031xQ"),
        (r"net use \\srv\share Herbst77!kk /user:bo", "Herbst77!kk"),
        ('ConvertTo-SecureString "Winter99#mm" -AsPlainText -Force', "Winter99#mm"),
        ("$p = ConvertTo-SecureString -String 'Lenz88%pp' -AsPlainText", "Lenz88%pp"),
        ("cmdkey /add:srv /user:bo /pass:Regen55xy", "Regen55xy"),
        ("setx API_TOKEN Wolke88%pp", "Wolke88%pp"),
        ("az login --service-principal -u app -p Nuage77!kk --tenant t", "Nuage77!kk"),
        ("plink -ssh host -pw Nube99#mm", "Nube99#mm"),
        ("schtasks /create /ru bo /rp Chmura55xy", "Chmura55xy"),
        ("echo bo:Oblako66zz | chpasswd", "Oblako66zz"),
        ("chpasswd <<< 'bo:Nuvola31xQ'", "Nuvola31xQ"),
        ("PASSWORD＝Kumo2031xQ", "Kumo2031xQ"),
        ("密码＝Yun2031xQ", "Yun2031xQ"),
        ("runas: /user:bo /password:Nebel66zz", "Nebel66zz"),
    ],
)
def test_a_password_of_a_command_goes(text: str, secret: str) -> None:
    assert secret not in redact(text).text
