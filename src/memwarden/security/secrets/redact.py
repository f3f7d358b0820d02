"""Redacts secrets: puts a mark in the place of each and names the kinds that it found.

Three kinds of rules: tokens of known providers (gitleaks' rules, ``providers.py``), formats such as key blocks and card
numbers, and what a sentence calls a secret. No model; the only I/O reads the rule file, once.
What is caught, what is not, and why the rules are gitleaks': ``docs/why/secrets.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from memwarden.security.secrets.checksums import is_card_number, is_iban, is_wallet_key
from memwarden.security.secrets.providers import SecretSpan, match_rule, rules_by_keyword
from memwarden.text.language import lower_in_place
from memwarden.text.lexicon import all_words

_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,60}\]")


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A text without its secrets.

    ``found`` has the kind of each secret, with repeats, in the order in which they were found: from left to right, then
    those that only showed once the others were gone.
    """

    text: str
    found: tuple[str, ...]


def redact(text: str, *, strict: bool = False) -> RedactedText:
    """Put ``[redacted:kind]`` in place of every secret in a text.

    strict: also of the codes of a home (doors, lockers, alarms, safes, wifi), which a person asks for.

    Redacting the result again changes nothing. Never raises for a text; takes time in proportion to its length.
    """
    kinds: list[str] = []
    # A mark can set free what was glued to the secret: go on until nothing is found. Each round takes text away.
    while spans := _drop_marked(text, join_spans(_find_spans(text, strict))):
        kinds += [span.kind for span in spans]
        text = _mark_spans(text, spans)
    return RedactedText(text, tuple(kinds))


# Without any of these no rule of :mod:`memwarden.security.secrets.labelled` finds anything.
_LABELS: Final = (
    *"*: pass pwd secret apikey api_key kennw contrase clave senha parol wacht seed wallet mnemo recov backup".split(),
    *"wiederh frase phrase palabras kurtar herstel echo redis openssl login ldap mosquitto sqlcmd mongo zip 7z".split(),
    *(
        "ipmi",
        "cqlsh",
        "smbc",
        "authent",
        "totp",
        "2fa",
        "mfa",
        "otp",
        "setup",
        "mot de",
        "net use",
        "securestring",
        "manual key",
        "az login",
        "plink",
        "pscp",
        "schtasks",
        "setx",
    ),
    *"sicherheitsfrage pregunta domanda account konto melde login unlock compte connect cuenta acced".split(),
    *("log in", "sign in", "security question", "secret question", "question secr", "question de s"),
)
_FOREIGN_LABELS: Final = "парол hasło şifre 비밀 密 パス фраз слов 助 リカ 복구".split()
_RUNS: Final = r"\d{3}|[\w+/-]{28}"
_IN_ASCII = re.compile(_RUNS, re.ASCII)
_MAY_BE_LABELLED = re.compile("|".join((_RUNS, *map(re.escape, (*_LABELS, *_FOREIGN_LABELS)))), re.IGNORECASE)


def _may_be_labelled(text: str) -> bool:
    # Most texts are ASCII: there looking for words takes a twentieth of the expression's time.
    if not text.isascii():
        return _MAY_BE_LABELLED.search(text) is not None
    lower = text.lower()
    return any(label in lower for label in _LABELS) or _IN_ASCII.search(text) is not None


# What stands where a value will be: variables of templates, and words that say so.
_STANDS_IN: Final = re.compile(
    r"%[\w.:-]{1,60}%|[$#@]{1,2}\{[^{}\n]{1,80}\}|@[\w.-]{1,60}@|\$\([^()\n]{1,80}\)|\[\[[^\]\n]{1,80}\]\]|"
    r"(?:change|replace)[ _-]?(?:me|it|this|now|here)!?|(?:put|insert|enter|fill|set)[ _-]?(?:me|it|in)?[ _-]?here|"
    r"place[ _-]?holder|to[ _-]?do|fix[ _-]?me|dummy|(?:not|un)[ _-]?set",
    re.IGNORECASE,
)
_GIVEN: Final = re.compile(r"[=:>|,(]\s{0,4}[\"'`]?$")
_FINGERPRINT: Final = re.compile(r"(?i)(?:sha-?\d{1,3}|md5|blake\w{1,3})[:-]")
_OF_DOCUMENTS: Final = re.compile(r"EXAMPLE(?:KEY)?$")


