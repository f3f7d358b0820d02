"""Passages: what they cover, where they end, and that an index knows each of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pytest

from memwarden.models.protocols import EncodedQuestion, EncodedTexts
from memwarden.recall.index.encode import make_signals
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.records import Channel, Head, Memory, Namespace, Scan, Signals
from memwarden.records.index_rows import add_second, choose_model
from memwarden.records.passages import StoredPassages, unpack_passages
from memwarden.stores.shared.decide import index_row
from memwarden.text.passages import read_passages, split_passages
from memwarden.text.sentences import split_sentences
from memwarden.text.tokenizer import term_id, terms

Floats = npt.NDArray[np.float32]

NOW = datetime(2026, 3, 4, tzinfo=UTC)
SENTENCES = (
    "The oven in the flat needs ten minutes more than the recipe says.",
    "Oma Hilde backt ihren Apfelkuchen immer mit Boskop aus dem Garten.",
    "El lunes vino el fontanero y cambió la junta del fregadero.",
    "Le boulanger ouvre à six heures, sauf le lundi.",
    "Remember: the spare key hangs behind the blue door.",
)


class WordEmbedder:
    """An embedder whose vector of a text is the sum of a few fixed vectors of its words."""

    name = "words-8"
    dimensions = 8
    english_only = False
    ready = True
    piece_dimensions = 4

    def embed(self, texts: Sequence[str]) -> Floats:
        rows = np.array([self._row(text) for text in texts], np.float32).reshape(len(texts), self.dimensions)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return unit

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        pieces = [np.full((len(text.split()), self.piece_dimensions), 1, np.int8) for text in texts]
        return EncodedTexts(self.embed(texts), pieces)

    def question(self, text: str) -> EncodedQuestion:
        return EncodedQuestion(self.embed([text])[0])

    def _row(self, text: str) -> npt.NDArray[np.float64]:
        row = np.zeros(self.dimensions)
        for term in terms(text):
            row += np.random.default_rng(term_id(term)).standard_normal(self.dimensions)
        return row


def long_text(sentences: int, seed: int = 1) -> str:
    chance = random.Random(seed)
    return " ".join(chance.choice(SENTENCES) for _ in range(sentences))


def bare(text: str) -> str:
    return "".join(text.split())


def test_a_short_text_is_one_passage() -> None:
    for text in ("", " ", "I live in Porto.", "x" * 500, "猫" * (250)):
        assert read_passages(text) == [text]


@pytest.mark.parametrize("sentences", range(8, 60, 4))
def test_passages_keep_sentences_whole_and_cover_the_text(sentences: int) -> None:
    text = long_text(sentences, sentences)
    passages = read_passages(text)
    assert "".join(map(bare, passages)) == bare(text)
    assert [one for passage in passages for one in split_sentences(passage)] == split_sentences(text)
    assert all(len(passage) <= 500 for passage in passages)
    # Of about equal length: no rest of a few words at the end.
    assert min(map(len, passages)) > 165


def test_a_list_is_split_between_its_lines() -> None:
    text = "\n".join(f"- item {number}: twelve screws and a hinge for the garden gate" for number in range(40))
    passages = read_passages(text)
    assert len(passages) > 3
    assert "\n".join(passages) == text


def test_a_sentence_longer_than_a_passage_is_cut_at_a_space() -> None:
    text = "word and " * 200
    passages = read_passages(text)
    assert len(passages) > 3
    assert all(len(passage) <= 500 for passage in passages)
    assert [word for passage in passages for word in passage.split()] == text.split()
    unbroken = "a" * 1_800
    assert "".join(read_passages(unbroken)) == unbroken


def test_a_script_without_spaces_has_shorter_passages() -> None:
    text = "昨日、駅前のパン屋でクロワッサンを三つ買いました。" * 40
    passages = read_passages(text)
    assert "".join(passages) == text
    assert all(len(passage) <= 250 for passage in passages)


def test_spans_are_places_in_the_text() -> None:
    text = long_text(30)
    assert [text[span.start : span.end] for span in split_passages(text)] == read_passages(text)


def memory(text: str, name: str) -> Memory:
    return Memory(
        id=name, namespace=Namespace("t", "user/ana"), channel=Channel.TURN, kind="message", category="general",
        text=text, created_at=NOW, updated_at=NOW, thread_id="one", role="user",
    )  # fmt: skip


def index_of(texts: list[str], embedder: WordEmbedder | None = None) -> tuple[NamespaceIndex, list[Signals]]:
    made = make_signals([(text, NOW) for text in texts], embedder)
    widths = (embedder.dimensions, embedder.piece_dimensions) if embedder else (None, None)
    index = NamespaceIndex(3_600_000_000, *widths)
    rows = [
        index_row(n, memory(text, f"m{n}"), signals)
        for n, (text, signals) in enumerate(zip(texts, made, strict=True), 1)
    ]
    index.follow(Scan(rows, Head(1, 1)))
    return index, made


def test_an_index_has_the_words_and_vectors_of_each_passage() -> None:
    embedder = WordEmbedder()
    texts = ["I live in Porto.", long_text(30), "The saffron is in the tin.", long_text(20, 5)]
    index, _ = index_of(texts, embedder)
    passages = index.view.passages
    split = [read_passages(text) for text in texts]
    flat = [passage for some in split for passage in some]
    assert passages.owners.tolist() == [place for place, some in enumerate(split) for _ in some]
    assert np.diff(passages.starts).tolist() == [len(some) for some in split]
    assert passages.vectors is not None
    assert np.allclose(passages.vectors, embedder.embed(flat), atol=2e-3)
    assert passages.piece_starts.tolist() == np.cumsum([0, *(len(passage.split()) for passage in flat)]).tolist()
    for word in ("oven", "fontanero", "saffron"):
        (term,) = terms(word)
        expected = [place for place, passage in enumerate(flat) if term in terms(passage)]
        assert passages.postings(term_id(term))[0].tolist() == expected
        places, counts = index.postings(term_id(term))
        assert places.tolist() == sorted({int(passages.owners[place]) for place in expected})
        assert counts.sum() == passages.postings(term_id(term))[1].sum()
    assert np.allclose(passages.best(passages.length), [max(passages.length[passages.owners == n]) for n in range(4)])
    best = passages.best_at(passages.length)
    assert np.allclose(passages.length[best], passages.best(passages.length))
    assert passages.owners[best].tolist() == [0, 1, 2, 3]


def test_a_replaced_text_takes_its_passages_along() -> None:
    text = long_text(30)
    index, made = index_of([text, "The saffron is in the tin."], WordEmbedder())
    (term,) = terms("oven")
    assert len(index.passage_postings(term_id(term))[0])
    index.follow(Scan([index_row(1, memory(text, "m1"), made[0], live=False)], Head(2, 1)))
    assert not len(index.passage_postings(term_id(term))[0])
    assert not len(index.postings(term_id(term))[0])


def test_short_texts_take_no_room_for_passages() -> None:
    index, made = index_of([sentence for sentence in SENTENCES for _ in range(50)], WordEmbedder())
    assert index.view.passages.single
    assert {signals.passages for signals in made} == {None}


def test_the_length_of_a_text_is_that_of_its_passages() -> None:
    index, _ = index_of([long_text(30), "The saffron is in the tin."])
    passages = index.view.passages
    assert passages.vectors is None
    assert index.length.tolist() == np.add.reduceat(passages.length, passages.first).tolist()


def test_stored_passages_come_back() -> None:
    stored = StoredPassages((3, 70_000, 1), (0, 48, 2), b"\x01\x02")
    assert unpack_passages(stored.pack()) == stored


def test_a_row_of_two_models_keeps_the_passages_of_each() -> None:
    text = long_text(30)
    embedder, other = WordEmbedder(), WordEmbedder()
    other.name, other.dimensions = "words-6", 6
    own, second = make_signals([(text, NOW)], embedder)[0], make_signals([(text, NOW)], other)[0]
    row = index_row(1, memory(text, "m1"), add_second(own, other.name, second))
    moved = choose_model(row, other.name, 12)
    assert (moved.vector, moved.passages, moved.pieces) == (second.vector, second.passages, second.pieces)
    stayed = choose_model(row, embedder.name, 16)
    assert (stayed.vector, stayed.passages, stayed.pieces) == (own.vector, own.passages, own.pieces)
    strange = choose_model(index_row(1, memory(text, "m1"), own), other.name, 12)
    assert strange.vector == b""
    assert strange.passages is not None
    assert unpack_passages(strange.passages).vectors == b""
