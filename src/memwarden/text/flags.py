"""Flags of a text, stored with it."""

from __future__ import annotations

from enum import IntFlag
from typing import Final

from memwarden.text.question_words import asks_question, only_asks
from memwarden.text.small_talk import is_chatter
from memwarden.text.time_words import has_time_word
from memwarden.text.update_words import read_announcement


class Flag(IntFlag):
    """What is known of a text."""

    TIME = 1
    QUESTION = 2
    CHATTER = 4
    ONLY_ASKS = 8
    CHANGES = 16
    NOW = 32
    DOUBT = 64


# Such texts are not answers.
UNANSWERING: Final = Flag.CHATTER | Flag.ONLY_ASKS


def flags(text: str) -> int:
    """Return all flags of a text."""
    asks = asks_question(text)
    common = Flag.TIME * has_time_word(text) | Flag.QUESTION * asks | Flag.CHATTER * is_chatter(text)
    announcement = read_announcement(text)
    updates = Flag.CHANGES * announcement.change | Flag.NOW * announcement.now | Flag.DOUBT * announcement.doubt
    return common | updates | Flag.ONLY_ASKS * (asks and only_asks(text))
