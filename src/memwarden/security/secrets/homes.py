"""Finds the codes of a home: of doors, lockers, alarms, safes and its wifi.

A person asks for them, so they are kept unless the setting ``secrets`` is ``strict``. A code counts where a sentence
names its place, a word for a code or what people do with it, and then signs that are no size, price or time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from memwarden.security.secrets.providers import SecretSpan

KIND: Final = "home-code"
# What a code opens, what people call it or do with it, in fifteen languages.
_PLACE: Final = (
    r"(?:\b(?:front|back|side|cellar|garden|garage|entry|entrance|stair\w*|building|main|flat|apartment|house|office|"
    r"lift|elevator|shed|bike|bicycle|suitcase|luggage|gun|wall|hotel|gym|mail|parcel|post|key|drug|medicine)?[ -]?"
    r"(?:doors?|gates?|garages?|lockers?|alarms?|panels?|keypads?|safes?|lock ?box(?:es)?|key ?(?:box|safe)(?:es)?|"
    r"intercom|buzzer|padlocks?|locks?|barrier|strongbox|building|stairwell)\b|"
    r"\b\w{0,10}(?:tür|tor|alarm|spind|tresor|schließfach|schranken|gebäude)-?code\b|"
    r"\w{0,12}(?:türe?n?|tor|garagentor|schließfach|spind|tresor|alarmanlage|alarm|schlüsselkasten|schlüsselbox|"
    r"schlüsseltresor|zahlenschloss|schloss|schranke|kellertür|briefkasten)\b|"
    r"\b(?:portes?|portail|portillon|digicode|immeuble|casier|coffre(?:-fort)?|alarme|boîte à cl[ée]f?s?|cadenas|"
    r"interphone|puertas?|port[oó]n|portal|taquilla|caja fuerte|alarma|garaje|candado|portero|"
    r"porta|portone|cancello|armadietto|cassaforte|allarme|lucchetto|citofono|"
    r"port[aã]o|cofre|cacifo|armário|cadeado|garagem|"
    r"deur|voordeur|poort|kluis(?:je)?|hangslot|slot|sleutelkastje|"
    r"drzwi|bramy?|domofonu?|szafk[ai]|sejfu?|alarmu|kłódk[ai]|"
    r"kapı\w{0,4}|kasa\w{0,3}|dolap|kilit|dör\w{0,3}|port\w{0,3}kod|skåp|kassaskåp)\b|"
    r"двер\w{1,3}|домофон\w{0,2}|ворот\w{0,2}|шкафчик\w{0,2}|сейф\w{0,2}|сигнализаци\w|подъезд\w{0,2}|"
    r"门|門|柜|櫃|保险箱|ドア|玄関|ロッカー|金庫|オートロック|현관|도어락|사물함|금고|باب|خزنة|دरवाज|दरवाज़|तिजोरी)"
)
_CODE: Final = (
    r"(?:(?<!error )(?<!source )(?<!post )(?<!postal )(?<!zip )(?<!area )(?<!discussed )\b(?:\w{0,10}codes?(?! review)|"
    r"combination|combo|pin|passcode|keypad|takes|opens? (?:with|on|to)|unlocks? (?:with|on)|"
    r"enter|dial|press|punch in|key in|type|tap|number is|set to|disarm\w*|"
    r"kombination|zahlen\w{0,12}|geht mit|öffnet mit|lautet|combinai?son|codice|combinazione|código|clave|"
    r"combinación|combinação|cijfer\w*|combinatie|kodu?|kodem|szyfr|kodu|şifre\w{0,3}|koden|kombinacja|tik|wählen|"
    r"tippe?n?|drücken?|taper?|tapez|marca[rn]?|digita(?:re)?)\b|"
    r"код\w{0,2}|пароль|密码|密碼|暗証番号|番号|番號|コード|비밀번호|번호|رمز|كود|कोड)"
)
_DIGITS: Final = re.compile(
    r"(?<![A-Za-z0-9_.,:/€$£#*-])([#*]?(?:\d{3,8}|\d{1,2}(?:-\d{1,2}){2,3}|\d{2} \d{2}(?: \d{2})?)[#*]?)"
    r"(?![A-Za-z0-9_€$£]|[.,:/-]\d)(?! ?(?:%|€|\$|£|(?:euros?|dollars?|mm|cm|m|km|kg|watt|uhr|hours?|o'clock|am|pm|"
    r"units?|people|steps|years?|times)\b))",
    re.I,
)
_IN_PLACE: Final = re.compile(_PLACE, re.I)
_CODED: Final = re.compile(_CODE, re.I)
_OPENS: Final = re.compile(
    r"(?i)\s(?:opens?|unlocks?|disarms?|gets you (?:in|through)|öffnet|ouvre|abre|apre|opent|otwiera)\b"
)
_USED: Final = re.compile(r"(?i)\b(?:use|enter|press|dial|type|with|with code)\s$")
_SENTENCE_END: Final = re.compile(r"[!?\n]|\.(?=\s)")
_BEFORE: Final = 80
_BEHIND: Final = 40
_WIFI: Final = re.compile(
    r"(?i)\b(?:wi-?fi|wlan|w-lan|hotspot|router|wireless|ssid)|вай-?фа\w|无线|無線|ワイファイ|와이파이"
)
# A word for a password, up to a few words ("for it", "of the guests'"), what ties a value to them, and the value.
_TOLD: Final = re.compile(
    r"(?i)(?:pass(?:word|wort|phrase|code)|\bpw\b|kennwort|schlüssel|\bkey\b|contraseña|clave|mot de passe|"
    r"\bcl[ée]f?\b|parola|chiave|senha|chave|пароль|ключ|wachtwoord|hasło|şifre\w{0,3}|lösenord\w{0,2}|密码|密碼|パスワード|비밀번호)"
    r"[^\n.!?:=]{0,30}?(?:\s?[:=：]\s?|\s(?:is|ist|lautet|es|est|è|é|это|jest|to|är)(?:\s(?:still|now|noch|jetzt))?\s|"
    r"(?:是|は|는|은|为|為)\s?)"
    r"(?:[\"“„«'`「]([^\"”“»'`」\n]{4,60})[\"”“»'`」]|([^\s\"“„«'`「,;]{4,60}))"
)
_NOT_A_VALUE: Final = re.compile(
    r"(?i)(?:the|on|in|at|a|an|not|too|very|my|your|our|still|written|printed|stuck|called|set|changed|wrong|weak|strong|"
    r"long|short|same|different|unknown|needed|required|below|above|under|behind|beside|"
    r"auf|unter|im|am|nicht|zu|noch|der|die|das|dem|falsch|en|sur|dans|está|escrita|sul|sotto|на|не|под|\[redacted.*)$"
)
_QR: Final = re.compile(r"WIFI:[^\n]{0,100}?P:((?:[^;\\\n]|\\.){4,80});")


def find_home_codes(text: str) -> Iterator[SecretSpan]:
    """Yield every code of a home that a text tells; spans may overlap."""
    yield from _codes_of_places(text)
    for match in _TOLD.finditer(text) if _WIFI.search(text) else ():
        span = match.span(match.lastindex or 0)
        near = text[max(0, match.start() - _BEFORE) : span[0]]
        if _WIFI.search(near) and (match.lastindex == 1 or _is_value(text, *span)):
            yield SecretSpan(*_without_stop(text, *span), KIND)
    if "WIFI:" in text:
        yield from (SecretSpan(*match.span(1), KIND) for match in _QR.finditer(text))


def _codes_of_places(text: str) -> Iterator[SecretSpan]:
    digits = list(_DIGITS.finditer(text))
    codes = [match.start() for match in _CODED.finditer(text)] if digits else []
    # Looked for last, and only beside what may be a code: the places are many words in fifteen languages.
    places: list[int] | None = None
    for match in digits:
        begin, end = match.span(1)
        before = begin - len(_SENTENCE_END.split(text[max(0, begin - _BEFORE) : begin])[-1])
        coded = _any_within(codes, before, begin)
        used = _OPENS.match(text, end) or _USED.search(text, before, begin)
        if not coded and not used:
            continue
        places = [found.start() for found in _IN_PLACE.finditer(text)] if places is None else places
        behind = end + len(_SENTENCE_END.split(text[end : end + _BEHIND], maxsplit=1)[0])
        if coded if _any_within(places, before, begin) else used and _any_within(places, end, behind):
            yield SecretSpan(begin, end, KIND)


def _any_within(starts: Sequence[int], begin: int, end: int) -> bool:
    place = bisect_left(starts, begin)
    return place < len(starts) and starts[place] < end


def _is_value(text: str, begin: int, end: int) -> bool:
    """Whether what follows is the password and no word about it: it has signs or digits, or ends the sentence."""
    value = text[begin:end]
    if _NOT_A_VALUE.match(value.rstrip(".!?)")):
        return False
    made = any(not sign.isalpha() for sign in value[:-1]) or not (value.islower() or value.istitle())
    return made or not text[end : end + 2].strip(".!?, ")


def _without_stop(text: str, begin: int, end: int) -> tuple[int, int]:
    return begin, begin + len(text[begin:end].rstrip(".!?)"))
