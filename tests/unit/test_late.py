"""A record that is worked out when it is read looks like any other."""

from __future__ import annotations

import copy
import pickle
import threading
from dataclasses import FrozenInstanceError, asdict, replace

import pytest

from memwarden.records import Feature, Why

KNOWN = Why(("boat",), (Feature("base", 0.5, 1.0),), "a note")


def counted() -> tuple[Why, list[int]]:
    times: list[int] = []

    def work_out() -> Why:
        times.append(1)
        return KNOWN

    return Why.late(work_out), times


def test_it_is_worked_out_once_and_only_when_it_is_read() -> None:
    why, times = counted()
    assert times == []
    assert (why.note, why.words, why.features) == (KNOWN.note, KNOWN.words, KNOWN.features)
    assert times == [1]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item)), replace])
def test_a_copy_of_it_is_equal(way: object) -> None:
    why, _ = counted()
    assert way(why) == KNOWN  # type: ignore[operator]


def test_it_is_compared_hashed_shown_and_taken_apart_as_any_record() -> None:
    assert counted()[0] == KNOWN
    assert counted()[0] in {KNOWN}
    assert repr(counted()[0]) == repr(KNOWN)
    assert asdict(counted()[0]) == asdict(KNOWN)


def test_it_cannot_be_changed_and_has_no_other_names() -> None:
    why, times = counted()
    with pytest.raises(FrozenInstanceError):
        why.note = "another"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="'Why' object has no attribute 'nothing'"):
        _ = why.nothing  # type: ignore[attr-defined]
    assert times == []


def test_what_it_was_made_from_is_let_go() -> None:
    why, _ = counted()
    _ = why.words
    assert why._work_out is None  # type: ignore[attr-defined]


def test_two_threads_may_read_it_at_once() -> None:
    both_inside = threading.Barrier(2, timeout=5)

    def work_out() -> Why:
        both_inside.wait()
        return KNOWN

    why = Why.late(work_out)
    read: list[str] = []
    threads = [threading.Thread(target=lambda: read.append(why.note)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [KNOWN.note] * 2
