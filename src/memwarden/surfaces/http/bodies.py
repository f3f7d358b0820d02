"""The bodies of requests, as pydantic models: whatever has another shape is refused before a verb sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from memwarden.remember.ingest.messages import read_role
from memwarden.settings import DEFAULT_BLOCK_TOKENS
from memwarden.text.language import repair_json

Name = Annotated[str, Field(min_length=1, max_length=256, description="A printable line.")]
Moment = Annotated[str, Field(description="A time as ISO 8601 text, such as 2025-03-01T12:00:00Z.", max_length=64)]
Instant = Annotated[str | float, Field(description="A time as ISO 8601 text, or seconds since 1970.")]
Names = Annotated[list[Name], Field(max_length=1_000)]
Metadata = Annotated[dict[str, Any], Field(description="A JSON object of yours, 64 KB at most.")]
Filters = Annotated[dict[str, Any], Field(description="Conditions that must all hold; see the page on filters.")]


class RequestBody(BaseModel):
    """Base of bodies: unknown fields are refused, and texts are never read as numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _repair(cls, given: Any) -> Any:
        """Put the replacement character in place of half a surrogate pair, which JSON may hold and no text."""
        return repair_json(given)

    def given(self, *without: str) -> dict[str, Any]:
        """Return what the request says, as arguments of a verb."""
        return self.model_dump(exclude_unset=True, exclude=set(without))


class IdentifiedBody(RequestBody):
    """Base of bodies that say who calls. Each may equal or narrow what the key grants."""

    user_id: Name | None = Field(None, description="Whose memory. None: the key's user, else default.")
    agent: Name | None = Field(None, description="The agent that asks; its allowlist decides.")
    thread_id: Name | None = Field(None, description="The conversation.")
    run_id: Name | None = None
    actor_id: Name | None = None
    project_id: Name | None = Field(None, description="A query and a block search its memory, too.")
    task_id: Name | None = Field(None, description="A query and a block search its memory, too.")
    role: Literal["user", "assistant"] | None = Field(None, description="Whose words those are that have no role.")

    def verb_arguments(self) -> dict[str, Any]:
        """Return what the request says beside who calls."""
        return self.given(*IdentifiedBody.model_fields)


class MessageBody(BaseModel):
    """A message. Other fields are taken along, as messages of model providers have them."""

    model_config = ConfigDict(extra="allow", strict=True)

    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: Any
    name: str | None = None
    id: str | None = Field(None, description="Comes back as the turn's source id; makes the message idempotent.")
    created_at: str | float | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_role(cls, given: Any) -> Any:
        """Name the role as memwarden does: other libraries write ``human``, ``ai`` and ``User``."""
        return {**given, "role": read_role(given)} if isinstance(given, dict) else given


MAX_TEMPLATE = 2_000
# What a call brings is worked on before others are answered: it may take about a second.
MAX_MESSAGES = 10_000
MAX_TEXTS = 100


def name_shape(messages: Any) -> str:
    """Return which way of giving messages somebody chose, so that a mistake is told of that way alone."""
    return "text" if isinstance(messages, str) else "list" if isinstance(messages, list) else "message"


Messages = Annotated[
    Annotated[str, Field(min_length=1), Tag("text")]
    | Annotated[list[MessageBody], Field(min_length=1, max_length=MAX_MESSAGES), Tag("list")]
    | Annotated[MessageBody, Tag("message")],
    Discriminator(name_shape),
]


def plain_messages(messages: str | MessageBody | Sequence[str | MessageBody]) -> Any:
    """Return messages as the verbs take them."""
    if isinstance(messages, Sequence) and not isinstance(messages, str):
        return [plain_messages(item) for item in messages]
    return messages.model_dump(exclude_unset=True) if isinstance(messages, MessageBody) else messages


class ObserveBody(IdentifiedBody):
    """What was said, oldest first."""

    messages: Messages
    key: Name | None = Field(None, description="Idempotency key; the header Idempotency-Key says the same.")
    extract: bool = Field(True, description="False: only store; whoever runs the turn says when to look through it.")
    from_start: bool = Field(
        False, description="The messages are a conversation from its start; counts with extract false alone."
    )


