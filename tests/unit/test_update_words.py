"""What a text announces of known facts."""

from __future__ import annotations

import pytest

from memwarden.text.update_words import Announcement, read_announcement

NOTHING = Announcement(False, False, False)


@pytest.mark.parametrize(
    ("text", "announcement"),
    [
        ("We sold the old van", Announcement(True, False, False)),
        ("I don't drink coffee anymore", Announcement(True, False, False)),
        ("I'd rather live by the sea", Announcement(False, False, True)),
        ("she'll call the plumber", Announcement(False, False, True)),
        ("Mir graut vor Möbeln, aber ich überlege noch", Announcement(False, False, True)),
        ("我搬家了，现在住在杭州", Announcement(True, True, False)),
        ("The van is old and red", NOTHING),
        ("Resold tickets, an oldtimer and the unmoved crowd", NOTHING),
        ("", NOTHING),
    ],
)
def test_what_a_text_announces(text: str, announcement: Announcement) -> None:
    assert read_announcement(text) == announcement


def test_the_end_of_a_long_text_is_not_read() -> None:
    assert read_announcement(f"{'The meadow is green. ' * 20} We sold the van.") == NOTHING
    assert read_announcement("We sold the van. " + "The meadow is green. " * 20).change