def _is_public(text: str, span: SecretSpan) -> bool:
    """Whether it only looks like a secret: it stands for a value, is a fingerprint, or an example of a manual."""
    value = text[span.start : span.end].strip("\"'`")
    if _OF_DOCUMENTS.search(value):
        return True
    before = text[max(0, span.start - 10) : span.start]
    if _STANDS_IN.fullmatch(value):
        return _GIVEN.search(before) is not None
    return span.kind.endswith("api-key") and _FINGERPRINT.search(before + value[:10]) is not None


def _find_spans(text: str, strict: bool) -> Iterator[SecretSpan]:
    return (span for span in _find_all(text, strict) if not _is_public(text, span))


def _find_all(text: str, strict: bool) -> Iterator[SecretSpan]:
    # In the order of rank: who knows a secret by name gives it its kind.
    yield from find_provider_tokens(text)
    yield from find_formats(text)
    if _may_be_labelled(text):
        from memwarden.security.secrets.labelled import find_labelled  # few texts need its rules

        yield from find_labelled(text)
    yield from find_phrases(text)
    if strict:
        yield from _home_codes(text)


def holds_home_code(text: str) -> bool:
    """Whether a text tells a code of a home: of a door, a locker, an alarm, a safe or its wifi."""
    return bool(_drop_marked(text, list(_home_codes(text))))


# Without any of these there is no code of a home.
_WIFI: Final = "wifi wi-fi wlan w-lan hotspot router wireless ssid".split()
_FOREIGN_WIFI: Final = "вайфа вай-фа 无线 無線 ワイファ 와이파이".split()
_CODES: Final = r"\d{3}|\d-\d|\d\d \d\d"
_CODES_IN_ASCII = re.compile(_CODES, re.ASCII)
_MAY_OPEN = re.compile("|".join((_CODES, *_WIFI, *_FOREIGN_WIFI)), re.IGNORECASE)


def _may_open(text: str) -> bool:
    if not text.isascii():
        return _MAY_OPEN.search(text) is not None
    lower = text.lower()
    return _CODES_IN_ASCII.search(text) is not None or any(word in lower for word in _WIFI)


def _home_codes(text: str) -> Iterator[SecretSpan]:
    if _may_open(text):
        from memwarden.security.secrets.homes import find_home_codes  # few texts need its rules

        yield from find_home_codes(text)


def join_spans(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """Return the spans from left to right, overlapping spans joined; the first span gives the kind.

    So the order of ``spans`` is their rank: what knows a secret by its form comes before what only knows its label.
    """
    ranked = sorted(enumerate(spans), key=lambda item: (item[1].start, item[1].end))
    result: list[tuple[int, SecretSpan]] = []
    for rank, span in ranked:
        if result and span.start < result[-1][1].end:
            best, last = result[-1]
            kind = span.kind if rank < best else last.kind
            result[-1] = (min(rank, best), SecretSpan(last.start, max(last.end, span.end), kind))
        else:
            result.append((rank, span))
    return [span for _, span in result]


# No secret of the rules is shorter than this, and hardly a word of a language is as long.
_RUN = re.compile(r"[A-Za-z0-9_+/=~.-]{14,}")
_DIGIT = re.compile(r"[0-9]")
# A run without a digit is a long word, a path or a rule ("--------"); from here on it may be a token of letters.
_LETTERS_ONLY = 20
# How far before a run the name of its service is looked for; gitleaks allows some 30 characters between the two.
_BEFORE = 80


def find_provider_tokens(text: str) -> Iterator[SecretSpan]:
    """Every secret in the text that a rule knows, rule by rule; spans may overlap."""
    near = _near_runs(text)
    if not near:
        return
    for keyword, rules in rules_by_keyword():
        if keyword in near:
            for rule in rules:
                yield from match_rule(rule, text)


def _near_runs(text: str) -> str:
    """Return the text in or shortly before runs that could be tokens, in lower case."""
    parts: list[str] = []
    done = 0
    for run in _RUN.finditer(text):
        if run.end() - run.start() >= _LETTERS_ONLY or _DIGIT.search(run.group()):
            parts.append(text[max(done, run.start() - _BEFORE) : run.end()])
            done = run.end()
    return "".join(parts).lower()


def _drop_marked(text: str, spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    if "[redacted:" not in text:
        return list(spans)
    marks = [mark.span() for mark in _MARK.finditer(text)]
    return [span for span in spans if not any(start < span.end and span.start < end for start, end in marks)]


def _mark_spans(text: str, spans: Iterable[SecretSpan]) -> str:
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], f"[redacted:{span.kind}]"]
        at = span.end
    return "".join([*parts, text[at:]])


