"""Settings and default thresholds: frozen, checked once, when they are read."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

from memwarden.categories import Categories, read_categories, shipped_categories
from memwarden.checks import ABOVE_ZERO, SECONDS, SHARE, TEXT, TEXTS, Rule, whole, word
from memwarden.errors import InvalidConfig

ENVIRONMENT_PREFIX = "MEMWARDEN_"
SETTINGS_FILE = "memwarden.toml"
EMBEDDERS = (
    "auto",
    "minilm+multilingual",
    "wordllama+multilingual",
    "wordllama",
    "minilm",
    "multilingual",
    "openai",
    "none",
)
EXTRACTION = ("every_turn", "periodic", "off")
MERGING = ("auto", "off")
SAMPLING = ("fixed", "free")
MODEL_SIZES = ("large", "small")
EVENTS = ("on", "off")
EXTERNAL = ("quote", "held", "off")
SECRETS = ("standard", "strict")
PRESETS = ("auto", "chat", "assistant")
# The signals of a score that can be left out (:mod:`memwarden.recall.rank.combine`).
FEATURES = (
    "words",
    "multilingual",
    "answering",
    "first",
    "pieces",
    "assistant",
    "asks",
    "reports",
    "unreported",
    "length",
    "around",
    "before",
    "after",
    "says_when",
    "speaker",
    "on_day",
    "of_others",
    "about_others",
)

# What each setting but ``categories`` and ``extraction_instructions`` takes.
RULES: Final[Mapping[str, Rule]] = {
    "db": TEXT,
    "embedder": word(EMBEDDERS),
    "embedding_model": TEXT,
    "embedding_url": TEXT,
    "embedding_dimensions": whole(0, 100_000),
    "max_text_bytes": whole(1),
    "index_bytes": whole(1),
    "search_above": whole(1),
    "session_gap_hours": ABOVE_ZERO,
    "preset": word(PRESETS),
    "relation_weight": SHARE,
    "leave_out": TEXTS,
    "merging": word(MERGING),
    "extraction": word(EXTRACTION),
    "extraction_turns": whole(1),
    "extraction_quiet_seconds": SECONDS,
    "facts_a_day": whole(1),
    "link_min": SHARE,
    "chat_model": TEXT,
    "chat_url": TEXT,
    "chat_model_size": word(MODEL_SIZES),
    "chat_seconds": SECONDS,
    "chat_sampling": word(SAMPLING),
    "chat_reasoning_tokens": whole(0, 1_000_000),
    "upstream": TEXT,
    "upstream_anthropic": TEXT,
    "upstream_seconds": SECONDS,
    "memory_seconds": SECONDS,
    "vector_seconds": SECONDS,
    "external": word(EXTERNAL),
    "secrets": word(SECRETS),
    "events": word(EVENTS),
    "events_days": whole(1, 36_500),
    "turn_days": whole(0, 36_500),
    "version_days": whole(0, 36_500),
    "events_rows": whole(1, 1_000_000_000),
    "upkeep": word(EVENTS),
    "upkeep_tokens": whole(0, 1_000_000_000),
    "traces": word(EVENTS),
}


class ExtractionExample(NamedTuple):
    """What somebody says, and the fact that shall be kept of it."""

    said: str
    fact: str


@dataclass(frozen=True, slots=True)
class ExtractionInstructions:
    """What a chat model is told about extraction beside the built-in words.

    Attributes:
        keep: what to keep, beside all that is worth keeping anyway. never: what never to keep.
        categories: the categories to choose from, declared ones, each with what belongs there; none: all declared.
        examples: their own facts are never kept.
    """

    keep: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    categories: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[ExtractionExample, ...] = ()


def read_instructions(source: str | Path | Mapping[str, Any]) -> ExtractionInstructions:
    """Read instructions from their content or from a TOML file. Raises InvalidConfig that says what is wrong."""
    import msgspec

    content = source if isinstance(source, Mapping) else _read_toml(Path(source)) if source else {}
    unknown = sorted(set(content) - {one.name for one in fields(ExtractionInstructions)})
    if unknown:
        raise InvalidConfig(f"extraction_instructions has no {unknown[0]!r}; it has keep, never, categories, examples")
    examples = content.get("examples", ())
    try:
        pairs = [ExtractionExample(**msgspec.convert(one, dict[str, str])) for one in examples]
        given = {**content, "examples": [list(pair) for pair in pairs]}
        return msgspec.convert(given, ExtractionInstructions)
    except (msgspec.ValidationError, TypeError) as error:
        raise InvalidConfig(f"extraction_instructions: {error}") from None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured. Every field has a sensible default.

    Attributes:
        db: URL of the store. Default: a SQLite file in the user's data folder.
        embedder: ``auto`` (default): the model that the store holds vectors of; for a new store ``minilm+multilingual``
            where onnxruntime is installed, else ``wordllama+multilingual``. Or a model by name: these, ``wordllama``
            (fast, English), ``minilm`` (English), ``multilingual`` (sixteen languages), ``openai`` (any
            OpenAI-compatible endpoint; extra ``openai``) or ``none`` (words only).
        embedding_model, embedding_url, embedding_dimensions: for ``openai``: the model's name, the endpoint's base URL
            (empty: OpenAI's own) and the length of its vectors. The key is read from ``OPENAI_API_KEY``.
        max_text_bytes: the longest text of a memory, UTF-8 bytes. A longer text is stored in up to 64 linked parts.
        index_bytes: how much memory the namespace indexes of this process may take before the least recently used
            index is dropped; a 64th part of it is for memories that stood in answers, kept to be shown again, and an
            8th for moments in the past that were asked about, a 16th for what is known of namespaces that are searched.
        search_above: on PostgreSQL, a namespace of so many memories is searched in the database; smaller ones, and all
            on other stores, are read into memory.
        session_gap_hours: a longer silence within a thread begins a new session.
        preset: the weights that rank: ``auto`` (by who speaks in a namespace), ``chat`` or ``assistant``.
        relation_weight: what a memory's rank gains at most when it is related to a memory that answers, 0..1.
        leave_out: names of features that do not count, for experiments; see ``memwarden bench quality --ablate``.
        merging: ``auto`` compares what ``remember`` is given with what is known, and merges, supersedes and links;
            ``off`` stores every statement beside the others.
        extraction: ``every_turn`` looks through what was observed at once, ``periodic`` after every
            ``extraction_turns`` new turns of a thread, when the thread is quiet for ``extraction_quiet_seconds``, and
            when the warden closes; ``off`` when it is asked for.
        extraction_turns: how many turns ``periodic`` waits for. facts_a_day: so many facts of a user are kept of what
            was said on a day; the others wait as candidates.
        extraction_instructions: what a chat model is told about extraction beside the built-in words.
        link_min: neighbours with at least this score are linked to a new statement, 0..1.
        chat_model, chat_url: an OpenAI-compatible chat model that judges what no rule decides, and its endpoint's base
            URL (empty: OpenAI's own); extra ``openai``. Empty model: none is asked. chat_model_size: ``small`` is for
            models of a few billion parameters: they list messages, word nothing and judge no pairs. chat_seconds: so
            long an answer may take at least; one that extraction may expect to be long has more.
        chat_sampling: ``fixed`` (default) sends temperature 0, ``free`` no temperature. chat_reasoning_tokens: tokens
            added to the limit of each answer for hidden reasoning. What an endpoint refuses of both is found out by
            itself.
        upstream, upstream_anthropic: where a server passes conversations with models on to, such as
            ``https://api.openai.com/v1``; the second for Anthropic's messages, empty: the first.
        upstream_seconds: the longest silence of an upstream. memory_seconds: how long such a conversation waits for
            memory, before and after the model.
        vector_seconds: seconds that a question waits for vectors of texts that were stored just before. A command waits
            10 seconds.
        external: what prompts show of texts that nobody vouches for: ``quote`` (default) as quotations that name their
            source, ``held`` only what a person let in, ``off`` nothing; see ``docs/why/external-text.md``.
        secrets: ``standard`` (default) takes keys, passwords and the like out of what is remembered, and keeps codes of
            a home (doors, lockers, alarms, safes, wifi), which a person asks for, with the tag ``private``. ``strict``
            takes these out, too, and secrets out of LangGraph's items and checkpoints.
        events: ``on`` writes operational events (:mod:`memwarden.observability.records`), ``off`` none. events_days:
        so many days
            they are shown and kept; events_rows: about how many of a namespace are kept, the newest.
        turn_days, version_days: after so many days the job ``retain`` removes turns, and earlier versions, for good; 0
            keeps them.
        upkeep: ``on`` runs the jobs that keep memory clean beside a program or a server as long as it is open, in a
            process of its own at low priority; ``off`` (default): run ``memwarden worker``.
        upkeep_tokens: so many tokens of the chat model jobs may take in a day for a tenant.
        traces: ``on`` makes OpenTelemetry spans of what is done (extra ``otel``); ``off`` (default) none.
        categories: categories and allowlists.
    """

    db: str = ""
    embedder: str = "auto"
    embedding_model: str = ""
    embedding_url: str = ""
    embedding_dimensions: int = 0
    max_text_bytes: int = 262_144
    index_bytes: int = 1_073_741_824
    search_above: int = 100_000
    session_gap_hours: float = 4.0
    preset: str = "auto"
    relation_weight: float = 0.10
    leave_out: tuple[str, ...] = ()
    merging: str = "auto"
    extraction: str = "off"
    extraction_turns: int = 5
    extraction_quiet_seconds: float = 300.0
    extraction_instructions: ExtractionInstructions = field(default_factory=lambda: ExtractionInstructions())
    facts_a_day: int = 50
    link_min: float = 0.55
    chat_model: str = ""
    chat_url: str = ""
    chat_model_size: str = "large"
    chat_seconds: float = 10.0
    chat_sampling: str = "fixed"
    chat_reasoning_tokens: int = 0
    upstream: str = ""
    upstream_anthropic: str = ""
    upstream_seconds: float = 600.0
    memory_seconds: float = 3.0
    vector_seconds: float = 1.0
    external: str = "quote"
    secrets: str = "standard"
    events: str = "on"
    events_days: int = 30
    turn_days: int = 0
    version_days: int = 0
    events_rows: int = 100_000
    upkeep: str = "off"
    upkeep_tokens: int = 20_000
    traces: str = "off"
    categories: Categories = field(default_factory=shipped_categories)

    def __post_init__(self) -> None:
        for name, rule in RULES.items():
            object.__setattr__(self, name, rule.check(getattr(self, name), name, InvalidConfig))
        if self.embedder == "openai" and not (self.embedding_model and self.embedding_dimensions):
            raise InvalidConfig("embedder 'openai' needs embedding_model and embedding_dimensions")
        for feature in self.leave_out:
            word(FEATURES).check(feature, "a feature in leave_out", InvalidConfig)
        for name in self.extraction_instructions.categories:
            if name not in self.categories.declared:
                raise InvalidConfig(f"extraction_instructions names the category {name!r}, which is not declared")

    @property
    def strict_secrets(self) -> bool:
        """Whether codes of a home are secrets, too."""
        return self.secrets == "strict"


