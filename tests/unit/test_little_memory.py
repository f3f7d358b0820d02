"""Models in little memory: one model at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memwarden.models.side_by_side import SideBySideEmbedder


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
