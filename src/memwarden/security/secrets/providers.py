"""Finds tokens of known providers by gitleaks' rules, and a few more.

The rules are data, not code: ``gitleaks.toml`` beside this file is the rule file of the project gitleaks (MIT licence,
see NOTICE), unchanged, so that a newer file can take its place. What is said here is how to run it on talk instead of
on source code, and fast: a text without a long run of token characters is left after a single scan, and a rule is
compiled and run only if a keyword of it stands near such a run.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class SecretSpan:
    """The characters from ``start`` up to but not with ``end``, and what kind of secret they are."""

    start: int
    end: int
    kind: str


_DIGIT = re.compile(r"[0-9]")

# How gitleaks begins a rule that goes by the name of a service. It finds no more by it, and it costs 50 tries a place.
_LEAD = r"[\w.-]{0,50}?"
# How gitleaks bounds most rules: made for source code. In talk a token also stands before a full stop or behind a sign
# of another script.
_END_IN_TALK = r"(?![A-Za-z0-9_]|-[A-Za-z0-9])"
_BOUNDS = (
    (_LEAD, ""),
    (r"""(?:[\x60'"\s;]|\\[nr]|$)""", _END_IN_TALK),
    (r"""(?:$|[\\'"\x60\s<),])""", _END_IN_TALK),
    (r"""(?:^|[\\'"\x60\s>=:(,)])""", r"(?<![A-Za-z0-9_~.-])"),
)
# Left out: rules that go by entropy alone or scan whole files, and what is found elsewhere in a way that fits talk.
_LEFT_OUT = frozenset(
    {"generic-api-key", "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "private-key", "jwt"}
)
# A token goes on as long as these do, whatever length the rule has in mind (bounded: many may stand in one run).
_REST = re.compile(r"[A-Za-z0-9_-]{0,500}")

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

# Formats that the rules of gitleaks lack, or bind to a length or a context that talk does not keep to.
_MORE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("anthropic-api-key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-api-key", ("sk-",), r"(?<![A-Za-z0-9_-])sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{32,}"),
    ("groq-api-key", ("gsk_",), r"\bgsk_[A-Za-z0-9]{32,}"),
    ("xai-api-key", ("xai-",), r"\bxai-[A-Za-z0-9]{40,}"),
    ("replicate-api-token", ("r8_",), r"\br8_[A-Za-z0-9]{30,}"),
    ("tavily-api-key", ("tvly-",), r"\btvly-[A-Za-z0-9-]{20,}"),
    ("pinecone-api-key", ("pcsk_",), r"\bpcsk_[A-Za-z0-9_]{40,}"),
    ("langsmith-api-key", ("lsv2_",), r"\blsv2_(?:pt|sk)_[a-f0-9_]{32,}"),
    ("telegram-bot-token", (":aa",), r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("stripe-webhook-secret", ("whsec_",), r"\bwhsec_[A-Za-z0-9+/]{24,}={0,2}"),
    ("google-oauth-token", ("ya29.",), r"\bya29\.[A-Za-z0-9_-]{20,}"),
    ("google-client-secret", ("gocspx-",), r"\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    ("docker-token", ("dckr_",), r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    (
        "discord-webhook",
        ("/api/webhooks/",),
        r"(?:https?://[a-z.]{0,20}discord(?:app)?\.com)?/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,80}",
    ),
    (
        "discord-bot-token",
        (".",),
        r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
    ),
    ("supabase-token", ("sbp_", "sb_secret_"), r"\b(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("figma-token", ("figd_",), r"\bfigd_[A-Za-z0-9_-]{20,}"),
    ("azure-key", ("accountkey=", "sharedaccesskey="), r"(?i:Account|SharedAccess)(?i:Key)=([A-Za-z0-9+/]{40,}={0,2})"),
    ("azure-sas", ("sig=",), r"[?&]sig=([A-Za-z0-9%+/]{40,}={0,2})"),
    ("jwt", ("eyj",), r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){0,4}"),
    ("facebook-token", ("eaa",), r"\bEAA[A-Z][A-Za-z0-9]{60,}"),
    ("mailgun-key", ("-",), r"(?<![a-f0-9-])[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![a-f0-9-])"),
    ("age-secret-key", ("age-secret-key-",), r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    ("google-api-key", ("aq.",), r"(?<![A-Za-z0-9_.-])AQ\.[A-Za-z0-9_-]{30,}"),
    ("google-refresh-token", ("1//0",), r"(?<![A-Za-z0-9_/-])1//0[A-Za-z0-9_-]{40,}"),
    ("tailscale-key", ("tskey-",), r"\btskey-[a-z]{2,12}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}"),
    ("nvidia-api-key", ("nvapi-",), r"\bnvapi-[A-Za-z0-9_-]{40,}"),
    ("dropbox-token", ("sl.u.",), r"\bsl\.u\.[A-Za-z0-9_-]{60,}"),
    ("hubspot-token", ("pat-na", "pat-eu", "pat-ap"), rf"\bpat-(?:na|eu|ap)[0-9]-{_UUID}"),
    ("new-relic-key", ("nrak-",), r"\bNRAK-[A-Z0-9]{27}"),
    ("circleci-token", ("ccipat_", "cciprj_"), r"\bCCI(?:PAT|PRJ)_[A-Za-z0-9]{16,32}_[a-f0-9]{40}"),
    ("neon-api-key", ("napi_",), r"\bnapi_[a-z0-9]{50,}"),
    ("sonarqube-token", ("squ_", "sqp_", "sqa_"), r"\bsq[upa]_[a-f0-9]{40}"),
    ("firecrawl-api-key", ("fc-",), r"(?<![A-Za-z0-9_-])fc-[a-f0-9]{32}(?![a-f0-9])"),
    ("together-api-key", ("tgp_v1_",), r"\btgp_v1_[A-Za-z0-9_-]{36,}"),
    ("jina-api-key", ("jina_",), r"\bjina_[A-Za-z0-9]{20}[A-Za-z0-9_-]{30,}"),
    ("yandex-token", ("y0_",), r"(?<![A-Za-z0-9_-])y0_[A-Za-z0-9_-]{50,}"),
    ("azure-ai-key", ("jqqj99",), r"(?<![A-Za-z0-9])[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,28}(?![A-Za-z0-9])"),
    ("azure-devops-token", ("azdo",), r"(?<![A-Za-z0-9])[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
    ("azure-search-key", ("azse",), r"(?<![A-Za-z0-9])[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}(?![A-Za-z0-9])"),
    (
        "azure-key",
        ("+ast", "acdb", "+amc", "+aba", "apim"),
        r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{76}(?:\+ASt|ACDb|\+AMC|\+ABa|APIM)[A-Za-z0-9+/]{5,7}={0,2}",
    ),
    ("cerebras-api-key", ("csk-",), r"\bcsk-[a-z0-9]{40,}"),
    ("fireworks-api-key", ("fw_",), r"(?<![A-Za-z0-9_])fw_(?=[A-Za-z]*[0-9])[A-Za-z0-9]{22,28}(?![A-Za-z0-9_])"),
    ("voyage-api-key", ("pa-",), r"(?<![A-Za-z0-9_-])pa-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    ("elevenlabs-api-key", ("sk_",), r"(?<![A-Za-z0-9_])sk_[a-f0-9]{48}(?![a-f0-9])"),
    ("e2b-api-key", ("e2b_",), r"\be2b_[a-f0-9]{40}"),
    ("resend-api-key", ("re_",), r"(?<![A-Za-z0-9_])re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![A-Za-z0-9_])"),
    ("airtable-token", ("pat",), r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("atlassian-token", ("atctt3", "atatt3"), r"\bAT[AC]TT3[A-Za-z0-9_-]{80,}={0,2}[A-Za-z0-9]{0,8}"),
    ("fal-api-key", (":",), rf"(?<![A-Za-z0-9-]){_UUID}:[a-f0-9]{{32}}(?![a-f0-9])"),
    ("nuget-api-key", ("oy2",), r"(?<![A-Za-z0-9])oy2(?=[a-z]*[0-9])[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("buildkite-token", ("bkua_",), r"\bbkua_[a-z0-9]{40}"),
    (
        "asana-token",
        ("/", ":"),
        r"(?<![A-Za-z0-9/])[12]/[0-9]{15,17}(?:/[0-9]{15,17})?:[0-9a-f]{32}(?![0-9a-f])",
    ),
    ("mailgun-key", ("key-",), r"(?<![A-Za-z0-9_-])key-[0-9a-f]{32}(?![0-9a-f])"),
    ("context7-api-key", ("ctx7sk-",), rf"\bctx7sk-{_UUID}"),
    ("convex-deploy-key", ("prod:", "dev:"), r"\b(?:prod|dev):[a-z]+-[a-z]+-[0-9]{1,4}\|([A-Za-z0-9+/=_-]{40,})"),
    ("wandb-api-key", ("wandb_v1_",), r"\bwandb_v1_[A-Za-z0-9_]{50,}"),
    (
        "modal-token",
        ("as-",),
        r"(?<![A-Za-z0-9_-])as-(?=[A-Za-z]*[0-9])(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{22}(?![A-Za-z0-9_-])",
    ),
    ("sentry-dsn", ("ingest",), r"https://([a-f0-9]{32})@[a-z0-9.]{1,40}ingest"),
)


@dataclass(frozen=True, slots=True)
class ProviderRule:
    """One kind of secret: its pattern as text, which group holds the secret (0: the first that matched), and checks.

    ``entropy`` is the least entropy of the secret in bits a character. ``by_name`` says that the pattern goes by the
    name of a service, so that an ordinary word could stand where the secret is expected.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: str
    group: int = 0
    entropy: float = 0.0
    by_name: bool = False


def match_rule(rule: ProviderRule, text: str) -> Iterator[SecretSpan]:
    """Yield what a rule finds in a text."""
    for match in _compile_rules(rule.pattern).finditer(text):
        group = rule.group or next((number for number, got in enumerate(match.groups(), 1) if got), 0)
        start, end = match.span(group)
        secret = text[start:end]
        if rule.by_name and not _DIGIT.search(secret):
            continue
        if rule.entropy and entropy(secret) < rule.entropy:
            continue
        rest = _REST.match(text, end)
        yield SecretSpan(start, rest.end() if rest else end, rule.kind)


def entropy(secret: str) -> float:
    """Return the bits a character of a text holds."""
    size = len(secret)
    return -sum(count / size * math.log2(count / size) for count in Counter(secret).values())


@cache
def provider_rules() -> tuple[ProviderRule, ...]:
    """All rules: those of gitleaks that are fit for talk, then the further formats."""
    source = resources.files(__package__).joinpath("gitleaks.toml").read_text(encoding="utf-8")
    return (
        *(_read_rule(entry) for entry in tomllib.loads(source)["rules"] if _fits_talk(entry)),
        *(ProviderRule(kind, keywords, pattern) for kind, keywords, pattern in _MORE),
    )


def _fits_talk(entry: dict[str, object]) -> bool:
    # A rule that is bound to the names of files knows nothing about a turn.
    return "regex" in entry and "path" not in entry and entry["id"] not in _LEFT_OUT


def _read_rule(entry: dict[str, object]) -> ProviderRule:
    pattern = source = str(entry["regex"])
    for theirs, fit in _BOUNDS:
        pattern = pattern.replace(theirs, fit)
    return ProviderRule(
        kind=str(entry["id"]),
        keywords=tuple(str(keyword).lower() for keyword in _as_list(entry["keywords"])),
        pattern=_in_python(pattern),
        group=int(str(entry.get("secretGroup", 0))),
        entropy=float(str(entry.get("entropy", 0))),
        by_name=_LEAD in source,
    )


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _in_python(pattern: str) -> str:
    """A pattern of Go's in Python's words: ``(?i)`` in the middle holds up to the end of its group, ``\\z`` is "
    "``\\Z``."""
    pattern = pattern.replace(r"\z", r"\Z")
    at = pattern.rfind("(?i)")
    while at != -1:
        end = _end_of_group(pattern, at + 4)
        pattern = f"{pattern[:at]}(?i:{pattern[at + 4 : end]}){pattern[end:]}"
        at = pattern.rfind("(?i)")
    return pattern


def _end_of_group(pattern: str, at: int) -> int:
    """Return the end of the group that ``at`` is in."""
    depth = 0
    in_set = False
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif in_set:
            in_set = sign != "]"
        elif sign == "[":
            in_set = True
        elif sign == "(":
            depth += 1
        elif sign == ")":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return at


@cache
def rules_by_keyword() -> tuple[tuple[str, tuple[ProviderRule, ...]], ...]:
    """All rules by each of their keywords."""
    found: dict[str, list[ProviderRule]] = {}
    for rule in provider_rules():
        for keyword in rule.keywords:
            found.setdefault(keyword, []).append(rule)
    return tuple((keyword, tuple(of_it)) for keyword, of_it in found.items())


@cache
def _compile_rules(pattern: str) -> re.Pattern[str]:
    # ASCII: a token starts behind a Chinese sign as it does behind a blank.
    return re.compile(pattern, re.ASCII)
