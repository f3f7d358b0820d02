"""Whether a text carries orders for an assistant: for what comes from tools, pages, documents and imports.

Without a language model and without I/O but for reading its own tables once. A hit is a reason to quarantine a text
that nobody vouches for, never to doubt what a person says in a turn of their own. What is caught and what cannot be:
``docs/why/quarantine.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from memwarden.security.injection import classifier, known_attacks, markup, obfuscation, quotations, redact

_MAX_EVIDENCE = 200
# So far over the line a text is held back although its other sentences could be shown; and so far it has to lie by the
# quotations that it announces as examples. Not out of reach: an attacker can announce an example as well.
_CLEARLY_OVER = 1.0


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What is suspicious about a text: the kinds, in alphabetical order, and of the first finding the words.

    True if there is anything. Kinds: ``classic`` (an order that everybody knows), ``wording`` (it reads like an order
    to an assistant), ``role`` (fake tags of roles), ``tool`` (a tool call as text), ``image`` (an image that carries
    data off), ``hidden`` (invisible or encoded orders).
    """

    kinds: tuple[str, ...]
    evidence: str

    def __bool__(self) -> bool:
        return bool(self.kinds)


def find_suspicion(text: str) -> Suspicion:
    """Judge a text that nobody vouches for. Never raises for a text."""
    plain = quotations.drop_quotations(text)
    found = _readings(plain)
    if not found and plain != text:
        found = _by_classifier("wording", obfuscation.fold_lookalikes(text), _CLEARLY_OVER)
    concealed = obfuscation.find_invisible(text)
    if concealed is not None:
        found.append(("hidden", concealed))
    if not found:
        found += [
            ("hidden", evidence) for inner in obfuscation.decode_hidden(plain) for _, evidence in _readings(inner)[:1]
        ]
    return Suspicion(tuple(sorted({kind for kind, _ in found})), found[0][1][:_MAX_EVIDENCE].strip() if found else "")


def redact_for_prompt(text: str) -> str:
    """What of a text that nobody vouches for may stand in a prompt: without the sentences that read like orders.

    Of a text that would be held back, and was let in by somebody's word, nothing but the mark when what is left is
    suspicious, too. Never raises for a text.
    """
    rest = redact.redact_orders(text)
    return redact.LEFT_OUT if find_suspicion(text) and (rest == text or find_suspicion(rest)) else rest


def _readings(text: str) -> list[tuple[str, str]]:
    """What can be read in the text as it stands or under a disguise: kinds and words."""
    folded = obfuscation.fold_lookalikes(text)
    # What can be shown without its orders is not held back for a little.
    line = _CLEARLY_OVER if redact.redact_orders(text) != text else classifier.lower_line()
    found = [
        *known_attacks.find_known_attacks(folded),
        *_by_classifier("wording", folded, line),
        *markup.find_markup(quotations.drop_fences(text)),
    ]
    for reading in obfuscation.find_disguise(text, folded):
        found += _by_classifier("hidden", reading) if not found else []
    return found


def _by_classifier(kind: str, folded: str, far: float = 0.0) -> list[tuple[str, str]]:
    judged = classifier.classify(folded)
    return [(kind, judged.words)] if judged.over > far else []