_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----")
# A block whose end was cut off is redacted as far as its lines go on; "\n" may be written out, as in JSON.
_BLOCK_LINES = re.compile(r"(?:[A-Za-z0-9+/=:,. \t-]|\\[nr]|[\r\n])*")

# The password of user:password@host. Greedy up to the last @ before a slash or a blank, as a password may hold an @.
_ADDRESS = re.compile(r"://[^\s/:@?#'\"<>]{0,100}:([^\s/'\"<>]{1,200})@")
_STANDS_FOR_A_PASSWORD = re.compile(
    r"\$(?:\{.*|[A-Za-z_]+)|<.*|\{.*|%[a-z_]+%|\[.*|\*+|(?:your|my)?[-_]?(?:password|passwd|pwd|pass|pw)|x{3,}|\.{3}",
    re.I,
)

# What is searched for in the text in lower case, and what has to stand there; the group is the secret.
_LABELLED: tuple[tuple[str, re.Pattern[str], str], ...] = (
    *(
        (word, re.compile(rf"{word}[ \t]{{1,3}}([a-z0-9._~+/-]{{16,2000}}={{0,2}})"), "authorization")
        for word in ("bearer", "basic", "token", "ssws", "apikey", "geniekey")
    ),
    ("sess", re.compile(r"sess(?:ion|id|ionid|ion_id|ion-id)?=([^\s;,'\"]{16,500})"), "session-cookie"),
    ("sid=", re.compile(r"sid=([^\s;,'\"]{16,500})"), "session-cookie"),
)

# A word of the text in lower case, what has to stand there, and the kind; the group is the secret.
_FORMS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("curl", re.compile(r"\s(?:-u|--user)[ =]['\"]?[\w.@+-]{1,64}:([^\s'\"]{3,200})"), "password"),
    ("sshpass", re.compile(r"sshpass\s{1,3}-p\s{0,3}['\"]?([^\s'\"]{3,200})"), "password"),
    ("mysql", re.compile(r"mysql\w{0,10}\s[^\n|]{0,120}?(?<=\s)-p['\"]?([^\s'\"-][^\s'\"]{2,100})"), "password"),
    (
        "</",
        re.compile(r"(?i)<(?:\w{1,20}[:_.-])?(?:password|passwd|passphrase|pwd|secret|api_?key)>([^<>\s]{3,200})</"),
        "password",
    ),
    (
        "secret",
        re.compile(
            r"(?i)secret_?(?:access_?)?key['\"]?\s{0,3}[=:]\s{0,3}['\"]?"
            r"([a-z0-9/+]{40})(?![a-z0-9/+])"
        ),
        "aws-key",
    ),
    ("0x", re.compile(r"(?i)private[ _-]?key\W{1,4}(?:\w{1,4}\W{1,3})?(0x[0-9a-f]{64})(?![0-9a-f])"), "private-key"),
    ("puk", re.compile(r"(?i)\bpuk2?\b[^\n\d]{0,20}(\d{8})(?!\d)"), "pin"),
    (
        "code",
        re.compile(
            r"(?i)\b(?:one[ -]time|verification|verifizierungs-?|bestätigungs-?|security|sms|otp|2fa|login|log-in|"
            r"sign-?in|einmal-?|recovery|backup)[ -]?(?:pass)?codes?\b[^\n\d]{0,25}?"
            r"((?:\d{3}[ -]?){1,2}\d{1,3})(?![\d.:/-]?\d)"
        ),
        "one-time-code",
    ),
    (
        "code",
        re.compile(
            r"(?i)\b(?:recovery|backup)[ -]codes?\b[^\n:]{0,30}:?\s{0,3}"
            r"((?:(?=[a-z-]{0,12}\d)[a-z0-9]{4,12}(?:-[a-z0-9]{4,12}){0,3}[\s,;]{0,3}){1,20})"
        ),
        "recovery-code",
    ),
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")

