"""Memories as LangChain documents: :class:`MemwardenRetriever`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from memwarden.api.scope import AsyncScope
from memwarden.recall.answer.frame import fit_to_show, frame_memory
from memwarden.records import QueryResult, RecallItem
from memwarden.surfaces.integrations.binding import StoreBinding


class MemwardenRetriever(BaseRetriever):
    """Finds the memories that answer a question, best first; none when none is relevant.

    >>> retriever = MemwardenRetriever(warden=warden.scope(user="ana"), k=5)
    >>> retriever.invoke("What can't I eat?")

    A document's text is the whole text of the memory; of a text from outside without the sentences that read like
    orders to an assistant. Its ``id`` is the memory's; its metadata hold ``id``, ``score`` (calibrated, 0..1),
    ``category``, ``channel``, ``kind``, ``sources`` (ids of the turns that it rests on), ``trust`` and ``created_at``
    (ISO 8601).

    Args:
        warden: a scope of a :class:`memwarden.Warden` or :class:`memwarden.AsyncWarden`; or either of these,
            which stands for its default user. With both ``invoke`` and ``ainvoke`` work; over an async warden
            ``invoke`` is for other threads than its event loop's.
        k: the most documents, 1..1000.
        categories, filters, threshold: as for :meth:`memwarden.api.scope.AsyncScope.query`.

    ``k``, ``categories``, ``filters``, ``threshold`` and ``as_of`` may also be given to a single call:
    ``retriever.invoke(question, k=1)``. Raises what ``query`` raises.
    """

    warden: Any = Field(exclude=True, repr=False)
    k: int = 3
    categories: Sequence[str] | None = None
    filters: Mapping[str, Any] | None = None
    threshold: float | None = None

    _bound: StoreBinding = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Bind the retriever to its warden."""
        self._bound = StoreBinding(self.warden)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return _documents(self._bound.run(self._query(query, **given)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return _documents(await self._bound.wait(self._query(query, **given)))

    async def _query(self, query: str, *, k: int | None = None, **given: Any) -> QueryResult:
        asked = {"categories": self.categories, "filters": self.filters, "threshold": self.threshold, **given}
        # Made for each call, as it holds nothing: a warden that was given stands for its default user.
        scope = AsyncScope(self._bound.runtime, self._bound.who)
        return await scope.query(query, top_k=self.k if k is None else k, budget_tokens=None, returns="full", **asked)


def _documents(found: QueryResult) -> list[Document]:
    return [_document(item) for item in found.items]


def _document(item: RecallItem) -> Document:
    metadata = {
        "id": item.id,
        "score": item.score,
        "category": item.category,
        "channel": str(item.channel),
        "kind": str(item.kind),
        "sources": list(item.sources),
        "trust": str(item.memory.trust),
        "created_at": item.created_at.isoformat(),
    }
    return Document(
        page_content=frame_memory(item.memory, fit_to_show(item.memory, item.memory.text)),
        id=item.id,
        metadata=metadata,
    )
