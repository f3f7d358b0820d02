"""MiniLM with the vectors of word pieces: the real model, from its package."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memwarden import AsyncWarden, Warden
from memwarden.errors import ModelMismatch
from memwarden.models.minilm import MiniLMEmbedder
from memwarden.models.protocols import EncodedQuestion, EncodedTexts
from memwarden.models.side_by_side import SideBySidePieceEmbedder
from memwarden.recall.index.encode import Floats, QuestionEncoder
from memwarden.recall.rank import dense

MAX_END_CHARACTERS = 512
MAX_KEPT_PIECES = 64
QUESTION_END_PIECES = 64

TEXTS = [
    "She adopted a puppy from the shelter last spring.",
    "The quarterly report is due on Friday.",
    "We repainted the kitchen in a pale green.",
    "My brother plays the cello in an orchestra.",
    "The flight to Lisbon was delayed by three hours.",
]


@pytest.fixture(scope="module")
def model() -> MiniLMEmbedder:
    return MiniLMEmbedder(frozenset(["the", "a", "in", "was", "she", "my"]))


def test_vectors_have_unit_length_and_do_not_depend_on_the_batch(model: MiniLMEmbedder) -> None:
    together = model.embed([*TEXTS, "", "   "])
    assert together.shape == (7, 384)
    assert np.allclose(np.linalg.norm(together[:5], axis=1), 1, atol=1e-5)
    assert not together[5:].any()
    alone = np.concatenate([model.embed([text]) for text in TEXTS])
    assert np.allclose(together[:5], alone, atol=1e-4)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: model.embed(TEXTS), range(8)):
            assert np.allclose(found, alone, atol=1e-4)


def test_many_batches_read_by_several_threads_keep_their_texts(model: MiniLMEmbedder) -> None:
    texts = [f"{text} The number is {number}." for number in range(60) for text in TEXTS]
    found = model.encode(texts)
    for place in range(0, len(texts), 37):
        alone = model.encode([texts[place]])
        assert np.allclose(found.vectors[place], alone.vectors[0], atol=1e-4)
        assert np.abs(found.pieces[place].astype(int) - alone.pieces[0]).max() <= 1


def test_pieces_of_words_that_say_something_are_kept(model: MiniLMEmbedder) -> None:
    encoded = model.encode([*TEXTS, "", "the a in!", "word " * 500])
    assert [len(piece) > 0 for piece in encoded.pieces] == [True] * 5 + [False, False, True]
    assert len(encoded.pieces[7]) == MAX_KEPT_PIECES
    assert encoded.pieces[0].dtype == np.int8
    lengths = np.linalg.norm(encoded.pieces[0].astype(np.float32), axis=1)
    assert np.allclose(lengths, 127, atol=3)
    assert np.allclose(encoded.vectors[:5], model.embed(TEXTS), atol=1e-4)


def test_the_closest_pieces_are_found_as_by_a_loop(model: MiniLMEmbedder) -> None:
    question = model.question("Which dog did she get?")
    pieces = model.encode([*TEXTS, ""]).pieces
    flat = np.concatenate(pieces)
    starts = np.cumsum([0, *(len(piece) for piece in pieces)])
    assert question.pieces is not None
    found = dense.best_matches(question.pieces, flat, starts, np.arange(6))
    for passage, rows in enumerate(pieces):
        near = rows.astype(np.float32) / 127 @ question.pieces.T
        best = near.max(axis=0) if len(rows) else np.full(len(question.pieces), -1)
        assert np.allclose(found[:, passage], best, atol=1e-3)


def test_of_a_long_question_both_ends_are_looked_at(model: MiniLMEmbedder) -> None:
    begins, ends = "My daughter and the dog of our neighbour.", "Which school did she choose in Lisbon?"
    asked = [model.question(f"{begins} {filler * 500} {ends}") for filler in ("weather and clouds ", "money or debts ")]
    for item in asked:
        assert item.pieces is not None
        assert len(item.pieces) == len(item.words) == 2 * QUESTION_END_PIECES
        assert list(item.words[:4]) == ["My", "daughter", "and", "the"]
        assert list(item.words[-3:]) == ["in", "Lisbon", "?"]


def test_the_middle_of_a_long_question_costs_nothing(model: MiniLMEmbedder) -> None:
    ends = ("dog " * MAX_END_CHARACTERS, "school " * MAX_END_CHARACTERS)
    item, other = (model.question(f"{ends[0]} {middle} {ends[1]}") for middle in ("A cake.", "A wedding in May. " * 50))
    assert np.array_equal(item.vector, other.vector)


@pytest.fixture(scope="module")
def warden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warden]:
    url = f"sqlite:///{tmp_path_factory.mktemp('minilm') / 's.db'}"
    with Warden.open(url, config={"embedder": "minilm"}) as opened:
        opened.scope(user="ana", thread="t1").observe([{"role": "user", "content": text} for text in TEXTS])
    with pytest.raises(ModelMismatch, match="all-minilm"), Warden.open(url, config={"embedder": "wordllama"}) as other:
        other.scope(user="ana").query("Which dog did she get?")
    with Warden.open(url, config={"embedder": "minilm"}) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which dog did she get?", TEXTS[0]),
        ("Who is a musician?", TEXTS[3]),
        ("What colour is the kitchen?", TEXTS[2]),
        ("Why did we arrive late in Portugal?", TEXTS[4]),
    ],
)
def test_other_words_for_the_same_thing_are_found(warden: Warden, question: str, answer: str) -> None:
    assert warden.scope(user="ana").query(question, threshold=0.0).items[0].memory.text == answer


@pytest.mark.parametrize(
    "question", ["How do the rings of Saturn stay in place?", "hello there", "Which oil does a tractor need?"]
)
def test_nothing_relevant_is_told_with_it_too(warden: Warden, question: str) -> None:
    assert not warden.scope(user="ana").query(question)


def test_a_narrow_filter_is_looked_at_piece_by_piece_too(warden: Warden) -> None:
    (item, *_) = warden.scope(user="ana").query("a puppy", filters={"role": "user"}, threshold=0.0).items
    assert item.memory.text == TEXTS[0]


def test_other_languages_go_by_words(warden: Warden) -> None:
    me = warden.scope(user="ben")
    me.remember(["私は京都に住んでいます。", "犬の名前はハチです。"])
    assert me.query("犬の名前は何ですか？").items[0].memory.text == "犬の名前はハチです。"
    assert not me.query("月までの距離はどのくらいですか？")


class SlowModel:
    """Stands for a slow model: every text takes a while, and calls are noted."""

    name, dimensions, english_only, slow, ready = "slow-test", 2, False, True, True

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.going = threading.Event()
        self.going.set()

    def embed(self, texts: Sequence[str]) -> Floats:
        self.asked += texts
        assert self.going.wait(100)
        return np.array([[1.0, 0.0]] * len(texts), np.float32)


async def test_a_question_is_read_once_and_nobody_waits_for_it() -> None:
    model = SlowModel()
    encoder = QuestionEncoder(model)
    model.going.clear()
    waiting = asyncio.create_task(encoder.encode("Where does Ana live?"))
    await asyncio.sleep(0.01)  # the loop goes on while the model reads
    assert not waiting.done()
    model.going.set()
    first = await waiting
    assert await encoder.encode("Where does Ana live?") is first
    assert model.asked == ["Where does Ana live?"]
    for number in range(600):
        await encoder.encode(f"Question {number}?")
    await encoder.encode("Question 599?")
    await encoder.encode("Where does Ana live?")
    assert len(model.asked) == 602


class _Part:
    """An embedder that waits until another is at work."""

    english_only, slow, ready, dimensions, piece_dimensions = False, True, True, 2, 2

    def __init__(self, name: str, both: threading.Barrier) -> None:
        self.name, self._both = name, both

    def embed(self, texts: Sequence[str]) -> Floats:
        self._both.wait(timeout=100)
        return np.full((len(texts), 2), 2, np.float32)

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        return EncodedTexts(np.ones((len(texts), 2), np.float32), [])

    def question(self, text: str) -> EncodedQuestion:
        self._both.wait(timeout=100)
        return EncodedQuestion(np.ones(2, np.float32), np.ones((1, 2), np.float32), [text])


def test_both_models_read_a_question_at_the_same_time() -> None:
    both = threading.Barrier(2)
    embedder = SideBySidePieceEmbedder(_Part("first", both), _Part("second", both))
    found = asyncio.run(QuestionEncoder(embedder).encode("Where do I live?"))
    assert found is not None
    assert found.vector.tolist() == [1, 1, 2, 2]
    assert found.words == ["Where do I live?"]


async def test_a_namespace_that_changes_while_a_question_is_encoded_is_answered_as_it_is_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waits: list[AsyncWarden] = []
    encode = QuestionEncoder.encode

    async def encode_slowly(encoder: QuestionEncoder, text: str) -> EncodedQuestion | None:
        found = await encode(encoder, text)
        if waits:  # somebody else says something and asks, so that the view is another
            me = waits.pop().scope(user="nora", thread="b")
            await me.observe([{"id": "9", "role": "user", "content": "we live in Ghent since May"}])
            await me.query("what is my rent?")
        return found

    monkeypatch.setattr(QuestionEncoder, "encode", encode_slowly)
    async with AsyncWarden.open(f"sqlite:///{tmp_path}/m.db", config={"embedder": "minilm+multilingual"}) as warden:
        me = warden.scope(user="nora", thread="a")
        await me.observe([{"id": str(at), "role": "user", "content": text} for at, text in enumerate(TEXTS)])
        for question in ("which city do we live in?", "what colour is my kitchen?", "wo wohne ich?"):
            if question.startswith("which"):
                waits.append(warden)
            found = [await me.query(question, top_k=20, threshold=0.0) for _ in range(2)]
            first, again = [[(item.id, item.score, item.why.features) for item in each.items] for each in found]
            assert first == again
            assert found[0].confidence == found[1].confidence
            assert len(first) == len(TEXTS) + 1


def test_loading_it_leaves_no_telemetry_of_onnxruntime_in_the_home_folder(tmp_path: Path) -> None:
    code = "from memwarden.models.minilm import MiniLMEmbedder; MiniLMEmbedder().knows('tea')"
    kept = {name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "CI")}
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=kept | home, check=True, timeout=60)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
