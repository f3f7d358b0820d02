"""Finds orders to an assistant in texts that come from tools, pages, documents and imports.

Without a language model and without I/O but for reading its own tables once. A hit is a reason to quarantine a text
that nobody vouches for, never to doubt what a person says in a turn of their own. What is caught and what cannot be:
``docs/why/quarantine.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memwarden.security.injection import classifier, known_attacks, obfuscation
from memwarden.security.injection.obfuscation import fold_lookalikes

_MAX_EVIDENCE = 200
# A search in a long text stops all other threads; between searches in pieces they go on.
_PIECE, _OVERLAP = 20_000, 1_000
# So far over the line a text is held back although its other sentences could be shown; and so far it has to lie by the
# quotations that it announces as examples. Not out of reach: an attacker can announce an example as well.
_CLEARLY_OVER = 1.0


@dataclass(frozen=True, slots=True)
class Suspicion:
    """The suspicious kinds in a text, in alphabetical order, and the words of the first finding.

    True if there is anything. Kinds: ``classic`` (an order that everybody knows), ``wording`` (it reads like an order
    to an assistant), ``role`` (fake tags of roles), ``tool`` (a tool call as text), ``image`` (an image that carries
    data off), ``hidden`` (invisible or encoded orders).
    """

    kinds: tuple[str, ...]
    evidence: str

    def __bool__(self) -> bool:
        return bool(self.kinds)


def find_suspicion(text: str) -> Suspicion:
    """Judge a text that nobody vouches for. Never raises for a text.

    A long text is judged in pieces that overlap, up to the first that is suspicious.
    """
    found = Suspicion((), "")
    for begin in range(0, max(1, len(text) - _OVERLAP), _PIECE - _OVERLAP):
        found = _judge(text[begin : begin + _PIECE])
        if found:
            break
    return found


def _judge(text: str) -> Suspicion:
    plain = drop_quotations(text)
    found = _readings(plain)
    if not found and plain != text:
        found = _by_classifier("wording", fold_lookalikes(text), _CLEARLY_OVER)
    concealed = obfuscation.find_invisible(text) or obfuscation.find_encoded(plain)
    if concealed is not None:
        found.append(("hidden", concealed))
    if not found:
        found += [
            ("hidden", evidence) for inner in obfuscation.decode_hidden(plain) for _, evidence in _readings(inner)[:1]
        ]
    return Suspicion(tuple(sorted({kind for kind, _ in found})), found[0][1][:_MAX_EVIDENCE].strip() if found else "")


def redact_for_prompt(text: str) -> str:
    """Return a text that nobody vouches for without the sentences that read like orders.

    Of a text that would be held back, and was let in by somebody's word, nothing but the mark when what is left is
    suspicious, too. Never raises for a text.
    """
    rest = redact_orders(text)
    return LEFT_OUT if find_suspicion(text) and (rest == text or find_suspicion(rest)) else rest


def _readings(text: str) -> list[tuple[str, str]]:
    """Find orders in the text as it stands or under a disguise: kinds and words."""
    folded = fold_lookalikes(text)
    # What can be shown without its orders is not held back for a little.
    line = _CLEARLY_OVER if redact_orders(text) != text else classifier.lower_line()
    found = [
        *known_attacks.find_known_attacks(folded),
        *_by_classifier("wording", folded, line),
        *known_attacks.find_markup(drop_fences(text)),
    ]
    for reading in obfuscation.find_disguise(text, folded):
        found += _by_classifier("hidden", reading) if not found else []
    return found


def _by_classifier(kind: str, folded: str, far: float = 0.0) -> list[tuple[str, str]]:
    judged = classifier.classify(folded)
    return [(kind, judged.words)] if judged.over > far else []


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


LEFT_OUT = "[left out: reads like an order]"


def redact_orders(text: str) -> str:
    """Put a mark in the place of sentences that read like orders, unless nothing else would be left.

    Never raises for a text.
    """
    sentences = classifier.split_sentences(drop_quotations(text))
    over = _over([fold_lookalikes(sentence.words).strip() for sentence in sentences])
    if not over or not any(any(map(str.isalnum, item.words)) for n, item in enumerate(sentences) if n not in over):
        return text
    kept, at = [], 0
    for number, sentence in enumerate(sentences):
        if number in over:
            kept.append(text[at : sentence.begin])
            kept += [LEFT_OUT] if number - 1 not in over else []
            at = sentence.end
    kept.append(text[at:])
    return " ".join(part.strip(" ") for part in kept if part.strip(" "))


def _over(sentences: Sequence[str]) -> set[int]:
    """The sentences over the lower line: alone, else with neighbours none of which is over it alone."""
    shown = [classifier.features_of(sentence) for sentence in sentences]
    over = {
        number for number, features in enumerate(shown) if classifier.score_features(features) > classifier.lower_line()
    }
    together = []
    for first in range(len(sentences)):
        length, features = len(sentences[first]), shown[first]
        for last in range(first + 1, min(first + classifier.MAX_TOGETHER, len(sentences))):
            length += 1 + len(sentences[last])
            if length > classifier.STRETCH_TOKENS:
                break
            features = features | shown[last]
            together.append((classifier.score_features(features), range(first, last + 1)))
    for weight, numbers in sorted(together, key=lambda item: -item[0]):
        if weight > classifier.lower_line() and over.isdisjoint(numbers):
            over.update(numbers)
    return over
