"""What of a text that nobody vouches for may stand in a prompt: all of it but the sentences that read like orders.

Leaving out one sentence costs less than holding back the text, so the line lies lower for it: the text is in answers,
its statements are read, and whoever opens the memory reads all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from memwarden.security.injection import classifier, quotations
from memwarden.security.injection.obfuscation import fold_lookalikes

LEFT_OUT = "[left out: reads like an order]"


def redact_orders(text: str) -> str:
    """The text with a mark in the place of sentences that read like orders; as it is when nothing else would be left.

    Never raises for a text.
    """
    sentences = classifier.split_sentences(quotations.drop_quotations(text))
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
