"""Putting a text into lists of messages. Lists and messages that are given stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from memwarden.conversation.formats.reading import (
    SYSTEM,
    WORDS,
    as_dict,
    as_list,
    field,
    has_words,
    is_message,
    parts_of,
    spoken_places,
)

Message = dict[str, Any]


def append_text(content: Any, text: str, part: str) -> Any:
    """A content with a text at its end: a paragraph of its own, or a part of its own. part: the type of such a part."""
    parts = parts_of(content)
    if not parts:
        return f"{content}\n\n{text}" if isinstance(content, str) and content.strip() else text
    return [*parts, {"type": part, "text": text}]


def prepend_text(content: Any, text: str, part: str) -> Any:
    """A content with a text before its words: a paragraph of its own, or a part of its own before the first with words.

    Results of tools stay first, as Anthropic wants them.
    """
    parts = parts_of(content)
    if not parts:
        return f"{text}\n\n{content}" if isinstance(content, str) and content.strip() else text
    kinds = [field(part, "type") for part in parts]
    results = max((place + 1 for place, kind in enumerate(kinds) if kind == "tool_result"), default=0)
    spoken = next((place for place, kind in enumerate(kinds) if kind in WORDS), results)
    at = max(spoken, results)
    return [*parts[:at], {"type": part, "text": text}, *parts[at:]]


def change_content(messages: Sequence[Any], at: int, change: Callable[[Any], Any]) -> list[Any]:
    """Messages with the content of one of them changed."""
    message = as_dict(messages[at], f"messages[{at}]")
    message["content"] = change(message.get("content"))
    return [*messages[:at], message, *messages[at + 1 :]]


def leading_system_places(messages: Sequence[Any]) -> list[int]:
    """The places of the system messages before anybody speaks."""
    found = []
    for place, message in enumerate(messages):
        if is_message(message) and field(message, "role") not in SYSTEM:
            break
        if is_message(message):
            found.append(place)
    return found


def place_to_answer(messages: Sequence[Any]) -> int | None:
    """The place of the message to answer: the user's last one with words, else the last one that is not a tool's."""
    users = [place for place, item in enumerate(messages) if is_message(item) and field(item, "role") == "user"]
    with_words = [place for place in users if has_words(field(messages[place], "content"))]
    others = [place for place in users if not _only_results(messages[place])]
    last = (with_words or others)[-1:]
    return last[0] if last else None


def system_role(messages: Sequence[Any], usual: str) -> str:
    """The role that the conversation's own system messages have, else the usual one."""
    return next(
        (field(message, "role") for message in messages if is_message(message) and field(message, "role") in SYSTEM),
        usual,
    )


def append_to_system(messages: Sequence[Any], text: str, part: str, usual: str, which: int = -1) -> list[Any]:
    """A text at the end of a system message before anybody speaks; in a message of its own when there is none.

    which: of several, the last one; 0 for the first.
    """
    places = leading_system_places(messages)
    if not places:
        return [{"role": usual, "content": text}, *messages]
    return change_content(messages, places[which], lambda content: append_text(content, text, part))


def insert_message(messages: Sequence[Any], message: Mapping[str, Any]) -> list[Any]:
    """A message right before the one to answer; at the end when there is none."""
    at = place_to_answer(messages)
    at = len(messages) if at is None else at
    return [*messages[:at], dict(message), *messages[at:]]


def prefix_user_message(messages: Sequence[Any], text: str, part: str) -> list[Any]:
    """A text before the words of the message to answer; as a message of the user's when there is none."""
    at = place_to_answer(messages)
    if at is None:
        return [*messages, {"role": "user", "content": text}]
    return change_content(messages, at, lambda content: prepend_text(content, text, part))


def prepend_texts(messages: Sequence[Any], texts: Mapping[int, str], part: str) -> list[Any]:
    """Texts before the words of messages. texts: by the place of the message among those that say something."""
    made, said = list(messages), spoken_places(messages)
    for place, text in texts.items():
        made = change_content(made, said[place], partial(prepend_text, text=text, part=part))
    return made


def clean_messages(messages: Sequence[Any], clean: Callable[[str], str]) -> list[Any]:
    """Messages of the application's with their texts cleaned; those of which nothing is left are left out.

    What the assistant and tools said stays as it is.
    """
    made = []
    for message in messages:
        content = field(message, "content")
        left = clean_content(content, clean) if is_message(message) and _is_asking(message) else content
        if left == content:
            made.append(message)
        elif left:
            made.append(as_dict(message, "messages") | {"content": left})
    return made


def clean_content(content: Any, clean: Callable[[str], str]) -> Any:
    """A content with its texts cleaned, without the parts of which nothing is left."""
    if isinstance(content, str):
        return clean(content)
    made = []
    for part in as_list(content):
        text = field(part, "text")
        if field(part, "type") not in WORDS or not isinstance(text, str) or (left := clean(text)) == text:
            made.append(part)
        elif left:
            made.append({**as_dict(part, "content"), "text": left})
    return made if as_list(content) else content


def clean_argument(arguments: Mapping[str, Any], name: str, clean: Callable[[str], str]) -> dict[str, Any]:
    """The arguments of a call with one of them cleaned; without it when nothing is left of it."""
    left = clean_content(arguments.get(name), clean)
    if left or left == arguments.get(name):
        return {**arguments, name: left} if name in arguments else dict(arguments)
    return {key: value for key, value in arguments.items() if key != name}


def _is_asking(message: Any) -> bool:
    return field(message, "role") not in ("assistant", "tool", "function")


def _only_results(message: Any) -> bool:
    parts = as_list(field(message, "content"))
    return bool(parts) and all(field(part, "type") == "tool_result" for part in parts)
