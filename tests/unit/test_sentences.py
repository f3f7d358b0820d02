"""Sentences of a text and their places."""

from __future__ import annotations

import pytest

from memwarden.text.sentences import split_sentences, split_spans


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I moved. It rains.", ["I moved.", "It rains."]),
        ("Is it on? Yes! Good…", ["Is it on?", "Yes!", "Good…"]),
        ("Dr. Patel called at 3.15 p.m. today.", ["Dr. Patel called at 3.15 p.m. today."]),
        ("Wir treffen uns am 3. Mai. Bring Brot.", ["Wir treffen uns am 3. Mai.", "Bring Brot."]),
        ("Trabajo en el hospital Sta. Fe. Vivo cerca.", ["Trabajo en el hospital Sta. Fe.", "Vivo cerca."]),
        ("J. R. wrote it. Then left.", ["J. R. wrote it.", "Then left."]),
        ("first line\nsecond line", ["first line", "second line"]),
        ("我搬家了。你呢？", ["我搬家了。", "你呢？"]),
        ('She said "Go." He went.', ['She said "Go."', "He went."]),
        ("  ", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_hurried_texts_may_begin_sentences_in_lower_case() -> None:
    text = "moved to bern. it rains."
    assert split_sentences(text) == [text]
    assert split_sentences(text, small_starts=True) == ["moved to bern.", "it rains."]


def test_a_span_is_the_place_of_its_text() -> None:
    text = " One.  Two!\n\n three "
    assert [text[span.start : span.end] for span in split_spans(text)] == [span.text for span in split_spans(text)]
    assert [span.text for span in split_spans(text)] == ["One.", "Two!", "three"]
