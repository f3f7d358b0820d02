"""Embeddings and chat from any OpenAI-compatible endpoint (extra ``openai``), only if configured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from openai import APIStatusError, OpenAI, OpenAIError
from openai.types import CompletionUsage

from memwarden.errors import InvalidConfig, ModelUnavailable
from memwarden.models.dialect import Dialect
from memwarden.observability.instrument import record_here
from memwarden.observability.records import EventDraft, Op
from memwarden.security.secrets.redact import redact

TIMEOUT_SECONDS = 10.0
# Texts in one request.
BATCH = 128
# Bytes of UTF-8. OpenAI refuses a text of more than 8,192 tokens and a request of more than 300,000. A token has at
# least one byte, so both hold in every language. The beginning of a text is its topic.
MAX_TEXT_BYTES = 8_000
MAX_REQUEST_BYTES = 256_000
ANSWER_SECONDS = 120.0
# Seconds without calls after a failure; texts and questions go by their words meanwhile.
PAUSE_SECONDS = 30.0
# A model on somebody's own machine writes that many tokens in a second: a longer answer may take longer.
TOKENS_A_SECOND = 20
# Characters of what an endpoint says about its failure.
MAX_WORDS_OF_AN_ERROR = 300
# Status codes that refuse a text; they do not mean that the endpoint is down.
_ABOUT_THE_TEXT = (400, 413, 422)


class OpenAIEmbedder:
    """An embedder behind an endpoint. Every call has a time limit; a failed call raises ModelUnavailable.

    After a failure it raises ModelUnavailable at once for :data:`PAUSE_SECONDS`, so that an endpoint that is down does
    not make every call wait for its time limit.

    Args:
        model: the endpoint's name of the model. dimensions: the length of its vectors.
        url: base URL of the endpoint, None for OpenAI's own. key: API key, None for the environment's
            ``OPENAI_API_KEY``; endpoints without keys take any text.
    """

    ready = False
    english_only = False

    def __init__(self, model: str, dimensions: int, url: str | None = None, key: str | None = None) -> None:
        self.name = f"openai/{model}-{dimensions}"
        self.dimensions = dimensions
        self._model = model
        self._paused_until = float("-inf")
        self._client = _client(url, key, "embedding")

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """See :meth:`memwarden.models.protocols.Embedder.embed`. Raises ModelUnavailable."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        worded = [place for place, text in enumerate(texts) if text.strip()]
        for places in _requests_of(worded, texts):
            vectors[places] = self._ask([_beginning(texts[place]) for place in places])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors

    def _ask(self, texts: list[str]) -> npt.NDArray[np.float32]:
        if time.monotonic() < self._paused_until:
            raise ModelUnavailable(f"the embedding endpoint failed in the last {PAUSE_SECONDS:.0f} seconds")
        try:
            rows = self._answer(texts)
        except ModelUnavailable as error:
            cause = error.__cause__
            if not (isinstance(cause, APIStatusError) and cause.status_code in _ABOUT_THE_TEXT):
                self._paused_until = time.monotonic() + PAUSE_SECONDS
            raise
        self._paused_until = float("-inf")
        return rows

    def _answer(self, texts: list[str]) -> npt.NDArray[np.float32]:
        try:
            answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
            rows = np.array([value.embedding for value in sorted(answer.data, key=lambda item: item.index)], np.float32)
        except (OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise _unavailable("embedding", error) from error
        if rows.shape != (len(texts), self.dimensions) or not np.isfinite(rows).all():
            raise ModelUnavailable(
                f"the embedding endpoint answered with shape {rows.shape}, not ({len(texts)}, {self.dimensions}); set "
                "embedding_dimensions to the model's"
            )
        return rows


def _beginning(text: str) -> str:
    """Return the longest beginning of a text within :data:`MAX_TEXT_BYTES`."""
    return text[:MAX_TEXT_BYTES].encode(errors="replace")[:MAX_TEXT_BYTES].decode(errors="ignore")


def _requests_of(places: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    """Divide the places of texts among requests of bounded size."""
    request: list[int] = []
    size = 0
    for place in places:
        more = len(_beginning(texts[place]).encode())
        if request and (len(request) == BATCH or size + more > MAX_REQUEST_BYTES):
            yield request
            request, size = [], 0
        request.append(place)
        size += more
    if request:
        yield request


class OpenAIChat:
    """A chat model behind an endpoint (:class:`memwarden.models.protocols.ChatModel`).

    Every call has a time limit; a failed call raises ModelUnavailable. A parameter that the endpoint refuses is
    replaced or left out from then on (:mod:`memwarden.models.dialect`).

    Args:
        model: the endpoint's name of the model. url: base URL of the endpoint, None for OpenAI's own. key: API key,
            None for the environment's ``OPENAI_API_KEY``. seconds: so long an answer may take at least.
        fixed: whether temperature 0 is sent, so that the same question gets the same answer.
        reasoning_tokens: tokens added to each limit for hidden reasoning.
    """

    def __init__(
        self,
        model: str,
        url: str | None = None,
        key: str | None = None,
        seconds: float = TIMEOUT_SECONDS,
        *,
        fixed: bool = True,
        reasoning_tokens: int = 0,
    ) -> None:
        self.name = model
        self.seconds = seconds
        self._reasoning_tokens = reasoning_tokens
        self._dialect = Dialect(sampling=fixed)
        self._client = _client(url, key, "chat")

    def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
        """See :meth:`memwarden.models.protocols.ChatModel.complete`. Raises ModelUnavailable."""
        dialect: Dialect | None = self._dialect
        while dialect is not None:
            try:
                answer = self._ask(dialect, system, prompt, schema, max_tokens)
            except APIStatusError as error:
                refusal, parameter = error, str(getattr(error, "param", None) or "")
                dialect = dialect.after_refusal(error.status_code, parameter, _words_of(error))
            except (OpenAIError, ValueError, TypeError, AttributeError, IndexError) as error:
                raise _unavailable("chat", error) from error
            else:
                self._dialect = dialect
                return answer
        raise _unavailable("chat", refusal) from refusal

    def _ask(self, dialect: Dialect, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> str:
        system += dialect.describe_answer(schema)
        # A refused parameter comes back at once, so the client itself repeats only what may pass the next time.
        answer = self._client.chat.completions.create(
            model=self.name,
            messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt}],
            timeout=max(self.seconds, max_tokens / TOKENS_A_SECOND),
            **dialect.parameters(schema, max_tokens, self._reasoning_tokens),
        )
        _record_tokens(answer.usage)
        return _text_of(answer.choices[0].message.content)


def _text_of(content: Any) -> str:
    """Return the words of an answer. Mistral's reasoning models answer with parts, hidden reasoning and texts."""
    if isinstance(content, list):
        said = (part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text")
        return "".join(text for text in said if isinstance(text, str))
    return content or ""


def _unavailable(what: str, error: Exception) -> ModelUnavailable:
    """Return the failure of an endpoint, with its own words as a note: they may repeat what was sent, so that no log
    has them."""
    status = f" {error.status_code}" if isinstance(error, APIStatusError) else ""
    found = ModelUnavailable(f"the {what} endpoint failed ({type(error).__name__}{status})")
    if status and (words := _words_of(error)):
        found.add_note(f"the endpoint says: {words}")
    return found


def _words_of(error: Exception) -> str:
    """The endpoint's own words in a line, without its secrets."""
    body = getattr(error, "body", None)
    said = body.get("message", body) if isinstance(body, Mapping) else body or getattr(error, "message", "")
    return redact(" ".join(str(said).split())).text[:MAX_WORDS_OF_AN_ERROR]


def _record_tokens(usage: CompletionUsage | None) -> None:
    """Record what a call cost, where the endpoint tells it."""
    if usage is not None and usage.total_tokens:
        record_here(EventDraft(Op.MODEL, reason="tokens", many=usage.total_tokens))


def endpoint(url: str | None) -> OpenAI:
    """Return a client for conversations: an answer may take its time. url: see :class:`OpenAIChat`.

    Raises InvalidConfig when a key is needed and missing.
    """
    return _client(url, None, "chat").with_options(timeout=ANSWER_SECONDS)


def _client(url: str | None, key: str | None, what: str) -> OpenAI:
    try:
        # Self-hosted endpoints mostly need no key, but the client insists on having a key.
        key = key or os.environ.get("OPENAI_API_KEY") or ("none" if url else None)
        return OpenAI(api_key=key, base_url=url, timeout=TIMEOUT_SECONDS, max_retries=1)
    except OpenAIError as error:
        raise InvalidConfig(f"the {what} endpoint cannot be used: {error}") from error
