"""Measure what upkeep does: over a year, beside calls, to duplicates, and when a store moves to another model.

Each command ends with its gates, and with exit code 1 where a gate is not met.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from memwarden.errors import InvalidInput
from memwarden_bench import machine, report
from memwarden_bench.command_line import Embedder, EmbedderName, Json, MarkdownFile, deliver, progress
from memwarden_bench.upkeep import duplicates, load, reembed, year
from memwarden_bench.upkeep.gates import Gate

app = typer.Typer(name="upkeep", help=__doc__, no_args_is_help=True)


@app.command("year")
def year_command(
    files: Annotated[list[Path], typer.Argument(help="Labelled histories, or RealMem's dialogues.")],
    server: Annotated[
        str | None,
        typer.Option(help="postgresql://... whose login may make databases: each life gets its own. Default: SQLite."),
    ] = None,
    embedder: EmbedderName = Embedder.WORDLLAMA,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Live through a year with daily upkeep and without, and compare answers, growth, journal and deltas.

    A clock of its own passes the days. Eleven histories take a quarter of an hour.
    """
    if server is not None and not server.startswith(("postgresql://", "postgres://")):
        raise InvalidInput("--server is the URL of a PostgreSQL server, such as postgresql://me@localhost/postgres")
    histories = year.read_lives(files)
    with progress(year.count_steps(histories)) as tick:
        settings = {"embedder": embedder.value}
        found = year.measure_year(histories, server, settings, machine.circumstances(files), tick)
    deliver(report.to_json(found), year.year_markdown(found), as_json, markdown)
    _judge(found.gates)


@app.command("duplicates")
def duplicates_command(
    files: Annotated[list[Path], typer.Argument(help="RealMem's dialogues.")],
    most: Annotated[int, typer.Option(min=1, help="Facts at most.")] = 762,
    embedder: EmbedderName = Embedder.WORDLLAMA,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Put paraphrases beside a fifth of the facts and near-misses beside all, consolidate, and undo it."""
    circumstances = machine.circumstances(files)
    with progress(duplicates.MAX_DAYS) as tick:
        found = duplicates.measure_duplicates(files, most, {"embedder": embedder.value}, circumstances, tick)
    deliver(report.to_json(found), duplicates.duplicates_markdown(found), as_json, markdown)
    _judge(found.gates)


@app.command("load")
def load_command(
    turns: Annotated[int, typer.Option(min=10, help="Turns of the person who is asked about.")] = 5_000,
    rounds: Annotated[int, typer.Option(min=1, help="Spans with jobs, and as many without.")] = 6,
    seconds: Annotated[float, typer.Option(min=0.5, help="Seconds of a span.")] = 15.0,
    rate: Annotated[float, typer.Option(min=1, help="Questions a second.")] = 10.0,
    embedder: EmbedderName = Embedder.WORDLLAMA,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Time questions and writes while a child runs all jobs without rest, and without it, in turn."""
    plan = load.LoadPlan(turns, rounds, seconds, rate, embedder.value)
    circumstances = machine.circumstances()
    with progress(1 + 2 * rounds) as tick:
        found = load.measure_load(plan, circumstances, tick)
    deliver(report.to_json(found), load.load_markdown(found), as_json, markdown)
    _judge(found.gates)


@app.command("reembed")
def reembed_command(
    memories: Annotated[int, typer.Option(min=30, help="Memories that are moved.")] = 5_000,
    source: Annotated[Embedder, typer.Option(help="The embedder before.")] = Embedder.WORDLLAMA,
    target: Annotated[Embedder, typer.Option(help="The embedder after.")] = Embedder.MINILM,
    rate: Annotated[float, typer.Option(min=1, help="Questions a second.")] = 20.0,
    calm: Annotated[float, typer.Option(min=1, help="Seconds of questions before the move.")] = 20.0,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Move a store to another model while it is asked, kill the move once, and look for answers with mixed scores."""
    if source == target:
        raise InvalidInput("--source and --target are the same model; nothing would move")
    plan = reembed.MovePlan(memories, source.value, target.value, rate, calm)
    circumstances = machine.circumstances()
    with progress(4) as tick:
        found = reembed.measure_move(plan, circumstances, tick)
    deliver(report.to_json(found), reembed.move_markdown(found), as_json, markdown)
    _judge(found.gates)


def _judge(gates: Sequence[Gate]) -> None:
    """End with exit code 1 where a gate is not met, so that a script can tell."""
    if not all(gate.met for gate in gates):
        raise typer.Exit(1)