# Digits in groups as people write them. Any script's digits count.
# (The sign before is looked at after the first digit: so the scan for that digit is fast.)
_DIGITS = re.compile(r"\d(?<![\d.,]\d)(?:[ -]?\d){11,30}(?!\d)")
_GROUP = re.compile(r"\d+")
_UUID = re.compile(r"(?<![\da-f])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\da-f])", re.ASCII | re.IGNORECASE)
_UUID_LENGTH = 36
_WALLET = re.compile(r"[5KL9c](?<![A-Za-z0-9].)[1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])")


def find_formats(text: str) -> Iterator[SecretSpan]:
    """Yield every secret in the text that shows by its format; spans may overlap."""
    if "-----BEGIN" in text:
        yield from _private_keys(text)
    if "://" in text:
        yield from _passwords_in_addresses(text)
    lower = lower_in_place(text)
    yield from _label_values(lower)
    for word, pattern, kind in _FORMS:
        if word in lower:
            yield from (SecretSpan(*match.span(1), kind) for match in pattern.finditer(text))
    yield from (SecretSpan(*match.span(), "iban") for match in _IBAN.finditer(text) if is_iban(match.group()))
    yield from _cards(text)
    for match in _WALLET.finditer(text):
        if is_wallet_key(match.group()):
            yield SecretSpan(*match.span(), "wallet-key")


def _label_values(lower: str) -> Iterator[SecretSpan]:
    for stem, pattern, kind in _LABELLED:
        at = lower.find(stem)
        while at != -1:
            match = pattern.match(lower, at)
            if match and (len(match.group(1)) >= 30 or any(sign.isdigit() for sign in match.group(1))):
                yield SecretSpan(*match.span(1), kind)
            at = lower.find(stem, at + len(stem))


def _private_keys(text: str) -> Iterator[SecretSpan]:
    at = 0
    while begin := _BLOCK.search(text, at):
        end_mark = f"-----END {begin.group(1)}-----"
        end = text.find(end_mark, begin.end(), begin.end() + 20_000)
        if end != -1:
            at = end + len(end_mark)
        else:
            lines = _BLOCK_LINES.match(text, begin.end())
            at = lines.end() if lines else begin.end()
        yield SecretSpan(begin.start(), at, "private-key")


def _passwords_in_addresses(text: str) -> Iterator[SecretSpan]:
    for match in _ADDRESS.finditer(text):
        if not _STANDS_FOR_A_PASSWORD.fullmatch(match.group(1)):
            yield SecretSpan(*match.span(1), "url-password")


def _cards(text: str) -> Iterator[SecretSpan]:
    for run in _DIGITS.finditer(text):
        if _is_in_uuid(text, run.start()):
            continue
        groups = [(run.start() + group.start(), run.start() + group.end()) for group in _GROUP.finditer(run.group())]
        at = 0
        while at < len(groups):
            last = _last_group_of_card(text, groups, at)
            if last is None:
                at += 1
            else:
                yield SecretSpan(groups[at][0], groups[last][1], "card-number")
                at = last + 1


def _is_in_uuid(text: str, at: int) -> bool:
    near = _UUID.finditer(text, max(0, at - _UUID_LENGTH), at + _UUID_LENGTH)
    return any(match.start() <= at < match.end() for match in near)


