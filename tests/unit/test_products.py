"""Products in the calling thread: the same numbers as a product of two matrices, from blocks that no BLAS shares."""

from __future__ import annotations

import numpy as np
import pytest

from memwarden.models.products import multiply, multiply_with_earlier


@pytest.mark.parametrize("rows", [0, 1, 8, 92, 301])
def test_blocks_give_the_product_of_the_whole(rows: int) -> None:
    left, right = np.random.default_rng(rows).standard_normal((2, rows, 40), dtype=np.float32)
    assert np.allclose(multiply(left, right.T), left @ right.T, atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 92, 301])
def test_every_row_meets_itself_and_those_before_it(rows: int) -> None:
    left = np.random.default_rng(rows).standard_normal((rows, 300), dtype=np.float32)
    whole = np.tril(left @ left.T)
    assert np.allclose(np.tril(multiply_with_earlier(left)), whole, atol=1e-4)


def test_no_product_is_large_enough_to_be_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    real = np.matmul

    def note(left, right, out):  # type: ignore[no-untyped-def]
        sizes.append(left.size * right.shape[1])
        return real(left, right, out=out)

    monkeypatch.setattr(np, "matmul", note)
    rows = np.ones((120, 350), np.float32)
    multiply(rows, rows.T)
    multiply_with_earlier(rows)
    multiply(np.ones((1_500, 64), np.float32), np.ones((64, 8), np.float32))
    assert len(sizes) > 8
    assert max(sizes) < 1 << 19  # which OpenBLAS shares: then its threads spin through the next ten queries
