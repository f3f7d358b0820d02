"""litellm's answers and streams go through a turn, blocking and awaited.

litellm asks for other versions than ours of what both use, so it is tried in an environment of its own, whose Python
the variable MEMWARDEN_LITELLM_PYTHON names: it has litellm and memwarden's packages.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

PYTHON = os.environ.get("MEMWARDEN_LITELLM_PYTHON", "")
SOURCE = Path(__file__).parents[2] / "src"
SCRIPT = """
import asyncio, json, litellm
from memwarden import AsyncWarden, ChatSettings, Warden

settings, config = ChatSettings(use_memory=True), {"embedder": "none"}


def asked(answer):
    said = [{"role": "user", "content": "When does the stall open?"}]
    return {"model": "gpt-4o", "messages": said, "mock_response": answer}


async def awaited():
    async with AsyncWarden.open("memory://", config) as warden:
        me = warden.scope(user="ana")
        async with me.turn(asked("At eight."), settings) as turn:
            async for _ in turn.stream(await litellm.acompletion(**turn.request, stream=True)):
                pass
        async with me.turn(asked("At nine."), settings) as turn:
            turn.record_response(await litellm.acompletion(**turn.request))
        return [item.text for item in await me.find({"role": "assistant"})]


with Warden.open("memory://", config) as warden:
    me = warden.scope(user="ana")
    with me.turn(asked("At eight."), settings) as turn:
        for _ in turn.stream(litellm.completion(**turn.request, stream=True)):
            pass
    with me.turn(asked("At nine."), settings) as turn:
        turn.record_response(litellm.completion(**turn.request))
    blocking = [item.text for item in me.find({"role": "assistant"})]
print(json.dumps([blocking, asyncio.run(awaited())]))
"""


@pytest.mark.skipif(not PYTHON, reason="MEMWARDEN_LITELLM_PYTHON names no Python with litellm")
def test_answers_and_streams_of_litellm_are_stored() -> None:
    variables = {**os.environ, "PYTHONPATH": str(SOURCE), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(
        [PYTHON, "-c", SCRIPT], env=variables, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    expected = ["At nine.", "At eight."]
    assert json.loads(done.stdout.splitlines()[-1]) == [expected, expected]