class QueryBody(IdentifiedBody):
    """A question, or several."""

    query: Annotated[str, Field(min_length=1)] | None = None
    queries: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=10)] | None = None
    categories: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="The categories to search. None: all that the agent may read."
    )
    filters: Filters | None = None
    top_k: int = Field(3, ge=1, le=1_000)
    threshold: float | None = Field(None, ge=0, le=1)
    budget_tokens: int | None = Field(512, ge=1, le=1_000_000)
    returns: Literal["bullets", "full"] = Field("bullets", alias="return")
    explain: bool = False
    as_of: int | Instant | None = Field(None, description="Answer from the past: a revision, or a time.")
    since_rev: int | None = Field(None, ge=0)


class TemplateBody(RequestBody):
    """The words of a block: before the memories, after them, and of each of them."""

    prefix: str = Field(max_length=MAX_TEMPLATE)
    suffix: str = Field(max_length=MAX_TEMPLATE)
    format: str = Field(max_length=MAX_TEMPLATE)
    numbered: bool
    by_day: bool = False


class BlockBody(IdentifiedBody):
    """A conversation whose last message is to be answered."""

    messages: Messages
    budget_tokens: int = Field(DEFAULT_BLOCK_TOKENS, ge=1, le=1_000_000)
    threshold: float | None = Field(None, ge=0, le=1)
    participants: Annotated[list[Name], Field(min_length=1)] | None = None
    filters: Filters | None = None
    explain: bool = False
    max_memories: int = Field(100, ge=1, le=100)
    overview_tokens: int = Field(0, ge=0, le=1_000_000)
    template: Literal["lean", "classic"] | TemplateBody = "lean"


class DueBody(RequestBody):
    """When a conversation is looked through: at each turn, or after so many turns."""

    mode: Literal["every_turn", "periodic"]
    turns: int = Field(ge=1, le=10_000)


class LayoutBody(IdentifiedBody):
    """The talk of a prompt that is laid out for a provider's prefix cache."""

    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=MAX_MESSAGES)]
    settings: dict[str, Any] = Field({}, description="Settings of a chat, by name.")
    renew: bool = Field(False, description="Make the layout anew.")


class VerdictBody(RequestBody):
    """Of what use a memory was in a prompt. share: what an answer repeats of it; None for a person's word."""

    memory_id: Name
    verdict: Literal["used", "unused", "wrong", "withdrawn"]
    share: float | None = Field(None, ge=0, le=1)


class UsesBody(IdentifiedBody):
    """Verdicts on memories of a prompt. rev: of the block that they stood in."""

    rev: int = Field(ge=0, le=2**53)
    uses: Annotated[list[VerdictBody], Field(min_length=1, max_length=1_000)]


class ForgetBody(RequestBody):
    """Memories that are forgotten together, or none of them."""

    memory_ids: Annotated[list[Name], Field(min_length=1, max_length=1_000)]


class TurnBody(RequestBody):
    """The id of a turn that a person said."""

    turn_id: Name


class CopyBody(RequestBody):
    """The conversation whose checkpoints are copied."""

    copy_of: Name


class MemoryBody(IdentifiedBody):
    """Something worth knowing, as stated."""

    text: Annotated[str, Field(min_length=1)] | MessageBody | None = None
    texts: Annotated[list[Annotated[str, Field(min_length=1)] | MessageBody], Field(max_length=MAX_TEXTS)] | None = (
        Field(None, description="Several in place of text; each becomes a memory. None with document_id: it is gone.")
    )
    channel: Literal["semantic", "episodic", "insight", "procedural", "state"] = "semantic"
    kind: Name | None = None
    category: Name | None = None
    importance: float = Field(0.5, ge=0, le=1)
    tags: Names = []
    pinned: bool = False
    source: Name | None = None
    sources: Names = []
    summary: str | None = None
    context: str | None = None
    characters: Names = []
    created_at: Instant | None = None
    valid_from: Instant | None = None
    expires_at: Instant | None = None
    metadata: Metadata | None = None
    trust: Literal["person", "assistant", "external"] | None = None
    key: Name | None = Field(None, description="Idempotency key; the header Idempotency-Key says the same.")
    document_id: Name | None = Field(None, description="The document that states this; what it stated before ends.")


class ResponseBody(IdentifiedBody):
    """A model's answer that lists memories worth keeping, as JSON."""

    response: Annotated[str, Field(min_length=1)]
    category: Name | None = None
    source: Name | None = None


class MemoryPatch(RequestBody):
    """A correction: what is given is changed, the rest stays. A turn ends, and its new text is a new memory."""

    text: Annotated[str, Field(min_length=1)] | None = None
    quote: (
        Annotated[str, Field(min_length=1, description="Words of the memory that text takes the place of.")] | None
    ) = None
    kind: Name | None = None
    category: Name | None = None
    importance: float | None = Field(None, ge=0, le=1)
    tags: Names | None = None
    pinned: bool | None = None
    summary: str | None = None
    context: str | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    metadata: Metadata | None = None
    clear: list[Literal["valid_from", "valid_to", "summary", "context", "metadata"]] = []