def load(file: Path | None = None, **flags: Any) -> Settings:
    """Build the settings: flag, else environment ``MEMWARDEN_*``, else ``memwarden.toml``, else default.

    ``file`` None means ``memwarden.toml`` in the working folder, if it exists. Flags that are None are not given.
    Raises InvalidConfig for unknown names and wrong values.
    """
    values = {**_from_file(file), **_from_environment(), **{k: v for k, v in flags.items() if v is not None}}
    return settings_from(values)


def settings_from(values: Mapping[str, Any]) -> Settings:
    """Build settings from plain values. ``categories`` may be the path of a YAML file or its content as a mapping.

    A text is read as what the setting takes, since variables of the environment are texts: "5" is the number 5.
    """
    known = [setting.name for setting in fields(Settings)]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InvalidConfig(f"unknown setting {unknown[0]!r}; settings are: {', '.join(known)}")
    return Settings(**{name: _read(name, value) for name, value in values.items()})


def default_db() -> str:
    """The URL of the store that is used when none is configured."""
    from platformdirs import user_data_path

    return f"sqlite:///{user_data_path('memwarden', appauthor=False) / 'memwarden.db'}"


def _read(name: str, value: Any) -> Any:
    if name == "categories":
        return value if isinstance(value, Categories) else read_categories(value)
    if name == "extraction_instructions":
        return value if isinstance(value, ExtractionInstructions) else read_instructions(value)
    if not isinstance(value, str):
        return value  # Settings checks it
    rule = RULES[name]
    given = value.replace(",", " ").split() if rule is TEXTS else value
    return rule.check(given, name, InvalidConfig, from_text=True)


