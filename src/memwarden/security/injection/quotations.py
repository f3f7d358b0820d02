"""Talk about orders is no order: what is quoted as an example, and code that is shown, is set aside."""

from __future__ import annotations

import re

# Who speaks of attacks, of examples or of words of others.
_ABOUT = re.compile(
    r"\b(?:attack\w*|injections?|injected|hostile|malicious|threat model|owasp|phishing|jailbreak\w*|for example|"
    r"e\.g\.|(?<![.@/-])examples?(?![.-])|such as|phrases?|"
    r"verse|lyrics|song|walkthrough|choose|angriff\w*|angreif\w*|beispiel\w*|satze wie|sätze wie|ataque\w*|"
    r"atacante\w*|por ejemplo|letra|inyecci[oó]n|"
    r"attaques?|pirates?|injection|par exemple|paroles|attacc\w*|per esempio|iniezion\w*|inje[cç][aã]o|atacante|"
    r"por exemplo|voorbeeld|aanval\w*|przykład\w*|atak\w*|"
    r"saldırı\w*|örneğin)\b|атак\w*|например|инъекци\w*|вроде|攻击|攻擊|注入|例如|之类|之類|攻撃|インジェクション|といった|例えば|هجوم|حقن|مثل|"
    r"공격|인젝션|예를 들어|हमला|उदाहरण",
    re.I,
)
_QUOTED = re.compile(
    r"\"[^\"\n]{1,120}\"|“[^”\n]{1,120}”|„[^“”\n]{1,120}[“”]|«[^»\n]{1,120}»|「[^」\n]{1,120}」|『[^』\n]{1,120}』|"
    r"‘[^’\n]{1,120}’|(?<!\w)'[^'\n]{1,120}'(?!\w)|`[^`\n]{1,120}`"
)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.S)
# How near to the quotation its announcement stands.
_NEAR = 100


def drop_quotations(text: str) -> str:
    """The text without quotations that it announces as examples, attacks or lyrics; blanks keep its length."""
    if not _ABOUT.search(text):
        return text
    return _QUOTED.sub(
        lambda match: "…".center(len(match.group())) if _is_announced(text, match) else match.group(), text
    )


def drop_fences(text: str) -> str:
    """The text without the blocks of code that it shows, if it says anything beside them."""
    rest = _FENCE.sub("\n", text)
    return rest if len(rest.strip()) > 20 else text


def _is_announced(text: str, quotation: re.Match[str]) -> bool:
    before = text[max(0, quotation.start() - _NEAR) : quotation.start()]
    return bool(_ABOUT.search(before) or _ABOUT.search(text[quotation.end() : quotation.end() + _NEAR // 2]))
