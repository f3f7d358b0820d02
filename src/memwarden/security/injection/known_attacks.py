"""The orders that everybody knows: few, short and unmistakable, beside what is weighed by wording.

Each is an order to a reader that has instructions, a prompt or a user. They are looked for in folded text, after what a
text announces as an example was set aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_FORGET: Final = r"\b(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect)"
_BEFORE: Final = r"(?:previous|prior|earlier|preceding|above|past|existing|original|initial|other|safety)"
_ALL: Final = r"(?:all |any |every )?(?:of )?"
_TOLD: Final = r"(?:you (?:were|have been|had been)|i have|was|is) (?:told|said|instructed|above|before)"
_SHOW: Final = r"\b(?:print|reveal|show|repeat|output|display|disclose|leak|dump|quote|share|send)"
_PROMPT: Final = r"(?:system prompt|system message|instructions|initial prompt|hidden prompt)"
_ROMANCE: Final = (
    r"\b(?:ignora|olvida|descarta|desobedece|esquece|esqueca|esqueça|ignore|dimentica|ignorez|oublie|oubliez) "
    r"(?:todas? |tutte |tutti |toutes? )?(?:las |les |le |as |tus |sus |suas |tuas |tes |vos |tue )?(?:\w+ )?"
    r"(?:instrucciones|instructions|instrucoes|instruções|istruzioni|consignes)\b"
)
_GERMAN: Final = (
    r"\b(?:ignorier|vergiss|missacht|verwirf)\w* (?:bitte )?(?:alle\w* |sämtliche\w* |samtliche\w* )?"
    r"(?:deine\w* |die |ihre\w* )?(?:bisherige\w* |vorherige\w* |vorige\w* |frühere\w* |obige\w* )?"
    r"(?:anweisungen|instruktionen|vorgaben)\b"
)

_CLASSICS: Final[tuple[re.Pattern[str], ...]] = tuple(
    re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)
    for pattern in (
        rf"{_FORGET} {_ALL}(?:the |your |these |my |its )?(?:{_BEFORE} )?(?:instructions?|prompts?)\b",
        rf"{_FORGET} (?:all )?(?:of )?your (?:{_BEFORE} )?(?:rules|guidelines|programming|directives|constraints)\b",
        rf"{_FORGET} (?:everything|anything|all|whatever) (?:that )?{_TOLD}\b",
        rf"{_SHOW} (?:me |us |out )?(?:all of )?your (?:\w+ )?(?:\w+ )?{_PROMPT}\b",
        r"\byou are now (?:an? )?(?:\w+ )?(?:\w+ )?without (?:any )?(?:rules|filters?|limits|restrictions)",
        r"\bfrom now on,? (?:you (?:must|will|shall|should) )?(?:always |never |only )?(?:recommend|promote|prefer) ",
        _GERMAN,
        r"\bdu bist (?:jetzt|nun) (?:\w+ )?(?:\w+ )?(?:\w+ )?ohne (?:\w+ )?(?:regeln|filter|grenzen)\b",
        _ROMANCE,
        r"(?:игнориру[йи]\w*|забуд[ьb]\w*) (?:все |всe |свои |предыдущие |прежние |прошлые )*(?:инструкции|указания)",
        r"(?:忽略|无视|無視|忘记|忘掉)(?:你|您)?(?:所有|之前|以上|先前|此前|全部|的|一切|前面){0,5}(?:指令|指示|提示)",
        r"(?:以前|これまで|上記|すべて|全て)(?:の|全ての|すべての){0,2}(?:指示|命令|プロンプト)(?:を|は)?(?:すべて|全て)?(?:無視|忘れ)",
        r"(?:تجاهل|انس) (?:جميع |كل )?(?:التعليمات|الأوامر)",
    )
)


def find_known_attacks(folded: str) -> Iterator[tuple[str, str]]:
    """Yield the kind ``classic`` and the words of each that stands in a folded text."""
    for pattern in _CLASSICS:
        found = pattern.search(folded)
        if found is not None:
            yield "classic", found.group(0)
