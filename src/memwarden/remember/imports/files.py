"""Reads documents of offices: HTML, PDF and Word, converted to Markdown by markitdown (the extra ``imports``)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Final

from memwarden.errors import missing_extra
from memwarden.remember.imports.notes import Note, read_sections
from memwarden.remember.imports.records import ImportedDocument, ImportedStatement, ImportRecord, MalformedPart
from memwarden.remember.imports.source import MAX_WHOLE, ImportSource

ENDINGS: Final = (".html", ".htm", ".pdf", ".docx")


def is_documents(source: ImportSource) -> bool:
    """Return whether a source holds documents."""
    # A Word document is a zip itself.
    if source.path.is_file() and source.path.suffix.lower() in ENDINGS:
        return True
    return (source.path.is_dir() or source.is_zip) and any(name.lower().endswith(ENDINGS) for name in source.parts)


def read_files(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield each document with a statement for each section; a document again replaces what it stated before."""
    if source.path.is_file() and source.path.suffix.lower() in ENDINGS:
        with source.entry():
            yield _read(source, source.path.name, source.path.read_bytes(), f"file/{source.path.name}", None)
        return
    collection = f"files/{source.name}/"
    parts = [name for name in source.parts if name.lower().endswith(ENDINGS)]
    for part in parts:
        identity = f"{collection}{part}"
        try:
            with source.open(part) as opened:
                raw = opened.read(MAX_WHOLE + 1)
            yield _read(source, part, raw, identity, collection)
        except MalformedPart as error:
            source.refuse(error)
            yield ImportedDocument(identity, (), source.place(part), collection=collection, unread=True)
    if len(parts) < len(source.parts):
        skipped = {"files that are no documents": len(source.parts) - len(parts)}
        yield ImportedDocument(collection, (), source.name, collection=collection, skipped=skipped)


def _read(source: ImportSource, part: str, raw: bytes, identity: str, collection: str | None) -> ImportedDocument:
    where = source.place(part)
    if len(raw) > MAX_WHOLE:
        raise MalformedPart(f"{where}: over {MAX_WHOLE:,} bytes; split it")
    place = PurePosixPath(part)
    try:
        converted = _converter().convert_stream(io.BytesIO(raw), file_extension=place.suffix.lower())
    except Exception as error:  # whatever a converter meets in a damaged file
        raise MalformedPart(f"{where} cannot be converted ({type(error).__name__})") from None
    title = (converted.title or "").strip() or place.stem
    note = Note(part, {"title": title}, converted.markdown.replace("\r\n", "\n"), 1)
    statements = tuple(ImportedStatement(text, metadata={"file": part}) for text in dict.fromkeys(read_sections(note)))
    skipped = {} if statements else {"documents without words": 1}
    return ImportedDocument(identity, statements, where, collection=collection, skipped=skipped)


@cache
def _converter() -> Any:
    try:
        from markitdown import MarkItDown
        from markitdown.converters import DocxConverter, HtmlConverter, PdfConverter
    except ImportError:
        raise missing_extra("a document", "imports") from None
    # Its other converters take the bytes of a damaged PDF for a text, and open addresses.
    made = MarkItDown(enable_builtins=False, enable_plugins=False)
    for converter in (HtmlConverter, PdfConverter, DocxConverter):
        made.register_converter(converter())
    return made