def _last_group_of_card(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """Return the last group of a card number that begins at ``first``, or None: an expiry date may follow."""
    digits: list[int] = []
    for number in range(first, len(groups)):
        start, end = groups[number]
        digits += [int(sign) for sign in text[start:end]]
        if len(digits) > 19 or end - start < 3:
            return None
        if is_card_number(digits):
            return number
    return None


class SecretNoun(Enum):
    """The kind of secret that a word announces."""

    PASSWORD = "password"
    KEY = "api-key"
    PIN = "pin"
    PHRASE = "seed-phrase"


# Stem, the whole word as a pattern (on the text in lower case), and what it promises. Stems are what is searched for.
_NOUNS: Final[tuple[tuple[str, str, SecretNoun], ...]] = (
    (
        "pass",
        r"pass(?:word|wort|wd|code|phrase|wörter)s?|(?<![a-z])pass(?=[=:])|(?<=[_-])pass(?![a-z])",
        SecretNoun.PASSWORD,
    ),
    ("pwd", r"pwd(?![a-z])", SecretNoun.PASSWORD),
    ("pw", r"(?<![a-z])pw(?![a-z])", SecretNoun.PASSWORD),
    ("kennwort", r"kennwort", SecretNoun.PASSWORD),
    ("contrase", r"contrase(?:ñ|n|n\u0303)a", SecretNoun.PASSWORD),
    ("clave", r"clave(?![a-z])", SecretNoun.PASSWORD),
    ("mot de passe", r"mot de passe", SecretNoun.PASSWORD),
    ("mdp", r"(?<![a-z])mdp(?![a-z])", SecretNoun.PASSWORD),
    ("parola", r"parola(?: d['’]ordine| chiave)?", SecretNoun.PASSWORD),
    ("senha", r"senha", SecretNoun.PASSWORD),
    ("palavra-passe", r"palavra-passe", SecretNoun.PASSWORD),
    ("парол", r"парол[ьяеё]м?", SecretNoun.PASSWORD),
    ("密码", r"密码", SecretNoun.PASSWORD),
    ("密碼", r"密碼", SecretNoun.PASSWORD),
    ("口令", r"口令", SecretNoun.PASSWORD),
    ("パスワード", r"パスワード", SecretNoun.PASSWORD),
    ("暗証番号", r"暗証番号", SecretNoun.PIN),
    ("كلمة", r"كلمة (?:ال)?(?:مرور|سر)(?:ي|ك)?(?: الخاصة بي| ال\w{1,12}){0,2}", SecretNoun.PASSWORD),
    ("wachtwoord", r"wachtwoord", SecretNoun.PASSWORD),
    ("hasło", r"hasło", SecretNoun.PASSWORD),
    ("şifre", r"şifre(?:m|si)?", SecretNoun.PASSWORD),
    ("비밀번호", r"비밀번호", SecretNoun.PASSWORD),
    ("key", r"(?<!public)(?<!public[ _-])key(?![a-z])", SecretNoun.KEY),
    ("token", r"tokens?(?![a-z])", SecretNoun.KEY),
    ("secret", r"secret(?![a-z])", SecretNoun.KEY),
    ("credential", r"credentials?", SecretNoun.KEY),
    ("schlüssel", r"schlüssel", SecretNoun.KEY),
    ("chave", r"chave(?: d[ae] api)?", SecretNoun.KEY),
    ("clé", r"clé (?:d['’])?api|clé secrète", SecretNoun.KEY),
    ("chiave", r"chiave(?: api| segreta)?", SecretNoun.KEY),
    ("ключ", r"ключ(?: api)?", SecretNoun.KEY),
    ("токен", r"токен", SecretNoun.KEY),
    ("密钥", r"密钥", SecretNoun.KEY),
    ("キー", r"キー", SecretNoun.KEY),
    ("トークン", r"トークン", SecretNoun.KEY),
    ("مفتاح", r"مفتاح(?: api| ال\w{1,12})?", SecretNoun.KEY),
    ("pin", r"(?<![a-z])pin(?:[ -]?(?:code|number|nummer))?(?![a-z])", SecretNoun.PIN),
    ("пин", r"(?<!\w)пин(?:-?код)?(?!\w)", SecretNoun.PIN),
    ("cvv", r"(?<![a-z])cvv2?(?![a-z])", SecretNoun.PIN),
    ("cvc", r"(?<![a-z])cvc2?(?![a-z])", SecretNoun.PIN),
    ("phrase", r"(?:seed|recovery|backup|mnemonic|secret)[ -]phrase", SecretNoun.PHRASE),
    ("mnemonic", r"mnemonic(?![ -]phrase)", SecretNoun.PHRASE),
)
_WORDS = tuple((stem, re.compile(pattern), noun) for stem, pattern, noun in _NOUNS)
# How far before its stem a word may begin (seed phrase).
_AHEAD = 10

# The rest of a name (password_prod, keyId); then what ties it to a value.
_NAME_END = r"[\w-]{0,30}[\"'`\]*]{0,3}"
_FOR = (
    r"(?:[ \t](?:for|to|of|on|at|in|für|fürs|zu|zum|zur|vom|von|de|del|da|do|du|des|di|della|per|para|pour|от|для|к|на|"
    r"voor|do|dla)"
    r"[ \t][^\n.!?:=]{1,40}?)?"
)
# In most languages the network follows the noun: "mot de passe wifi", "password guest wifi", "password wifi 5G".
_NETWORK = r"(?:(?:[ \t]\w{1,20})?[ \t](?i:wi[-\u2010\u2011]?fi|wlan)(?:[ \t][\w.]{1,8})?)?"
_ASSIGNED = re.compile(
    rf"{_NAME_END}{_NETWORK}{_FOR}[ \t]{{0,3}}(?::=|=>|->|==?|[:：＝]|\|)[ \t*]{{0,4}}\n?[ \t]{{0,4}}"
)
_SAID = re.compile(
    rf"[\"'`*]{{0,2}}{_NETWORK}{_FOR}[ \t]{{0,2}}(?:\([^()\n]{{1,30}}\)[ \t])?"
    r"(?:[ \t](?:is now|is set to|is still|is|was|will be|has been changed to|changed to|set to|lautet jetzt|"
    r"lautet|ist jetzt|ist|war|"
    r"es ahora|es|era|est maintenant|est|était|adesso è|è|era|é agora|é|это|теперь|была?|is nu|to jest|to|"
    r"هي|هو)[ \t:]{1,3}|"
    r"[ \t]{0,2}(?:现在是|现在為|是|为|為|设置为|改成了?|改为|は|が|는|은|هي|هو)[ \t:：]{0,3}|"
    r"[ \t]{1,2}[—–-][ \t]{1,2})",
    re.I,
)
# "--password X"; and Russian and Arabic say "my password X" without a verb, as notes do in any language.
_NEXT_TO = re.compile(r"[ \t]{1,2}(?=\S)")
_OPTION = re.compile(r"--[a-z-]{0,18}$")
_MY = re.compile(
    r"(?:\bmy|\bour|\bmein|\bunser|\bmi|\bmon|\bma|\bnotre|\bla mia|\bminha|\bмой|\bмоего|我的|我们的|私の|僕の|내)"
    r"[ \t]?(?:[\w-]{1,20}[ \t]){0,2}[\"'`]?$",
    re.I,
)
_MINE_IN_ARABIC = re.compile(r"(?:مروري|سري|الخاصة بي)")

_QUOTED = re.compile(
    r"(?:\\?\"([^\"\n\\]{3,200})\\?\"|'([^'\n]{3,200})'|`([^`\n]{3,200})`|“([^”\n]{3,200})”|«([^»\n]{3,200})»|"
    r"「([^」\n]{3,200})」)"
)
_PLAIN = re.compile(r"[!-~]{3,300}")
_PIN = re.compile(r"[\"'`]?(\d{3,8})(?![\d./:-]?\d)")
_SEED = re.compile(r"[\"'`]?((?:[a-z]{3,8}[ ,]{1,2}){11,24}[a-z]{3,8})")
# What ends a value in an address or a connection string.
_NEXT_FIELD = re.compile(r"[;&][\w.]{1,30}=")
_EDGE = ".,;:)]}>\"'`*|"

# What stands where a value would, in documents and code.
_PLACEHOLDER = re.compile(
    r"\$(?:[{(].*|[A-Za-z_]+)|[<{\[(].*|%[a-z_]+%|[\w.]+\(.*|.*(?:\$\{|\{\{|<[a-z]).*|(?:your|my|the|some|insert|"
    r"enter|changeme|change_me|replace|example|test)[-_ ].*|![a-z]+(?:_[a-z]+)*|"
    r"(?:x|\*|\.|•|-|_|#){3,}|none|null|nil|true|false|string|str|text|undefined|empty|varchar.*|bytes|secretstr|"
    r"optional.*|"
    r"required|hidden|example|redacted.*|https?://.*|(?:os|self|this|process|request|req|config|settings|env|args|"
    r"data|user|form|"
    r"params|options|ctx|body|input|credentials?)[.\[].*|[a-z_]*(?:password|passwd|pwd|secret|token|api_?key)[a-z_]*",
    re.I | re.S,
)
_NOT_MADE = re.compile(
    r"\d{4}-\d\d-\d\d|\d{1,2}[:/]\d\d|[\w.+-]{1,64}@[\w-]{1,64}\.|[./~]|(?:[a-z0-9_.-]{1,64}/)+[a-z0-9_.-]*$|"
    r"[\w.]{1,64}[(\[]"
)
# "p90" and "tokens" of p90_run_output_tokens; of no key all parts are like that.
_WORD_OF_A_NAME = re.compile(r"\d{0,3}[A-Za-z]*\d{0,3}")
# "8-character", "2FA-protected", "12h", "256-bit", "99.5%", "v-2"
_NUMBER_AND_WORD = re.compile(r"\d+-?[A-Za-z]+(?:-[a-z]+)*|\d+(?:\.\d+)*%?|[A-Za-z]+-\d")
_DASHED_WORDS = re.compile(r"[a-z]{2,12}(?:-[a-z]{2,12}){2,9}")
_NO_PASSWORDS = frozenset(
    # What a password is said to be: of each language the words that stand behind "is".
    """too very not never always also still now only just quite really so the a an my your our their his her its this
    that what wrong right incorrect correct invalid valid weak strong short long secure insecure safe unsafe
    expired required needed missing empty blank lost forgotten stolen leaked compromised hashed encrypted stored
    saved hidden visible protected case different same similar easy hard simple complex unique known unknown
    being going at least in on for from with written kept shared reset changed set used given sent included
    probably maybe something somewhere nothing none important working falsch richtig zu sehr nicht noch schon
    kurz lang sicher unsicher schwach stark abgelaufen vergessen weg das der die ein eine mein dein geändert
    immer leicht schwer muy no ya siempre demasiado incorrecta correcta incorrecto inválida débil fuerte segura
    corta larga la el una un mi tu igual trop pas très toujours incorrect correct invalide faible fort oublié
    perdu le un une mon ton expiré troppo molto non sempre sbagliata corretta debole forte sicura scaduta una il
    lo tua mia muito não sempre demais errada correta fraca forte segura curta longa uma um o minha sua expirada
    te niet erg heel altijd verkeerd juist zwak sterk""".split()
)


@dataclass(frozen=True, slots=True)
class _Tie:
    """The tie of a noun to its value: where the value begins, and how it was said."""

    end: int
    kind: str


def find_phrases(text: str) -> Iterator[SecretSpan]:
    """Yield every secret that the text calls a secret; spans may overlap."""
    lower = lower_in_place(text)
    for stem, word, noun in _WORDS:
        at = lower.find(stem)
        while at != -1:
            found = _after(text, lower, at, word, noun)
            if found:
                yield found
            at = lower.find(stem, at + len(stem))


def _after(text: str, lower: str, at: int, word: re.Pattern[str], noun: SecretNoun) -> SecretSpan | None:
    match = word.match(lower, at)
    if match is None and noun is SecretNoun.PHRASE:
        match = word.search(lower, max(0, at - _AHEAD), at + len("phrase"))
    if match is None:
        return None
    for tie in _ties(text, match.start(), match.end()):
        value = _value(text, tie, noun, mine=_is_mine(text, match.start(), match.end()))
        if value:
            return SecretSpan(*value, noun.value)
    return None


def _ties(text: str, start: int, end: int) -> Iterator[_Tie]:
    if assigned := _ASSIGNED.match(text, end):
        tight = re.fullmatch(r"[\"'`]?=", assigned.group())
        yield _Tie(assigned.end(), "tight" if tight else "assigned")
    if said := _SAID.match(text, end):
        yield _Tie(said.end(), "said")
    if (next_to := _NEXT_TO.match(text, end)) and (
        _OPTION.search(text, max(0, start - 20), start) or _is_mine(text, start, end)
    ):
        yield _Tie(next_to.end(), "next to")


def _is_mine(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 50) : start]
    return bool(_MY.search(before) or _MINE_IN_ARABIC.search(text, start, end))


