"""What all commands of the benchmark share: options, the bar that shows progress, and how a report is handed over."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memwarden_bench.replay import Tick


class Embedder(StrEnum):
    """The embedders that can be measured."""

    AUTO = "auto"
    NONE = "none"
    WORDLLAMA = "wordllama"
    MINILM = "minilm"


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of Markdown.")]
MarkdownFile = Annotated[Path | None, typer.Option("--markdown", help="Also write the report to this file.")]
PlotFile = Annotated[Path | None, typer.Option("--plot", help="Also draw a PNG (needs the extra peers).")]
EmbedderName = Annotated[Embedder, typer.Option(help="auto: the default of memwarden. none: words only.")]


@contextmanager
def progress(total: int) -> Iterator[Tick]:
    """Show a bar on stderr, on a terminal only."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task("reading", total=total)

        def tick(what: str) -> None:
            bar.update(task, advance=0 if what.startswith("question without") else 1, description=what)

        yield tick


def deliver(as_json_text: str, as_markdown: str, as_json: bool, markdown: Path | None) -> None:
    """Print a report, and write it to a file where somebody asks for it."""
    typer.echo(as_json_text if as_json else as_markdown)
    if markdown is not None:
        markdown.write_text(as_markdown, encoding="utf-8")
