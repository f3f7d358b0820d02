"""Statements of a document by ``remember(document_id=)``: an edit changes what changed, and ends what rested on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memwarden import AsyncWarden
from memwarden.errors import InvalidInput

CONFIG = {"embedder": "none", "extraction": "off"}


async def test_a_document_that_is_edited_and_removed_ends_what_rested_on_it(url: str) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        me = warden.scope(user="ana")
        first = await me.remember(["The oven is a Bosch.", "The wine lies on the left."], document_id="house")
        oven, wine = (str(item.id) for item in first.results)
        rests = str((await me.remember("Ana owns German appliances.", channel="insight", sources=[oven])).results[0].id)
        both = str((await me.remember("Ana has a house.", channel="insight", sources=[oven, wine])).results[0].id)
        again = await me.remember(["The oven is a Bosch.", "The wine lies on the left."], document_id="house")
        assert [(item.id, item.reason) for item in again.results] == [
            (oven, "already stored"),
            (wine, "already stored"),
        ]

        edited = await me.remember(["The oven is gas.", "The wine lies on the left."], document_id="house")
        assert [(item.id, item.outcome) for item in edited.results[1:]] == [
            (wine, "created"), (oven, "updated"), (rests, "updated"),
        ]  # fmt: skip
        ended = {item.id for item in await me.find({"valid_to": {"$ne": None}})}
        assert ended == {oven, rests}
        assert (await me.get(both)).valid_to is None
        assert (await me.get(wine)).trust == "external"

        back = await me.remember(["The oven is a Bosch.", "The wine lies on the left."], document_id="house")
        assert [item.outcome for item in back.results] == ["restored", "created", "updated"]
        await me.remember([], document_id="house")
        assert {item.text for item in await me.find({"valid_to": {"$eq": None}})} == set()


async def test_a_documents_words_do_not_end_what_a_person_said_too(tmp_path: Path) -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        me = warden.scope(user="ana")
        own = str((await me.remember("Ana keeps bees in the garden.")).results[0].id)
        await me.remember("Ana keeps bees in the garden.", document_id="notes", trust="person")
        await me.remember([], document_id="notes")
        assert (await me.get(own)).valid_to is None
        assert [item.id for item in await me.find({"valid_to": {"$eq": None}})] == [own]


async def test_a_document_takes_no_key_and_an_empty_list_alone_is_nothing() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        me = warden.scope(user="ana")
        with pytest.raises(InvalidInput, match="leave out key"):
            await me.remember("The oven is gas.", document_id="house", key="k")
        with pytest.raises(InvalidInput, match="there is nothing to remember"):
            await me.remember([])
