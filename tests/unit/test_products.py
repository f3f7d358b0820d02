"""Products in the calling thread: the numbers of whole products, from blocks that no BLAS shares among threads."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from memwarden.models.products import SplitWeights, multiply, multiply_with_earlier, project, split_weights

Floats = npt.NDArray[np.float32]


def random(*shape: int) -> Floats:
    return np.random.default_rng(shape).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("rows", [0, 1, 8, 92, 301])
def test_blocks_give_the_product_of_the_whole(rows: int) -> None:
    left, right = np.random.default_rng(rows).standard_normal((2, rows, 40), dtype=np.float32)
    assert np.allclose(multiply(left, right.T), left @ right.T, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 512, 768), (1, 1280, 512), (13, 1280, 256), (384, 512, 768), (3, 60_000, 20)])
def test_wide_matrices_are_multiplied_in_blocks_too(shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    left, right = random(rows, inner), random(inner, columns)
    for product in (multiply(left, right), left @ SplitWeights(right)):
        assert product.dtype == np.float32
        assert np.allclose(product, left @ right, rtol=1e-4, atol=1e-5 * inner)


@pytest.mark.parametrize("rows", [0, 1, 92, 301])
def test_every_row_meets_itself_and_those_before_it(rows: int) -> None:
    left = random(rows, 300)
    whole = np.tril(left @ left.T)
    assert np.allclose(np.tril(multiply_with_earlier(left)), whole, atol=1e-4)


@pytest.mark.parametrize("rows", [0, 1, 2_000])
def test_rows_meet_a_vector(rows: int) -> None:
    left, vector = random(rows, 896), random(896)
    assert np.allclose(project(left, vector), left @ vector, atol=1e-3)


def test_the_weights_of_a_model_are_split_and_nothing_else() -> None:
    weights, bias, table = random(30, 40), random(40), np.ones((3, 4), np.uint8)
    model = SimpleNamespace(weights=weights, layers=[weights, weights], bias=bias, biases=[bias], table=table, eps=0.1)
    split_weights(model)
    assert np.allclose(random(5, 30) @ model.weights, random(5, 30) @ weights, atol=1e-4)
    assert [type(layer) for layer in model.layers] == [SplitWeights, SplitWeights]
    assert (model.bias is bias, model.biases[0] is bias, model.table is table) == (True, True, True)


# Measures in a process of its own, whose BLAS has two threads and whose thread spent no time on anything else.
MEASURE = """
import json, sys, time
sys.modules["threadpoolctl"] = None  # a limit of it would hold for the host program, and it may not be installed
import numpy as np
from memwarden.models.choice import make_local
from memwarden.models.products import multiply, multiply_with_earlier, project

def others(call):
    call()
    time.sleep(0.1)  # until the threads of a BLAS that were woken sleep again
    whole, own = time.process_time(), time.thread_time()
    while time.thread_time() - own < 0.3:
        call()
    own = time.thread_time() - own
    return (time.process_time() - whole - own) / own

rng = np.random.default_rng(1)
rows, right, vector = (rng.standard_normal(shape, dtype=np.float32) for shape in ((900, 896), (896, 512), 896))
model = make_local("multilingual")
shares = {
    "numpy itself": others(lambda: rows @ right),
    "multiply": others(lambda: multiply(rows, right)),
    "multiply_with_earlier": others(lambda: multiply_with_earlier(rows)),
    "project": others(lambda: project(rows, vector)),
    "a question": others(lambda: model.embed(["When did Anna buy the red bicycle in Leipzig?"])),
    "turns": others(lambda: model.embed(["I told Ben that the red bicycle cost 80 euros in Leipzig."] * 32)),
}
model.unload()
shares["a question after unloading"] = others(lambda: model.embed(["When did Anna buy the red bicycle?"]))
print(json.dumps(shares))
"""


def test_no_other_thread_works_at_a_product() -> None:
    """Processor time of other threads, as a share of the calling thread's: machine load does not change it."""
    environment = {"PATH": "", "OPENBLAS_NUM_THREADS": "2"}
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE], env=environment, capture_output=True, text=True, check=True, timeout=240
    )
    shares = json.loads(measured.stdout)
    if shares.pop("numpy itself") < 0.2:
        pytest.skip("the BLAS of this numpy has a single thread")
    assert not {name: share for name, share in shares.items() if share > 0.05}