class PromotionBody(RequestBody):
    """Where a memory is copied to."""

    to: Annotated[str, Field(pattern=r"^project/.+$", max_length=256)]


class ContextPatch(RequestBody):
    """Proposed changes of a user context; null empties a field. What is sensitive waits for the person's word."""

    preferred_name: str | None = None
    pronouns: str | None = None
    city: str | None = None
    language: str | None = None
    tone: str | None = None
    goals_add: str | list[str] | None = None
    goals_remove: str | list[str] | None = None
    sources: Names = Field([], description="Ids of turns, or of memories that rest on turns, that speak for it.")
    confident: bool = False


class ConsentDecision(RequestBody):
    """A person's decision on a proposal. way: how the person decided."""

    approve: bool
    way: Literal["api", "cli", "ui", "chat"] = "api"


class ReviewDecision(RequestBody):
    """A decision on what is pending. vouch: a person has read the text and answers for its words."""

    approve: bool
    vouch: bool = False


class StateBody(RequestBody):
    """A value to save under a key."""

    value: Any
    description: Annotated[str, Field(max_length=1_000)] | None = None
    expires_in: float | None = Field(None, gt=0, le=1e9, description="Seconds.")
    trust: Literal["person", "assistant", "external"] = "person"
    tool: Name | None = Field(None, description="The tool whose result it is: external, and never over a person's.")


class GoalBody(RequestBody):
    """A goal, to find saved keys for. bar: least chance of a key. null: only relevant keys. 0: all keys, best first."""

    goal: Annotated[str, Field(min_length=1)]
    most: int = Field(5, ge=1, le=1_000)
    bar: float | None = Field(None, ge=0, le=1)
    described: bool = False


class KeysBody(RequestBody):
    """Saved keys whose values are shown to a model. marked: what a tool saved stands under a name that says so."""

    keys: Annotated[list[Name], Field(max_length=1_000)]
    marked: bool = False


class SessionBody(RequestBody):
    """The id of a session to make."""

    session_id: Name


class UserMessageBody(RequestBody):
    """What the user said."""

    user_message: Annotated[str, Field(min_length=1)]
    window_tokens: int | None = Field(None, ge=1, le=10_000_000, description="The most that the messages take.")


class ScreenBody(RequestBody):
    """A screen, and what the tools of the application answered for it: messages, and a sentence about it."""

    screen: dict[str, Any]
    messages: Annotated[list[dict[str, Any]], Field(max_length=1_000)]
    sentence: str


class ExchangeBody(RequestBody):
    """A question and its answer, to end a cycle with."""

    user_question: Annotated[str, Field(min_length=1)]
    final_answer: str
    key: Name | None = None


class ToolCallBody(RequestBody):
    """A call of a tool, whose result may be cached."""

    session_id: Name
    tool_name: Name
    parameters: dict[str, Any]


class ToolResultBody(ToolCallBody):
    """A tool's result, to be kept for so many exchanges."""

    result: str
    llm_cache_duration: int = Field(ge=-1_000_000, le=1_000_000)


class ReasoningBody(RequestBody):
    """A thought of a stage of a task."""

    kind: Literal["reasoning"]
    text: Annotated[str, Field(min_length=1)]
    stage_id: Name


class ToolOutputBody(RequestBody):
    """What a tool of a task answered."""

    kind: Literal["tool_output"]
    tool_id: Name
    output: Any


class DecisionBody(RequestBody):
    """A decision of a project."""

    kind: Literal["decision"]
    decision: Annotated[str, Field(min_length=1)]
    tags: Names = []


class ConventionBody(RequestBody):
    """A convention of a project. scope: where it holds."""

    kind: Literal["convention"]
    convention: Annotated[str, Field(min_length=1)]
    scope: Name


class FailureBody(RequestBody):
    """A failure of a project and its lesson. whole: all of it, in place of message and details."""

    kind: Literal["failure"]
    code: Name
    message: str = ""
    details: dict[str, Any] = {}
    whole: dict[str, Any] | None = None
    lesson: Annotated[str, Field(min_length=1)]


class PreferenceBody(RequestBody):
    """A preference. confirm: you have the person's word, which global memory takes."""

    kind: Literal["preference"]
    preference: Annotated[str, Field(min_length=1)]
    category: Name
    confirm: bool = False


