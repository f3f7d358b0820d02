"""A chat in the terminal that remembers: the plain loop around OpenAI's SDK, with memory woven in.

Tell it something, leave, and start it again: it knows. Each line is a message; the end of the input ends the chat.

    pip install 'memwarden[openai]'
    OPENAI_API_KEY=... python examples/openai_loop.py chat.db

OPENAI_BASE_URL names another server that speaks OpenAI's protocol, MODEL another model.
"""

from __future__ import annotations

import os
import sys
from typing import Any
from uuid import uuid4

from openai import OpenAI, OpenAIError

from memwarden import Warden
from memwarden.sync import BoundScope

MODEL = os.environ.get("MODEL", "gpt-5-mini")
SYSTEM = {"role": "system", "content": "You help in the kitchen. Answer in one sentence."}


def answer(me: BoundScope, client: OpenAI, talk: list[Any]) -> str:
    """Ask the model, with what is known of the user in the prompt; show the answer while it comes."""
    words = ""
    with (
        me.turn(talk) as turn,
        client.chat.completions.create(model=MODEL, messages=turn.messages, stream=True) as events,
    ):
        for event in turn.stream(events):
            piece = (event.choices[0].delta.content or "") if event.choices else ""
            words += piece
            print(piece, end="", flush=True)
    print()
    return words


def main(file: str) -> None:
    """Talk until the input ends."""
    with Warden.open(f"sqlite:///{file}") as warden, OpenAI() as client:
        me = warden.scope(user="ana", thread=str(uuid4()))
        talk: list[Any] = [SYSTEM]
        for line in sys.stdin:
            talk.append({"role": "user", "content": line.strip()})
            try:
                talk.append({"role": "assistant", "content": answer(me, client, talk)})
            except OpenAIError as error:  # what was said until then is stored
                print(f"\n(no answer: {error})")


if __name__ == "__main__":
    main(sys.argv[1])
