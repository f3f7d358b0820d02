"""Products of vectors that are made in the calling thread alone.

A BLAS shares larger products among threads that it wakes for them. On processors with other work whoever asks waits for
the last of them: measured, a question about 100 turns took 28 ms in place of 3.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

# OpenBLAS shares no product of two matrices of so many multiplications; a block of eight rows is quicker than of seven.
MAX_UNSHARED: Final = 1 << 19
BLOCK: Final = 8


def dot_rows(rows: Floats, vector: Floats) -> Floats:
    """Return the product of each row with a vector, shape (len(rows),)."""
    found: Floats = np.vecdot(rows, vector)
    return found


def multiply(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices."""
    found = np.empty((len(left), right.shape[1]), np.float32)
    step = _step(right.size)
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=found[start : start + step])
    return found


def multiply_with_earlier(rows: Floats) -> Floats:
    """Return the product of each row with itself and with those before it, shape (len(rows), len(rows)).

    Those with some of the rows after it stand there too; the others are 0.
    """
    found = np.zeros((len(rows), len(rows)), np.float32)
    step = _step(rows.size)
    for start in range(0, len(rows), step):
        end = min(start + step, len(rows))
        np.matmul(rows[start:end], rows[:end].T, out=found[start:end, :end])
    return found


def _step(size: int) -> int:
    return max(MAX_UNSHARED // max(size, 1) // BLOCK * BLOCK, BLOCK)
