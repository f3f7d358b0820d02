"""Finds secrets by the words before them: "my password is ...", ``DB_PASSWORD=...``, in a dozen languages.

First the word for the secret is looked for (a plain search, so that most texts are left at once), then how
it is tied to what follows, then whether that looks like a secret and not like "too short" or ``request.password``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from memwarden.security.secrets.providers import SecretSpan, lower_in_place


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
    ("key", r"key(?![a-z])", SecretNoun.KEY),
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
    r"(?:[ \t](?:for|to|of|on|at|in|für|zu|zum|zur|vom|von|de|del|da|do|du|des|di|della|per|para|pour|от|для|к|на|"
    r"voor|do|dla)"
    r"[ \t][^\n.!?:=]{1,40}?)?"
)
_ASSIGNED = re.compile(rf"{_NAME_END}{_FOR}[ \t]{{0,3}}(?::=|=>|->|==?|:|：|\|)[ \t*]{{0,4}}\n?[ \t]{{0,4}}")
_SAID = re.compile(
    rf"[\"'`*]{{0,2}}{_FOR}[ \t]{{0,2}}(?:\([^()\n]{{1,30}}\)[ \t])?"
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
    r"enter|changeme|change_me|replace|example|test)[-_ ].*|"
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
    if tie == "tight":
        return word.isalnum() and word not in _NO_PASSWORDS
    return tie == "said" and mine and len(word) >= 5 and word.isalpha() and word not in _NO_PASSWORDS


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