class PatternBody(RequestBody):
    """A pattern of a domain."""

    kind: Literal["pattern"]
    pattern: Annotated[str, Field(min_length=1)]
    domain: Name


TierItemBody = Annotated[
    ReasoningBody | ToolOutputBody | DecisionBody | ConventionBody | FailureBody | PreferenceBody | PatternBody,
    Field(discriminator="kind"),
]


class TierPromotion(RequestBody):
    """Where an item of a task goes; an item of a project goes to all projects.

    confirm: you have the person's word, which a preference takes. max_items: of the project; with more some go.
    """

    project_id: Name | None = None
    max_items: int | None = Field(None, ge=1, le=10_000_000)
    confirm: bool = False


class PinBody(RequestBody):
    """Whether an item is kept from eviction."""

    pinned: bool = True


class WordsBody(RequestBody):
    """The new words of a preference. confirm: you have the person's word."""

    preference: Annotated[str, Field(min_length=1)]
    confirm: bool = False


class TaskStateBody(RequestBody):
    """The state that a task enters. will_retry: a failed task is tried again, and keeps its memory."""

    state: Literal["pending", "running", "waiting", "completed", "failed", "cancelled"]
    will_retry: bool = False


class RoomBody(RequestBody):
    """How many items a project holds at most. new: an item that goes only where nothing else may."""

    max_items: int = Field(1_000, ge=1, le=10_000_000)
    new: Name | None = None


class CategoryBody(RequestBody):
    """A category, as the categories file says it, with its policy of expiry."""

    name: Name
    context: Literal["all", "rag"] = "rag"
    rag_length: int | None = Field(None, ge=1, le=1_000)
    expire_days: Annotated[int, Field(ge=1, le=36_500)] | Literal["never"] | None = None
    expire_below: float | None = Field(None, ge=0, le=1)
    half_life_days: float | None = Field(None, ge=1, le=36_500)


class CategoriesBody(RequestBody):
    """All categories and allowlists; they take the place of those in force."""

    categories: Annotated[list[CategoryBody], Field(max_length=1_000)]
    allowlists: dict[Name, Names]


class AllowlistBody(RequestBody):
    """The categories that an agent may read and write."""

    categories: Names


class TierUseBody(RequestBody):
    """How many tokens of a tier stood in a context, and how many were of use; null takes that back."""

    tier: Literal["task", "user", "project", "global"]
    tokens: int = Field(ge=1, le=1_000_000)
    used: int | None = Field(ge=0, le=1_000_000)


class ContextUsesBody(RequestBody):
    """What was of use of a context. build_id: as the context has it."""

    project_id: Name = "default"
    build_id: Name
    uses: Annotated[list[TierUseBody], Field(min_length=1, max_length=4)]


class AssembleBody(RequestBody):
    """What a context is assembled for."""

    task_id: Name
    project_id: Name = "default"
    budget_tokens: int = Field(ge=1, le=1_000_000)
    query: Annotated[str, Field(min_length=1)] | None = None
    user: Name | None = Field(None, description="What is known of this user takes part.")
    shares: dict[Literal["task", "user", "project", "global"], float] | None = None
    learned_shares: bool = Field(False, description="Without shares, share by what was of use before.")
    agent: Name | None = None
    threshold: float | None = Field(None, ge=0, le=1)
    head_tail_preserve: int | None = Field(None, ge=0, le=1_000)
    explain: bool = False


Line = Annotated[str, Field(max_length=2_000)]
RowCounts = Annotated[dict[Name, Annotated[int, Field(ge=0)]], Field(max_length=100)]


class ReceiptBody(RequestBody):
    """The receipt of an erasure, as it was answered or written into a file."""

    format: Literal[1] = 1
    tenant: Name
    path: Annotated[str, Field(pattern=r"^user/.+", max_length=300)]
    store: Line
    engine: Line
    started_at: Moment
    finished_at: Moment | None = None
    kinds: RowCounts
    counts: RowCounts
    sample: Annotated[list[Name], Field(max_length=100)] = []
    left_to_do: Annotated[list[Line], Field(max_length=100)] = []
    digest: Line
    thread: Name | None = None
    memory: Name | None = None


class BegunErasureBody(RequestBody):
    """An erasure that was broken off. begun: its receipt, which is not finished."""

    begun: ReceiptBody
    confirm: Name = Field(description="The user's id: without it nothing is erased.")
