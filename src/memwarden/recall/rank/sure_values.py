"""Places that surely state the value a question asks for."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

# From this on a place surely tells what is asked for.
MIN_SURE: Final = 0.6
# The same for what was said after all of these: "we moved to Cork" is less plain than "I live in Leeds".
MIN_SURE_LATER: Final = 0.5


def find_sure(
    told: npt.NDArray[np.float32], total: npt.NDArray[np.float32], said: npt.NDArray[np.int64], *, later: bool
) -> npt.NDArray[np.bool_]:
    """Return which places tell the value that is asked for.

    told: how surely, and how likely, each place tells it. total: what each place scores; -inf for what may not be told.
    later: whether a later value that is told less surely, or in unusual words but scores more, is among them.
    """
    sure, likely = told
    open_places = total > float("-inf")
    found: npt.NDArray[np.bool_] = open_places & (sure >= MIN_SURE)
    if later and found.any():
        after = open_places & (said > said[found].max())
        found |= after & ((sure >= MIN_SURE_LATER) | ((likely >= MIN_SURE) & (total > total[found].max())))
    return found
