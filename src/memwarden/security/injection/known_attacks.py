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


# Signs that only a chat template uses. In `backticks` they are talked about.
_TEMPLATE = re.compile(
    r"(?<!`)(?:<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|"
    r"begin_of_text|"
    r"channel|message|start|end)\|>|\[/?INST\]|<</?SYS>>|</?s>\s*\[INST|<start_of_turn>|<end_of_turn>|"
    r"<(?:system|system[-_]prompt|system[-_]message|system[-_]reminder|assistant|admin|developer|"
    r"ai[-_]instructions?|hidden[-_]instructions?|"
    r"user[-_]instructions?|new[-_]instructions?|important_instructions|sys)>(?!\s*(?:[<`]|tags?\b)))(?!`)",
    re.I,
)
_ROLE_LINE = re.compile(
    r"(?:^|[\n\"',;|])[\s>*#\[({=-]{0,6}(?:system|developer|admin(?:istrator)?|root|operator)[ _-]?"
    r"(?:prompt|message|note|notice|instructions?|override|update|command|directive|"
    r"mode)?[\])}*]{0,3} ?[:>-]{1,3}[\s*\"']{0,4}"
    r"(?:you\b|your\b|ignore|disregard|forget|from now|new |override|(?:the|every|all|any) (?:users?|assistants?|"
    r"ai|agent)|always|never|do not|don't|respond|reply|assistant|"
    r"all |previous|reveal|send|disable|enable|activate|execute|call|grant|treat|safety)",
    re.I,
)

_SYSTEM_LINE = re.compile(
    r"(?:^|\n)[\s>*#\[(]{0,6}(?:SYSTEM ?(?:MESSAGE|NOTICE|PROMPT)|SYSTEM-?(?:MELDUNG|HINWEIS|NACHRICHT|ANWEISUNG)|"
    r"MENSAJE DEL SISTEMA|MESSAGE (?:DU )?SYSTÈME|MENSAGEM DO SISTEMA|СИСТЕМНОЕ СООБЩЕНИЕ|"
    r"系[统統](?:消息|訊息|通知|指令|提示)|システム(?:メッセージ|通知|指示))\s{0,3}[\])]?\s?[:：]"
)

_ACTS = (
    r"(?:send|mail|delete|remove|transfer|pay|exec|shell|bash|terminal|command|write|forward|post|upload|http|"
    r"fetch|request|memory|remember|"
    r"purchase|order|share|grant|drop|invite|wire|refund|approve|update|create|set|export|read|browse|open|run)"
)
_CALL_TAG = re.compile(
    r"(?<!`)<(?:\w{1,10}:)?(?:function_calls?|invoke|tool_calls?|tool_use|tool_code|function=\w{1,40})\b[^>]{0,100}>(?!`)",
    re.I,
)
_CALL = re.compile(
    rf"\"(?:tool|tool_name|function|name|action|"
    rf"recipient_name)\"\s{{0,3}}:\s{{0,3}}\"[\w.-]{{0,40}}{_ACTS}[\w.-]{{0,40}}\"\s{{0,3}},\s{{0,9}}"
    r"\"(?:arguments|args|parameters|input|action_input|params|tool_input)\"\s{0,3}:",
    re.I,
)
_CALLS = re.compile(r"\"(?:tool_calls|function_call|tool_use)\"\s{0,3}:\s{0,3}[\[{]", re.I)
_REACT = re.compile(r"(?:^|\n)\s{0,4}action\s{0,2}:\s{0,3}\w{2,40}\s{0,3}\n\s{0,4}action input\s{0,2}:", re.I)

_IMAGE = re.compile(
    r"!\[[^\]\n]{0,200}\]\(\s{0,3}(https?://[^)\s]{1,500}[^)\n]{0,200})\)|<img\b[^>]{0,300}src\s?=\s?[\"']?(https?://[^\"'>]{1,500})",
    re.I,
)
_CARRIES = re.compile(
    r"\?.{0,200}(?:\{|\[|<|%7b|%5b|\$[a-z(]|=$|=\.\.\.|\b(?:conversation|chat_?history|summary|secret|password|"
    r"api_?key|user_?data|system_?prompt|base64|encoded?|memory|"
    r"insert|replace|your|the_|user_input|last_message)\b)|/(?:\{|%7b|<|\[)(?:data|conversation|secret|history|"
    r"base64|summary|prompt|memory|user_?data|chat|encoded?)",
    re.I,
)


def find_markup(text: str) -> Iterator[tuple[str, str]]:
    """Each kind of mark in the text, with the words that show it."""
    for kind, patterns in _KINDS:
        for pattern in patterns:
            if match := pattern.search(text):
                yield kind, text[max(0, match.start() - 20) : match.end() + 100]
                break
    for match in _IMAGE.finditer(text):
        if _CARRIES.search(match.group(1) or match.group(2)):
            yield "image", match.group()
            return


_KINDS: tuple[tuple[str, tuple[re.Pattern[str], ...]], ...] = (
    ("role", (_TEMPLATE, _ROLE_LINE, _SYSTEM_LINE)),
    ("tool", (_CALL_TAG, _CALL, _CALLS, _REACT)),
)
