"""The formats that can be imported: a reader recognises a file by its content, and streams its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from memwarden.errors import InvalidInput
from memwarden.remember.imports import (
    chat_apps,
    chats,
    files,
    graph,
    langgraph,
    logs,
    mail,
    memories,
    messages,
    notes,
    tables,
    whatsapp,
)
from memwarden.remember.imports.records import ImportRecord
from memwarden.remember.imports.source import ImportSource


class FormatReader(NamedTuple):
    """A format: its name, what it is, how it is recognised, and what reads it."""

    name: str
    about: str
    recognises: Callable[[ImportSource], bool]
    read: Callable[[ImportSource], Iterator[ImportRecord]]


# In the order in which they are tried: what says more of itself comes first.
READERS: tuple[FormatReader, ...] = (
    FormatReader("chatgpt", "export of ChatGPT, zip or json", chats.is_chatgpt, chats.read_chats),
    FormatReader("claude", "export of Claude, zip or json", chats.is_claude, chats.read_chats),
    FormatReader("telegram", "export of Telegram, result.json", chat_apps.is_telegram, chat_apps.read_telegram),
    FormatReader("slack", "export of Slack, zip or folder", chat_apps.is_slack, chat_apps.read_slack),
    FormatReader("open-webui", "export of chats of Open WebUI", chat_apps.is_open_webui, chat_apps.read_open_webui),
    FormatReader("claude-code", "transcript of Claude Code", chat_apps.is_claude_code, chat_apps.read_claude_code),
    FormatReader("mem0", "memories of mem0 (get_all)", memories.is_mem0, memories.read_mem0),
    FormatReader("zep", "messages, episodes and edges of Zep or Graphiti", memories.is_zep, memories.read_zep),
    FormatReader("langmem", "items of LangMem or a LangGraph store", memories.is_items, memories.read_items),
    FormatReader(
        "langgraph", "SQLite file of a LangGraph saver or store", langgraph.is_langgraph, langgraph.read_langgraph
    ),
    FormatReader("graph", "knowledge graph of the reference memory server", graph.is_graph, graph.read_graph),
    FormatReader("messages", "messages of chat APIs, json or jsonl", messages.is_messages, messages.read_talks),
    FormatReader("whatsapp", "exported chat of WhatsApp, txt or zip", whatsapp.is_whatsapp, whatsapp.read_whatsapp),
    FormatReader("mail", "mails, eml or mbox", mail.is_mail, mail.read_mail),
    FormatReader("labelled", "log with USER: and ASSISTANT:", logs.is_labelled, logs.read_labelled),
    FormatReader("irc", "log of an IRC client", logs.is_irc, logs.read_irc),
    FormatReader("markdown", "vault of Markdown notes, folder, zip or note", notes.is_vault, notes.read_vault),
    FormatReader("files", "documents, html, pdf or docx", files.is_documents, files.read_files),
    FormatReader("csv", "table with a column of texts", tables.is_table, tables.read_table),
)
FORMATS = tuple(reader.name for reader in READERS)

# Paths of the JSON that show an export of a program whose exports are not read.
UNREAD: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "DeepSeek": (("item.mapping", "item.inserted_at"),),
    "Discord": (("guild.id", "messages"), ("channel.id", "messages")),
    "Messenger or Instagram": (("participants.item.name", "messages.item.sender_name"),),
    "Gemini": (("item.header", "item.products.item"),),
    "Grok": (("conversations.item.responses", "conversations.item.conversation"),),
    "LibreChat": (("conversationId", "messages.item.isCreatedByUser"),),
    "ShareGPT": (("item.conversations.item.from", "item.conversations.item.value"),),
}


def find_reader(source: ImportSource, name: str | None = None) -> FormatReader:
    """Return the reader of a file: the named reader, or the first that recognises it. Raises InvalidInput."""
    if name is not None:
        for reader in READERS:
            if reader.name == name:
                return reader
        raise InvalidInput(f"format is one of {', '.join(FORMATS)}, not {name!r:.40}")
    for program, shapes in UNREAD.items():
        if any(all(path in source.shape for path in paths) for paths in shapes):
            raise InvalidInput(
                f"{str(source.path)!r} is an export of {program}, which is not read. "
                "Give its messages as a list of {'role': ..., 'content': ..., 'created_at': ...}"
            )
    for reader in READERS:
        if reader.recognises(source):
            return reader
    raise InvalidInput(
        f"{str(source.path)!r} is none of the formats that are read: "
        + "; ".join(f"{reader.name} ({reader.about})" for reader in READERS)
        + ". A log needs a name before each message. Of another table give the column of the text: "
        + tables.TEXT_COLUMN
    )
