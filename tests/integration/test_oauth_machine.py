"""Random histories of tokens against a model: a secret works until it is redeemed, late, or its connection ended."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from memwarden import AsyncWarden, clock
from memwarden.surfaces.oauth.clients import Client
from memwarden.surfaces.oauth.tokens import TokenStore, new_connection

CONFIG = {"embedder": "none"}
CLIENT = Client("client", "Assistant", (), ("read", "write"), ())
CODE, ACCESS, REFRESH = timedelta(seconds=60), timedelta(hours=1), timedelta(days=30)
WAITS = (timedelta(seconds=20), timedelta(minutes=10), timedelta(hours=2), timedelta(days=20))


@dataclass
class Model:
    """What is true of each secret: its connection, when it ends, and whether it was redeemed."""

    now: datetime
    ends: dict[str, datetime] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)
    connections: dict[str, datetime] = field(default_factory=dict)
    spent: dict[str, datetime] = field(default_factory=dict)

    def add(self, secret: str, connection: str, lifetime: timedelta) -> None:
        self.of[secret], self.ends[secret] = connection, self.now + lifetime

    def is_connected(self, secret: str) -> bool:
        return self.now < self.connections.get(self.of[secret], self.now)

    def works(self, secret: str) -> bool:
        return secret not in self.spent and self.now < self.ends[secret] and self.is_connected(secret)

    def redeem(self, secret: str) -> bool:
        """Whether a secret is redeemed. One that was before ends its connection."""
        if secret in self.spent:
            if self.now < self.spent[secret]:
                self.connections.pop(self.of[secret], None)
            return False
        if not self.works(secret):
            return False
        self.spent[secret] = self.now + REFRESH
        return True


async def play(tokens: TokenStore, steps: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Take random steps and compare each answer with the model's. Return how often each kind of answer came."""
    choose, model = random.Random(seed), Model(clock.now())
    monkeypatch.setattr(clock, "now", lambda: model.now)
    codes: list[str] = []
    access: list[str] = []
    refresh: list[str] = []
    counts: dict[str, int] = {}
    for _ in range(steps):
        step = choose.choice(("issue", "redeem", "redeem", "rotate", "rotate", "rotate", "look", "look", "end", "wait"))
        answer: object = None
        if step == "issue":
            connection = new_connection("key", CLIENT, ("read", "write"), "r")
            model.connections[connection.id] = model.now + REFRESH
            codes.append(await tokens.issue_code(connection, "challenge", "https://a.example/cb"))
            model.add(codes[-1], connection.id, CODE)
        elif step == "wait":
            model.now += choose.choice(WAITS) * choose.random()
        elif step == "look" and access:
            token = choose.choice(access[-6:])
            answer = await tokens.find_access(token) is not None
            assert answer == model.works(token)
        elif step == "end" and refresh and choose.random() < 0.3:
            ended = model.of[choose.choice(refresh[-6:])]
            model.connections.pop(ended, None)
            await tokens.end(ended)
        elif (known := codes if step == "redeem" else refresh) and step in ("redeem", "rotate"):
            secret = choose.choice(known[-4:])
            pair = None
            if step == "redeem":
                if (pending := await tokens.read_code(secret)) is not None:
                    pair = await tokens.redeem_code(secret, pending)
            elif (found := await tokens.read_refresh(secret)) is not None:
                pair = await tokens.rotate(secret, found, ("read",))
            answer = pair is not None
            assert answer == model.redeem(secret), step
            if pair is not None:
                if step == "rotate":
                    model.connections[model.of[secret]] = model.now + REFRESH
                access.append(pair.access)
                refresh.append(pair.refresh)
                model.add(pair.access, model.of[secret], ACCESS)
                model.add(pair.refresh, model.of[secret], REFRESH)
        counts[f"{step} {answer}"] = counts.get(f"{step} {answer}", 0) + 1
    return counts


async def test_random_histories_follow_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        counts = await play(TokenStore(warden.store), 3_000, 1, monkeypatch)
    assert min(counts[f"{step} {answer}"] for step in ("redeem", "rotate", "look") for answer in (True, False)) > 40


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
async def test_long_histories_follow_the_model(items_url: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncWarden.open(items_url, config=CONFIG) as warden:
        await play(TokenStore(warden.store), 3_000, seed, monkeypatch)
