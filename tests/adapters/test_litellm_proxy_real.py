"""Our callback in a running LiteLLM proxy. Run by ``make adapters``."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litellm_proxy_extras")

from memwarden import Warden
from server_process import free_port
from upstream import Upstream

CONFIG = {"embedder": "none"}
FACT, OTHER, QUESTION = "I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"
SECONDS = 120.0
# Each key is its owner's name, with "sk-" before it.
MODULE = """
import os
from litellm.proxy._types import UserAPIKeyAuth
from memwarden import MemwardenCallback, Warden

callback = MemwardenCallback(Warden.open(os.environ["STORE"], config={"embedder": "none"}), user_from="key")


async def check_key(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, user_id=api_key.removeprefix("sk-"))
"""
SETTINGS = """
model_list:
  - model_name: small
    litellm_params: {{model: openai/gpt-5-mini, api_base: "{upstream}/v1", api_key: none}}
litellm_settings: {{callbacks: memory.callback, num_retries: 0, telemetry: false}}
general_settings: {{custom_auth: memory.check_key}}
"""


@pytest.fixture
def proxy(tmp_path: Path, upstream: Upstream) -> Iterator[str]:
    """The URL of a proxy whose callback remembers in a store of this folder."""
    (tmp_path / "memory.py").write_text(MODULE, "utf-8")
    (tmp_path / "config.yaml").write_text(SETTINGS.format(upstream=upstream.url), "utf-8")
    port = free_port()
    environment = os.environ | {
        "STORE": f"sqlite:///{tmp_path / 'm.db'}", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_DOCS": "True",
        "LITELLM_MASTER_KEY": f"sk-{secrets.token_hex(32)}",
    }  # fmt: skip
    command = [str(Path(sys.executable).with_name("litellm")), "--config", "config.yaml", "--port", str(port)]
    with (tmp_path / "proxy.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1"], cwd=tmp_path, env=environment, stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    ends_at = time.monotonic() + SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{url}/health/liveliness", timeout=10).close()
            break
        except OSError:
            assert process.poll() is None, (tmp_path / "proxy.log").read_text("utf-8")
            assert time.monotonic() < ends_at
            time.sleep(0.2)
    yield url
    process.terminate()
    process.wait(SECONDS)


def call(url: str, owner: str, text: str, **given: Any) -> str:
    body = {"model": "small", "messages": [{"role": "user", "content": text}], **given}
    headers = {"Authorization": f"Bearer sk-{owner}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return str(answer.read().decode())


def turns_of(path: Path, user: str, number: int) -> list[tuple[str | None, str, str | None]]:
    """The turns of a user, once there are as many as expected."""
    ends_at = time.monotonic() + 20
    while True:
        with Warden.open(f"sqlite:///{path / 'm.db'}", config=CONFIG) as warden:
            found = warden.scope(user=user).find({"channel": "turn"}, order_by="written", descending=False)
        if len(found) >= number or time.monotonic() > ends_at:
            return [(turn.role, turn.text, turn.thread_id) for turn in found]
        time.sleep(0.1)


def test_the_owner_of_a_key_is_remembered_and_no_other_user(proxy: str, tmp_path: Path, upstream: Upstream) -> None:
    upstream.says("Noted.", letters=3)
    for number, (day, text) in enumerate((("monday", FACT), ("tuesday", OTHER), ("friday", QUESTION))):
        assert "Noted." in call(proxy, "ana", text, litellm_session_id=day)
        assert turns_of(tmp_path, "ana", 2 * number + 2)[-2:] == [("user", text, day), ("assistant", "Noted.", day)]
        # The field "user" and the metadata are the caller's own words, so they open nothing.
        given = {"user": "ana", "metadata": {"user_api_key_user_id": "ana"}, "stream": day == "friday"}
        call(proxy, "bob", QUESTION, litellm_session_id=day, **given)
        said = [(role, text) for role, text, _ in turns_of(tmp_path, "bob", 2 * number + 2)]
        assert said[-2:] == [("user", QUESTION), ("assistant", "Noted.")]
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert len(prompts) == 6
    assert FACT in prompts[4]
    assert not [prompt for prompt in prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]
    upstream.reset()
    upstream.fails(500)
    with pytest.raises(urllib.error.HTTPError):
        call(proxy, "eve", FACT, litellm_session_id="monday")
    assert turns_of(tmp_path, "eve", 1) == [("user", FACT, "monday")]
