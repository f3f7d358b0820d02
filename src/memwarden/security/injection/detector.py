"""Finds orders to an assistant in texts that come from tools, pages, documents and imports.

Without a language model and without I/O but for reading its own tables once. A hit is a reason to quarantine a text
that nobody vouches for, never to doubt what a person says in a turn of their own. What is caught and what cannot be:
``docs/why/quarantine.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memwarden.security.injection import classifier, obfuscation
from memwarden.security.injection.obfuscation import fold_lookalikes
from memwarden.security.words import load_lines

_FORGET: Final = r"\b(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect)"
_BEFORE: Final = r"(?:previous|prior|earlier|preceding|above|past|existing|original|initial|other|safety)"
_ALL: Final = r"(?:all |any |every )?(?:of )?"
_TOLD: Final = r"(?:you (?:were|have been|had been)|i have|was|is) (?:told|said|instructed|above|before)"
_SHOW: Final = r"\b(?:print|reveal|show|repeat|output|display|disclose|leak|dump|quote|share|send)"
_PROMPT: Final = r"(?:system prompt|system message|instructions|initial prompt|hidden prompt)"
_WORDS: Final = Path(__file__).with_name("words.toml")

_CLASSICS: Final[tuple[re.Pattern[str], ...]] = tuple(
    re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)
    for pattern in (
        rf"{_FORGET} {_ALL}(?:the |your |these |my |its )?(?:{_BEFORE} )?(?:instructions?|prompts?)\b",
        rf"{_FORGET} (?:all )?(?:of )?your (?:{_BEFORE} )?(?:rules|guidelines|programming|directives|constraints)\b",
        rf"{_FORGET} (?:everything|anything|all|whatever) (?:that )?{_TOLD}\b",
        rf"{_SHOW} (?:me |us |out )?(?:all of )?your (?:\w+ )?(?:\w+ )?{_PROMPT}\b",
        r"\byou are now (?:an? )?(?:\w+ )?(?:\w+ )?without (?:any )?(?:rules|filters?|limits|restrictions)",
        r"\bfrom now on,? (?:you (?:must|will|shall|should) )?(?:always |never |only )?(?:recommend|promote|prefer) ",
        *load_lines(_WORDS, "orders"),
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
    rf"(?:^|\n)[\s>*#\[(]{{0,6}}(?:{'|'.join(load_lines(_WORDS, 'system_line'))})\s{{0,3}}[\])]?\s?[:：]"
)

# A turn of a conversation after the announced end of a document.
_FAKED_TURN = re.compile(
    rf"(?:{'|'.join(load_lines(_WORDS, 'end_of_text'))})[^\n]{{0,20}}\n\s{{0,20}}"
    rf"(?:{'|'.join(load_lines(_WORDS, 'speaker_line'))})\s?[:：]",
    re.I,
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
    ("role", (_TEMPLATE, _ROLE_LINE, _SYSTEM_LINE, _FAKED_TURN)),
    ("tool", (_CALL_TAG, _CALL, _CALLS, _REACT)),
)


_MAX_EVIDENCE = 200
# A search in a long text stops all other threads; between searches in pieces they go on.
_PIECE, _OVERLAP = 20_000, 1_000
# So far over the line a text is held back although its other sentences could be shown; and so far it has to lie by the
# quotations that it announces as examples. Not out of reach: an attacker can announce an example as well.
_CLEARLY_OVER = 1.0
_MAX_WORD = 20


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


def find_known_orders(text: str) -> Suspicion:
    """Judge a model's answer: by the orders that everybody knows and by fake tags, calls and images, not by wording.

    An answer tells people, and assistants in their prompts, what to do all the time. Quotations that it announces as
    examples and blocks of code do not count.
    """
    plain = drop_quotations(drop_fences(text[:_PIECE]))
    found = [*find_known_attacks(fold_lookalikes(plain)), *find_markup(plain)]
    return Suspicion(tuple(sorted({kind for kind, _ in found})), found[0][1][:_MAX_EVIDENCE].strip() if found else "")


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
        *find_known_attacks(folded),
        *_by_classifier("wording", folded, line),
        *find_markup(drop_fences(text)),
    ]
    for reading in obfuscation.find_disguise(text, folded):
        found += _by_classifier("hidden", reading) if not found else []
    return found


def _by_classifier(kind: str, folded: str, far: float = 0.0) -> list[tuple[str, str]]:
    # The weights are of stretches: a short word by itself, such as "person", gives no order.
    if len(folded) <= _MAX_WORD and folded.isascii() and folded.isalpha():
        return []
    judged = classifier.classify(folded)
    return [(kind, judged.words)] if judged.over > far else []


# Who speaks of attacks, of examples or of words of others.
_ABOUT = re.compile(
    rf"\b(?:{'|'.join(load_lines(_WORDS, 'about'))})\b|{'|'.join(load_lines(_WORDS, 'about_unspaced'))}", re.I
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