def _value(text: str, tie: _Tie, noun: SecretNoun, *, mine: bool) -> tuple[int, int] | None:
    if noun is SecretNoun.PIN or noun is SecretNoun.PHRASE:
        match = (_PIN if noun is SecretNoun.PIN else _SEED).match(text, tie.end)
        return match.span(1) if match else None
    if quoted := _QUOTED.match(text, tie.end):
        value = quoted.group(quoted.lastindex or 0)
        fits = _fits_quoted(value, noun) and not _PLACEHOLDER.fullmatch(value)
        return quoted.span(quoted.lastindex or 0) if fits else None
    plain = _PLAIN.match(text, tie.end)
    if plain is None:
        return None
    begin, end = _trim_value(text, *plain.span(), one_field=tie.kind == "tight")
    value = text[begin:end]
    if len(value) < 4 or _PLACEHOLDER.fullmatch(value) or not _fits_plain(value, noun, tie.kind, mine=mine):
        return None
    if tie.kind == "tight" and value.isalnum() and text[end : end + 1] in (")", ",", "."):
        return None  # an argument of a call
    return begin, end


def _trim_value(text: str, begin: int, end: int, *, one_field: bool) -> tuple[int, int]:
    """Without mark-up before, what belongs to the sentence behind, and the next field of an address."""
    if one_field and (field := _NEXT_FIELD.search(text, begin, end)):
        end = field.start()
    while begin < end and text[begin] == "*":
        begin += 1
    while begin < end and text[end - 1] in _EDGE:
        end -= 1
    return begin, end


