"""Reads mail: ``.eml`` files, alone, in a folder or zip, and mbox files."""

from __future__ import annotations

import mailbox
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Any, Final

from memwarden.remember.imports.encodings import detect_encoding
from memwarden.remember.imports.notes import Note, read_sections
from memwarden.remember.imports.records import ImportedDocument, ImportedStatement, MalformedPart, digest_parts
from memwarden.remember.imports.source import MAX_WHOLE, ImportSource

_HEADERS: Final = re.compile(r"(?:From [^\n]*\n)?(?:[A-Za-z][A-Za-z0-9-]*:[^\n]*\n(?:[ \t][^\n]*\n)*){2,}")
_NAMED: Final = re.compile(r"(?im)^(?:from|subject|date|message-id):")
# Lines of an earlier mail that an answer quotes.
_QUOTED: Final = re.compile(r"(?m)^>.*\n?")
# In an mbox a line of a mail that begins with From has a mark more.
_QUOTED_FROM: Final = re.compile(rb"(?m)^>(>*)From ")
_ENDINGS: Final = (".eml",)


def is_mail(source: ImportSource) -> bool:
    """Return whether a source holds mails."""
    if _is_folder(source):
        return any(name.lower().endswith(_ENDINGS) for name in source.parts)
    head = source.head.replace("\r\n", "\n")
    found = _HEADERS.match(head)
    return found is not None and len(_NAMED.findall(found[0])) >= 2


def read_mail(source: ImportSource) -> Iterator[ImportedDocument]:
    """Yield each mail as a document, without quoted lines and attachments."""
    if not _is_folder(source) and source.head.startswith("From "):
        yield from _read_mbox(source)
        return
    mails = [name for name in source.parts if name.lower().endswith(_ENDINGS) or not _is_folder(source)]
    for part in mails:
        with source.entry():
            with source.open(part) as opened:
                raw = opened.read(MAX_WHOLE + 1)
            if len(raw) > MAX_WHOLE:
                raise MalformedPart(f"{source.place(part)}: over {MAX_WHOLE:,} bytes; split it")
            yield _document(message_from_bytes(raw, policy=policy.default), source.place(part))
    if len(mails) < len(source.parts):
        skipped = {"files that are no mails": len(source.parts) - len(mails)}
        yield ImportedDocument("mail/others", (), source.name, skipped=skipped)


def _read_mbox(source: ImportSource) -> Iterator[ImportedDocument]:
    def make(opened: Any) -> Message:
        return message_from_bytes(_QUOTED_FROM.sub(rb"\1From ", opened.read(MAX_WHOLE)), policy=policy.default)

    with closing(mailbox.mbox(source.path, factory=make, create=False)) as box:  # type: ignore[arg-type]
        for number, mail in enumerate(box, 1):
            with source.entry():
                yield _document(mail, f"{source.place(source.main)}, mail {number}")


def _is_folder(source: ImportSource) -> bool:
    return source.path.is_dir() or source.is_zip


def _document(mail: Message, where: str) -> ImportedDocument:
    try:
        subject, sender, to = (str(mail.get(name) or "").strip() for name in ("Subject", "From", "To"))
        text = _QUOTED.sub("", _text_of(mail)).strip()
        at = _date_of(mail)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise MalformedPart(f"{where} is no mail ({type(error).__name__}: {error})") from None
    if not (sender or subject):
        raise MalformedPart(f"{where} is no mail: it has neither sender nor subject")
    identity = f"mail/{mail.get('Message-ID') or digest_parts(subject, sender, str(at), text)}"
    metadata = {name: value for name, value in (("subject", subject), ("from", sender), ("to", to)) if value}
    title = " · ".join(part for part in (subject, sender) if part)
    note = Note(str(PurePosixPath("mail")), {"title": title}, text.replace("\r\n", "\n"), 1)
    sections = dict.fromkeys(read_sections(note))
    statements = tuple(ImportedStatement(section, created_at=at, metadata=metadata) for section in sections)
    skipped = {} if statements else {"mails without words": 1}
    return ImportedDocument(identity, statements, where, skipped=skipped)


def _date_of(mail: Message) -> datetime | None:
    given = mail.get("Date")
    if given is None:
        return None
    try:
        at = parsedate_to_datetime(str(given))
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _text_of(mail: Message) -> str:
    assert isinstance(mail, EmailMessage), "the policy makes this class"
    body = mail.get_body(preferencelist=("plain", "html"))
    if body is None:
        return ""
    content = _decoded(body)
    return read_html(content) if body.get_content_type() == "text/html" else content


def _decoded(body: Any) -> str:
    """Return the text of a part; in a character set that Python lacks, in the one that its bytes look like."""
    try:
        return str(body.get_content())
    except LookupError:
        raw = body.get_payload(decode=True)
        assert isinstance(raw, bytes), "a part with a text has no parts"
        return raw.decode(detect_encoding(raw) or "utf-8", errors="replace")


class _Words(HTMLParser):
    """Collects the words that a page shows."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style", "head")
        if tag in ("br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4"):
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style", "head")

    def handle_data(self, data: str) -> None:
        if self._hidden <= 0:
            self.words.append(data)


def read_html(content: str) -> str:
    """Return the words that a page shows, a block a line."""
    parser = _Words()
    parser.feed(content)
    lines = (" ".join(line.split()) for line in "".join(parser.words).splitlines())
    return "\n".join(line for line in lines if line)
