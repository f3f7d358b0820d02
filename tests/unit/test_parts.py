"""Long texts are cut into parts at good places, and the parts are known by their tags."""

from datetime import UTC, datetime

import pytest

from memwarden.records import Memory, Namespace, TextPart, join_parts, leave_part_tags, read_part
from memwarden.text.parts import cut_text

PARAGRAPHS = "".join(f"Shelf {n} holds jars of plums. Nobody opens them.\n\n" for n in range(40))


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (PARAGRAPHS, 200),
        (PARAGRAPHS.replace("\n\n", " "), 200),
        (PARAGRAPHS.replace("\n", "").replace(" ", ""), 200),
        ("棚には梅の瓶がある。誰も開けない。" * 40, 200),
        ("👩‍🚀" * 100, 50),
        ("नमस्ते दुनिया। " * 40, 64),
        ("x" * 1_000, 3),
    ],
)
def test_the_parts_are_the_text_and_none_is_too_long(text: str, limit: int) -> None:
    parts = cut_text(text, limit)
    assert "".join(parts) == text
    assert len(parts) > 1
    assert max(len(part.encode()) for part in parts) <= max(limit, 4)


def test_a_cut_is_at_the_end_of_a_paragraph_else_a_sentence_else_a_word() -> None:
    assert all(part.endswith("\n\n") for part in cut_text(PARAGRAPHS, 200))
    assert all(part.rstrip().endswith(".") for part in cut_text(PARAGRAPHS.replace("\n\n", " "), 200))
    assert all(part.rstrip().endswith("。") for part in cut_text("棚には梅の瓶がある。誰も開けない。" * 40, 200))
    words = cut_text("plum " * 100, 52)
    assert {part.strip()[-4:] for part in words} == {"plum"}


def test_a_cut_is_inside_no_character_that_people_see() -> None:
    assert all(part.startswith("👩‍🚀") and part.endswith("👩‍🚀") for part in cut_text("👩‍🚀" * 100, 50))


def test_a_text_within_the_limit_is_one_part_and_white_space_alone_is_none() -> None:
    assert cut_text("é" * 10, 20) == ["é" * 10]
    assert cut_text("a" * 10 + " " * 100 + "b" * 10, 20)[0] == "a" * 10 + " " * 10
    assert all(part.strip() for part in cut_text("a" * 10 + " " * 100 + "b" * 10, 20))


def _memory(name: str, text: str, tags: tuple[str, ...] = ()) -> Memory:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    return Memory(id=name, namespace=Namespace("default", "user/a"), text=text, created_at=at, updated_at=at, tags=tags)


def test_parts_are_read_from_tags_and_joined_in_their_order() -> None:
    second, first = (_memory(f"p{n}", f"part {n}. ", ("mine", *TextPart("p1", n, 2).tags)) for n in (2, 1))
    assert read_part(second.tags) == ("p1", 2, 2)
    assert leave_part_tags(second.tags) == ("mine",)
    joined = join_parts([_memory("a", "before"), second, first, _memory("b", "after")])
    assert [(item.id, item.text, item.tags) for item in joined] == [
        ("a", "before", ()),
        ("p1", "part 1. part 2. ", ("mine",)),
        ("b", "after", ()),
    ]


@pytest.mark.parametrize("tags", [(), ("part_of:x",), ("part:1/2",), ("part_of:x", "part:one/2"), ("party:1/2",)])
def test_other_tags_name_no_part(tags: tuple[str, ...]) -> None:
    assert read_part(tags) is None
