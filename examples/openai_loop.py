"""A chat in the terminal that remembers: the plain loop around OpenAI's SDK, with memory woven in.

Tell it something, leave, and start it again: it knows. Each line is a message; the end of the input ends the chat.

    pip install '.[openai]'
    OPENAI_API_KEY=... python examples/openai_loop.py chat.db

OPENAI_BASE_URL names another server that speaks OpenAI's protocol, MODEL another model.
"""

from __future__ import annotations

import os
import sys
from typing import Any
from uuid import uuid4

from openai import OpenAI, OpenAIError

from memwarden import BoundScope, Warden

MODEL = os.environ.get("MODEL", "gpt-5-mini")
SYSTEM = {"role": "system", "content": "You help in the kitchen. Answer in one sentence."}


def answer(me: BoundScope, client: OpenAI, talk: list[Any]) -> None:
    """Ask the model, with what is known of the user in the prompt; show the answer while it comes."""
    turn = me.turn(talk)
    try:
        with turn, client.chat.completions.create(model=MODEL, messages=turn.messages, stream=True) as events:
            for piece in turn.words(events):
                print(piece, end="", flush=True)
    except OpenAIError as error:
        print(f"\n(no answer: {error})", end="")
    print()
    if turn.answer:  # one that broke off, too: so much is stored
        talk.append({"role": "assistant", "content": turn.answer})


def main(file: str) -> None:
    """Talk until the input ends."""
    with Warden.open(f"sqlite:///{file}") as warden, OpenAI() as client:
        me = warden.scope(user="ana", thread=str(uuid4()))
        talk: list[Any] = [SYSTEM]
        for line in filter(None, map(str.strip, sys.stdin)):
            talk.append({"role": "user", "content": line})
            answer(me, client, talk)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not os.environ.get("OPENAI_API_KEY"):
        sys.exit("usage: OPENAI_API_KEY=... python examples/openai_loop.py FILE")
    try:
        main(sys.argv[1])
    except KeyboardInterrupt:  # Ctrl-C; what was shown of an answer is stored
        sys.exit(130)
