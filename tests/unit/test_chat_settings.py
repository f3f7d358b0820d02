"""Settings of a chat: their names, their defaults, and what is refused."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from memwarden.conversation.settings import ChatSettings, read_chat_settings
from memwarden.errors import InvalidConfig

# Word for word from the design of the chat pipeline, sections 3 and 6.
CLASSIC = {
    "useMemory": False,
    "memoryInjectionMode": "system_append",
    "memoryExtractionMode": "periodic",
    "maxMemoryContext": 5,
    "maxMemoryTokens": 500,
    "memoryExtractionInterval": 5,
    "memorySearchThreshold": 0.7,
    "memoryContextPrefix": "You have the following relevant memories from past interactions:",
    "memoryContextSuffix": "Use these memories to inform your responses, but don't explicitly reference them unless "
    "directly relevant.",
    "memoryFormat": "[{{memoryType}}, importance={{importance}}, {{age}}]\nSummary: {{summary}}\n"
    "Context: {{sourceContext}}",
}


def test_the_classic_configuration_reads_as_it_was_written() -> None:
    read = read_chat_settings(CLASSIC)
    assert (read.use_memory, read.max_memory_context, read.memory_search_threshold) == (False, 5, 0.7)
    assert (read.max_memory_tokens, read.memory_extraction_interval) == (500, 5)
    assert (read.memory_injection_mode, read.memory_extraction_mode) == ("system_append", "periodic")
    assert read.memory_context_prefix == CLASSIC["memoryContextPrefix"]
    assert read.memory_context_suffix == CLASSIC["memoryContextSuffix"]
    assert read.memory_format == CLASSIC["memoryFormat"]
    assert read.search_threshold == 0.7  # its own bar, not the default's


def test_the_defaults_follow_the_budget_with_lean_lines() -> None:
    settings = read_chat_settings({})
    assert settings == ChatSettings()
    assert (settings.use_memory, settings.max_memory_context, settings.max_memory_tokens) == (False, 100, 1_500)
    assert (settings.memory_injection_mode, settings.memory_extraction_mode) == ("system_append", "periodic")
    assert settings.memory_extraction_interval == 5
    assert settings.memory_context_prefix == "Known from earlier:"
    assert settings.memory_context_suffix == ""
    assert "importance" not in settings.memory_format
    assert settings.search_threshold is None  # the default bar


@pytest.mark.parametrize("given", [{"useMemory": True}, {"memoryInjectionMode": "user_prefix", "use_memory": True}])
def test_names_of_the_classic_pipeline_get_its_defaults(given: dict[str, Any]) -> None:
    settings = read_chat_settings(given)
    assert settings == read_chat_settings(
        {**CLASSIC, "useMemory": True} | {k: v for k, v in given.items() if "Mode" in k}
    )
    assert (settings.max_memory_context, settings.memory_search_threshold) == (5, 0.7)
    assert read_chat_settings({"use_memory": True, "overviewTokens": 100}).max_memory_context == 100


@pytest.mark.parametrize("name", [field.name for field in fields(ChatSettings)])
def test_each_field_is_read_by_both_names(name: str) -> None:
    others: dict[str, Any] = {
        "use_memory": True,
        "memory_injection_mode": "user_prefix",
        "memory_extraction_mode": "on_save",
        "max_memory_context": 2,
        "max_memory_tokens": 250,
        "overview_tokens": 150,
        "memory_extraction_interval": 3,
        "memory_search_threshold": 0.4,
        "memory_context_prefix": "Known:",
        "memory_context_suffix": "That is all.",
        "memory_format": "{{summary}} ({{age}})",
        "max_delta_tokens": 100,
    }
    first, *rest = name.split("_")
    camel = first + "".join(part.capitalize() for part in rest)
    wanted = replace(ChatSettings(), **{name: others[name]})
    assert wanted != ChatSettings()
    assert read_chat_settings({name: others[name]}) == wanted
    assert getattr(read_chat_settings({camel: others[name]}), name) == others[name]
    with pytest.raises(InvalidConfig, match="twice"):
        read_chat_settings({name: others[name], camel: others[name]})


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"use_memory": "yes"}, "use_memory is True or False"),
        ({"memory_injection_mode": "somewhere"}, "system_append, context_message, user_prefix"),
        ({"memory_injection_mode": "x" * 33}, "memory_injection_mode is "),
        ({"memory_extraction_mode": "off"}, "every_turn, periodic, on_save or llm_triggered"),
        ({"memory_extraction_mode": ["on_save"]}, "memory_extraction_mode"),
        ({"max_memory_context": 0}, "1 to 100"),
        ({"max_memory_context": True}, "max_memory_context"),
        ({"max_memory_tokens": 2.5}, "max_memory_tokens"),
        ({"overview_tokens": -1}, "overview_tokens"),
        ({"memory_extraction_interval": -1}, "1 to 1,000"),
        ({"memory_search_threshold": 1.1}, "0 to 1"),
        ({"memory_search_threshold": float("nan")}, "0 to 1"),
        ({"memory_search_threshold": True}, "0 to 1"),
        ({"memory_context_prefix": None}, "at most 2,000 characters"),
        ({"memory_context_suffix": "x" * 2001}, "at most 2,000 characters"),
        ({"memory_context_suffix": "So much for </Memories>."}, "stand around the block already"),
        ({"memory_format": "{{memoryType}}"}, "must hold {{summary}}"),
        ({"memory_format": "{{summary}} {{user.key}}"}, "holds {{user.key}}"),
        ({"memories": True}, "unknown setting 'memories'"),
    ],
)
def test_what_is_wrong_is_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidConfig) as error:
        read_chat_settings(wrong)
    assert named in str(error.value)


def test_settings_are_frozen_and_changed_as_a_whole() -> None:
    settings = ChatSettings()
    with pytest.raises(FrozenInstanceError):
        settings.use_memory = True  # type: ignore[misc]  # on purpose
    assert replace(settings, use_memory=True).use_memory
    with pytest.raises(InvalidConfig):
        replace(settings, max_memory_context=0)