def _from_file(file: Path | None) -> dict[str, Any]:
    path = file or Path(SETTINGS_FILE)
    return {} if file is None and not path.is_file() else _read_toml(path)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidConfig(f"cannot read {str(path)!r}: {error.strerror}") from error
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, a path that cannot be
        raise InvalidConfig(f"{str(path)!r} is not valid TOML: {error}") from error


def _from_environment() -> dict[str, Any]:
    names = [field.name for field in fields(Settings)]
    return {name: os.environ[key] for name in names if (key := ENVIRONMENT_PREFIX + name.upper()) in os.environ}


# Least chance that the store knows the subject of a question: below it a query and a block are empty.
SUBJECT_THRESHOLD: Final = 0.5
# Chance of the answer from which it is shown whatever the chance of the subject. Of 440 questions about the world to
# eleven histories none reaches it.
ANSWER_THRESHOLD: Final = 0.8
# Least confidence at which an empty block is worth a search.
DEFAULT_THRESHOLD: Final = 0.35
# Tokens. Default limit of a block.
DEFAULT_BLOCK_TOKENS: Final = 1_500


class ItemBar(NamedTuple):
    """Least score of an item.

    Attributes:
        least: where the caller gives no threshold. share: part of a threshold. An item alone seldom holds an answer.
    """

    least: float
    share: float


QUERY_BAR: Final = ItemBar(0.005, 1 / 3)
CONTEXT_BAR: Final = ItemBar(0.001, 1 / 60)
# Share of the best score that a memory must reach in a query. A less likely one is about another subject.
SHARE_BESIDE_BEST: Final = 0.45