def _fits_quoted(value: str, noun: SecretNoun) -> bool:
    if noun is SecretNoun.PASSWORD:
        return len(value.split()) <= 8 and value.lower() not in _NO_PASSWORDS
    return " " not in value and _is_made(value, 8)


def _fits_plain(value: str, noun: SecretNoun, tie: str, *, mine: bool) -> bool:
    if noun is SecretNoun.KEY:
        return _is_made(value, 10 if mine or tie == "tight" else 16)
    if looks_like_password(value):
        return True
    word = value.lower()
    if mine and tie != "tight" and _DASHED_WORDS.fullmatch(word):
        return True
    if tie == "tight":
        return word.isalnum() and word not in _NO_PASSWORDS
    if word in _NO_PASSWORDS or word in all_words("stop"):  # "is under the router"
        return False
    return tie == "said" and mine and len(word) >= 5 and word.isalpha()


def _is_made(value: str, least: int) -> bool:
    """Whether a machine made it: long, of letters and digits, and no name, path, date or address."""
    if len(value) < least or _NOT_MADE.match(value):
        return False
    if not (any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)):
        return False
    return not all(_WORD_OF_A_NAME.fullmatch(part) for part in re.split(r"[._:/-]", value))


def looks_like_password(value: str) -> bool:
    """Whether no plain word, number or mark-up is written so: letters with digits or signs, or six digits and "
    "more."""
    if value.isdigit():
        return len(value) >= 6
    letters = any(sign.isalpha() for sign in value)
    if letters and any(sign.isdigit() for sign in value):
        return not _NUMBER_AND_WORD.fullmatch(value)
    signs = any(sign in "!@#$%^&*+=?~" for sign in value)
    return letters and signs and value[0] != "@" and any(sign.isalpha() for sign in value[1:-1])
