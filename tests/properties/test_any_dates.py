"""Whatever is written and whenever: days are read without a crash, in order and alike; the gate hides none."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from memwarden.recall.index.view import date_closeness, unpack_spans
from memwarden.text.dates import recognizer
from memwarden.text.dates.calendar import DaySpan
from memwarden.text.dates.recognizer import asked_spans, decode, encode, may_name_days, spans_in
from memwarden.text.dates.symbols import LANGUAGES

MAX_STORED_SPANS = 4

WORDS = sorted({word for language in LANGUAGES.values() for word in language.words})
OTHER = [
    "15th", "1st", "1990s", "2023", "1850", "8", "31", "30", "2023-02-30", "2023-05-08", "8.5.2023", "5/8",
    "13/13/2023",
    "3-7", "2019–2021", "100000000000000000000", "9999", "May", "March", "cats", "'", "’s", "\n", ", ",
    "İ", "ß", "_", "²", "٣",
    "先週", "2週間前", "5月8日", "13月40日", "2023年", "上个月", "五月", "金曜日", "99年前",
    "9999年12月31日", "三", "の", "末",
]  # fmt: skip
texts = st.one_of(
    st.text(max_size=80),
    st.lists(st.one_of(st.sampled_from(WORDS), st.sampled_from(OTHER)), max_size=12).map(" ".join),
    st.lists(st.sampled_from(OTHER), max_size=8).map("".join),
)
clocks = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31))
languages = st.sampled_from([None, "en", "de", "fr", "es", "ja", "zh", "xx"])
days = st.dates()
spans = st.builds(lambda a, b: DaySpan(min(a, b), max(a, b), "", True), days, days)


@given(texts, clocks, languages)
@example("last year in May until the weekend before the 31st of next month", datetime(1, 1, 1), None)
@example("in 100000 years, 9999 decades from now", datetime(9999, 12, 31), None)
def test_spans_are_in_order_and_the_same_each_time(text: str, said: datetime, language: str | None) -> None:
    found = spans_in(text, said, language)
    assert found == spans_in(text, said.replace(tzinfo=UTC), language)
    for span in found:
        assert span.first <= span.last
        assert span.text in text
        assert span.text


@given(texts, clocks, languages)
def test_the_gate_hides_nothing(text: str, said: datetime, language: str | None) -> None:
    ungated = recognizer.read_days(text, said.date(), language, question=False)
    assert spans_in(text, said, language) == ungated
    if ungated:
        assert may_name_days(text)


@given(texts, clocks, st.one_of(st.none(), days))
def test_questions_are_read_without_a_crash(text: str, now: datetime, since: date | None) -> None:
    for span in asked_spans(text, now, since=since):
        assert span.first <= span.last


@given(st.lists(spans, max_size=9))
def test_stored_spans_come_back(named: list[DaySpan]) -> None:
    stored = encode(named)
    assert len(stored) <= 8 * MAX_STORED_SPANS
    assert set(decode(stored)) <= {(span.first, span.last) for span in named}
    assert bool(stored) == bool(named)
    if len({(span.first, span.last) for span in named}) <= MAX_STORED_SPANS:
        assert set(decode(stored)) == {(span.first, span.last) for span in named}


@given(st.lists(st.lists(spans, max_size=3), max_size=6), st.lists(spans, max_size=3))
def test_overlap_is_what_a_loop_finds(rows: list[list[DaySpan]], asked: list[DaySpan]) -> None:
    places, numbers = unpack_spans(map(encode, rows))
    shares = date_closeness(places, numbers, len(rows), asked)
    for place, row in enumerate(rows):
        shared = [_share(item, span) for item in row for span in asked]
        assert (shares[place] > 0) == any(share > 0 for share in shared)
        assert np.isclose(shares[place], max(shared, default=0), atol=1e-5)


def _share(row: DaySpan, asked: DaySpan) -> float:
    common = min(row.last, asked.last) - max(row.first, asked.first) + timedelta(1)
    return max(common, timedelta(0)) / (row.last - row.first + timedelta(1))
