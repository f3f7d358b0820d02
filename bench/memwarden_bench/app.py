"""``memwarden bench``: measures recall and its cost on your machine and your conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from memwarden.errors import InvalidInput
from memwarden.surfaces.cli.options import read_pairs
from memwarden_bench import (
    against,
    beside,
    budgets,
    everyday,
    first_byte,
    http_load,
    keep,
    machine,
    measure,
    oracle,
    report,
    same_fact,
    speed,
    writes,
)
from memwarden_bench import profiles as truths
from memwarden_bench import shares as learned_shares
from memwarden_bench import tiers as three_tiers
from memwarden_bench.ablation import AblationReport, ablation_markdown, measure_parts
from memwarden_bench.beside_report import beside_plot
from memwarden_bench.budgets_report import budgets_markdown, budgets_plot
from memwarden_bench.command_line import Embedder, EmbedderName, Json, MarkdownFile, PlotFile, deliver, progress
from memwarden_bench.everyday import DEFAULT_BUDGET
from memwarden_bench.everyday_report import EverydayReport, everyday_markdown, everyday_plot, list_shown
from memwarden_bench.first_hour import count_questions, measure_first_hour
from memwarden_bench.fresh import install as install_fresh
from memwarden_bench.peers import PEERS
from memwarden_bench.replay import ADVERSARIAL, Variant
from memwarden_bench.systems import BASE, FLOOR, SYSTEMS, Kind
from memwarden_bench.upkeep.app import app as upkeep_app

# A measure loses nothing to a model that is slow.
PATIENCE = 600.0

app = typer.Typer(name="bench", help=__doc__, no_args_is_help=True)
app.add_typer(upkeep_app)


@app.command("quality")
def quality_command(
    files: Annotated[list[Path], typer.Argument(help="LoCoMo, RealMem or your own conversations with questions.")],
    embedder: EmbedderName = Embedder.AUTO,
    questions: Annotated[Path | None, typer.Option(help="Questions that belong to the first file.")] = None,
    ablate: Annotated[bool, typer.Option("--ablate", help="Run every variant, not only the embedder.")] = False,
    peers: Annotated[bool, typer.Option(help="Measure the named peers on the same questions too.")] = True,
    captions: Annotated[bool, typer.Option(help="Add to a turn what its picture shows (LoCoMo).")] = True,
    limit: Annotated[int, typer.Option(min=0, help="At most this many questions a conversation; 0: all.")] = 0,
    left_out: Annotated[
        int, typer.Option(min=0, help="Questions a conversation that are also asked of a store without their answer.")
    ] = 40,
    as_json: Json = False,
    markdown: MarkdownFile = None,
    plot: PlotFile = None,
) -> None:
    """Replay conversations through the public API and count what their questions find."""
    sources = measure.read_sources(files, questions=questions, captions=captions, limit=limit)
    if not any(source.questions for source in sources):
        raise InvalidInput('these files hold no questions; add "questions" to the file or give --questions FILE')
    variants = measure.VARIANTS if ablate else (Variant(embedder.value, {"embedder": embedder.value}),)
    names = tuple(PEERS) if peers else ()
    asked = sum(source.questions for source in sources)
    with progress(asked * (len(variants) + len(names))) as tick:
        runs = {
            variant.name: measure.run_variant(sources, variant, left_out=left_out, tick=tick) for variant in variants
        }
        found = [figures for name in names for figures in measure.run_peer(sources, name, tick)]
    result = report.QualityReport(machine.circumstances(files), runs, found, notes=NOTES)
    deliver(report.to_json(result), report.quality_markdown(result), as_json, markdown)
    if plot is not None:
        report.quality_plot(result, plot)


@app.command("budgets")
def budgets_command(
    files: Annotated[list[Path], typer.Argument(help="LoCoMo, RealMem or your own conversations with questions.")],
    embedder: EmbedderName = Embedder.AUTO,
    budget: Annotated[list[int] | None, typer.Option(min=1, help="Tokens of a text; give it several times.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="At most this many questions a conversation; 0: all.")] = 0,
    as_json: Json = False,
    markdown: MarkdownFile = None,
    plot: PlotFile = None,
) -> None:
    """Count the evidence within a token budget, beside the last turns and the best turns."""
    sources = measure.read_sources(files, limit=limit)
    asked = sum(
        question.category != ADVERSARIAL
        for source in sources
        for talk in source.conversations
        for question in talk.questions
    )
    if not asked:
        raise InvalidInput('these files hold no questions; add "questions" to the file')
    with progress(asked) as tick:
        found = budgets.measure(sources, embedder.value, budget or budgets.BUDGETS, tick)
    result = budgets.BudgetsReport(machine.circumstances(files), found, notes=BUDGET_NOTES)
    deliver(report.to_json(result), budgets_markdown(result), as_json, markdown)
    if plot is not None:
        budgets_plot(result, plot)


@app.command("shares")
def shares_command(
    seed: Annotated[list[int] | None, typer.Option(help="A simulated project; give it several times.")] = None,
    contexts: Annotated[
        int, typer.Option(min=15, help="Contexts of a project; the first third is for learning.")
    ] = learned_shares.CONTEXTS,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Simulate projects whose tasks need the three tiers unequally, with usual and with learned shares."""
    seeds = seed or learned_shares.DEFAULT_SEEDS
    with progress(len(seeds)) as tick:
        rows = learned_shares.measure_shares(seeds, contexts, tick)
    deliver(report.to_json(rows), learned_shares.shares_markdown(rows), as_json, markdown)


@app.command("everyday")
def everyday_command(
    files: Annotated[list[Path], typer.Argument(help="Labelled histories, or small stores with plain questions.")],
    budget: Annotated[int, typer.Option(min=1, help="Tokens of a block, and of what peers show.")] = DEFAULT_BUDGET,
    peers: Annotated[bool, typer.Option(help="Measure the installed peers on the same questions too.")] = True,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of memwarden; again for more. JSON too."),
    ] = None,
    labels: Annotated[bool, typer.Option(help="Look threads through with a model that says their labels.")] = False,
    show: Annotated[
        str | None, typer.Option(help="Also print the questions of this type (or all) and what they got.")
    ] = None,
    as_json: Json = False,
    markdown: MarkdownFile = None,
    plot: PlotFile = None,
) -> None:
    """Count right answers, outdated and needless ones in what a person gets back."""
    given = read_pairs(settings, "setting") or {}
    histories, small = everyday.read_files(files)
    asked = sum(len(history.questions) for history in histories) + count_questions(small)
    labelled = keep.read_labelled(files) if labels else []
    with oracle.serve_labels(labelled) if labels else nullcontext(None) as url, progress(asked) as tick:
        reading = {"extraction": "every_turn", "chat_model": "labels", "chat_url": url, "chat_seconds": PATIENCE}
        settings_of = {**(reading if labels else {}), **given}
        results = everyday.measure(histories, budget, peers=peers, settings=settings_of, tick=tick)
        first_hour = measure_first_hour(small, tick)
    result = EverydayReport(
        machine.circumstances(files),
        budget,
        everyday.sum_up(results.texts),
        results.reliability,
        first_hour,
        results.excluded,
        list_shown(results.texts, show),
    )
    deliver(report.to_json(result), everyday_markdown(result), as_json, markdown)
    if plot is not None:
        everyday_plot(result, plot)


@app.command("ablation")
def ablation_command(
    files: Annotated[list[Path], typer.Argument(help="Labelled histories.")],
    budget: Annotated[int, typer.Option(min=1, help="Tokens of a block.")] = DEFAULT_BUDGET,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Ask the questions of labelled histories with a part of recall switched off in turn."""
    histories, _ = everyday.read_files(files)
    with progress(sum(len(history.questions) for history in histories)) as tick:
        rows = measure_parts(histories, budget, tick=tick)
    result = AblationReport(machine.circumstances(files), budget, rows)
    deliver(report.to_json(result), ablation_markdown(result), as_json, markdown)


@app.command("speed")
def speed_command(
    embedder: EmbedderName = Embedder.WORDLLAMA,
    size: Annotated[
        list[int] | None, typer.Option(min=1, help="Turns in the namespace; give it several times.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Take the turns from this file, repeated with variation.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to put the stores, to choose the disk.")] = None,
    queries: Annotated[int, typer.Option(min=speed.STARTS, help="Questions a size.")] = 200,
    peers: Annotated[bool, typer.Option(help="Measure the installed peers side by side too.")] = True,
    peer: Annotated[
        list[str] | None, typer.Option(help="Only this peer; give it several times. Part of its name is enough.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each figure beside peers is taken.")] = 10,
    patience: Annotated[float, typer.Option(min=1, help="Seconds that a peer may take to add the rows.")] = 600,
    install: Annotated[
        str | None,
        typer.Option(help="Also install this (a folder, wheel or name) and every peer into fresh environments."),
    ] = None,
    tiers: Annotated[
        bool, typer.Option("--tiers", help="Measure tasks, projects and global memory beside LangGraph too.")
    ] = False,
    tier_size: Annotated[
        list[int] | None, typer.Option(min=1, help="Items a tier; give it several times. [default: 1000, 10000]")
    ] = None,
    as_json: Json = False,
    markdown: MarkdownFile = None,
    plot: PlotFile = None,
) -> None:
    """Time queries and writes in namespaces of 100, 10,000 and 100,000 turns, and beside peers."""
    sizes = size or list(speed.SIZES)
    kinds = _kinds(peer or ()) if peers else []
    layouts = beside.layouts_for(sizes) if peers else []
    plan = beside.Plan(
        embedder=embedder.value,
        rounds=rounds,
        questions=beside.QUESTIONS,
        patience=patience,
        folder=folder,
        install=install,
        texts=lambda amount: speed.texts_of(data, amount),
        asked=lambda amount: speed.asked_of(data, amount),
    )
    tier_sizes = (tier_size or list(three_tiers.SIZES)) if tiers else []
    with progress(4 * len(sizes) + beside.steps(layouts) + three_tiers.steps(tier_sizes)) as tick:
        bare, added = speed.start_up()
        found = [
            speed.measure_size(rows, embedder.value, data=data, folder=folder, queries=queries, tick=tick)
            for rows in sizes
        ]
        compared = beside.compare(kinds, layouts, plan, tick) if peers else None
        weighed = install_fresh(install) if install and not peers else None
        tiered = (
            three_tiers.measure(tier_sizes, rounds, folder, patience, plan.texts, plan.asked, tick) if tiers else None
        )
    rows_from = data.name if data else "made-up sentences"
    files = [data] if data else []
    here = machine.circumstances(files)
    result = speed.SpeedReport(here, embedder.value, rows_from, bare, added, found, weighed, compared, tiered)
    deliver(report.to_json(result), report.speed_markdown(result), as_json, markdown)
    if plot is not None:
        report.speed_plot(result, plot)
        if compared is not None:
            beside_plot(compared, plot.with_stem(f"{plot.stem}-beside"))


@app.command("against")
def against_command(
    checkout: Annotated[Path, typer.Argument(help="Another clone or worktree of memwarden.")],
    size: Annotated[
        list[int] | None, typer.Option(min=1, help="Turns in the namespace; give it several times.")
    ] = None,
    embedder: Annotated[str, typer.Option(help="The embedder of this code; auto: its default.")] = "auto",
    embedder_before: Annotated[str, typer.Option(help="The embedder of the other checkout.")] = "wordllama",
    rounds: Annotated[int, typer.Option(min=1, help="How often each figure is taken.")] = 10,
    queries: Annotated[int, typer.Option(min=3, help="Questions a round, as far as three seconds go.")] = 20,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Compare this code with another checkout, in turn: queries, observed turns, a command and memory."""
    sizes, embedders = size or list(speed.SIZES), (embedder_before, embedder)
    with progress(against.count_steps(sizes, rounds)) as tick:
        own, found = against.measure_against(checkout, sizes, embedders, rounds, queries, tick)
    result = against.AgainstReport(machine.circumstances(), embedders, rounds, own.took, own.cpu, found)
    deliver(report.to_json(result), against.against_markdown(result), as_json, markdown)


@app.command("writes")
def writes_command(
    embedder: EmbedderName = Embedder.WORDLLAMA,
    size: Annotated[
        list[int] | None, typer.Option(min=2, help="Memories in the namespace; give it several times.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Calls of each sort a size.")] = 100,
    batch: Annotated[int, typer.Option(min=1, help="Statements in the a call that remembers many.")] = 1_000,
    folder: Annotated[Path | None, typer.Option(help="Where to put the stores, to choose the disk.")] = None,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Time observing, remembering, merging, superseding and linking beside the sync of the disk."""
    sizes = size or list(writes.SIZES)
    with progress(len(sizes) * (rounds + writes.WARM_UP_ROUNDS + 1)) as tick:
        found = [
            writes.measure(rows, embedder.value, folder=folder, rounds=rounds, batch=batch, tick=tick) for rows in sizes
        ]
    result = writes.WritesReport(machine.circumstances(), embedder.value, rounds, found)
    deliver(report.to_json(result), writes.markdown(result), as_json, markdown)


@app.command("http")
def http_command(
    db: Annotated[
        str | None, typer.Option(help="An empty store to fill, such as postgresql://... Default: SQLite.")
    ] = None,
    memories: Annotated[int, typer.Option(min=10, help="Memories that are asked about.")] = 10_000,
    workers: Annotated[int, typer.Option(min=1, help="Processes of the server.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.2, help="Seconds of each load.")] = 10.0,
    embedder: EmbedderName = Embedder.AUTO,
    mem0: Annotated[
        str | None, typer.Option(metavar="PYTHON", help="An interpreter with mem0ai and this package: mem0 as well.")
    ] = None,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Load the HTTP server with 1, 8 and 32 clients, and with 40 questions a second, beside a bare echo."""
    with http_load.new_store(None) as folder:
        url = db or f"sqlite:///{folder}/load.db"
        figures = asyncio.run(http_load.measure_load(url, memories, workers, embedder.value, seconds))
        if mem0 is not None:
            figures += asyncio.run(http_load.measure_mem0(mem0, memories, embedder.value, seconds))
    store = url.partition(":")[0]
    result = http_load.LoadReport(machine.circumstances(), store, workers, memories, figures)
    deliver(report.to_json(result), http_load.load_markdown(result), as_json, markdown)


@app.command("first-byte")
def first_byte_command(
    memories: Annotated[int, typer.Option(min=10, help="Memories that are asked about.")] = 10_000,
    questions: Annotated[int, typer.Option(min=1, help="Streams that are asked for.")] = 200,
    embedder: EmbedderName = Embedder.AUTO,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Time the first byte of streams through the proxy, and of the same upstream alone; code 1: over the gate."""
    with http_load.new_store(None) as folder, progress(questions + first_byte.WARM_UP) as tick:
        db = f"sqlite:///{folder}/load.db"
        result = first_byte.measure_first_byte(db, memories, questions, embedder.value, machine.circumstances(), tick)
    deliver(report.to_json(result), first_byte.first_byte_markdown(result), as_json, markdown)
    if not result.passes:
        raise typer.Exit(1)


@app.command("same-fact")
def same_fact_command(
    file: Annotated[Path | None, typer.Argument(help="A JSON list of [old, new, label, category, language].")] = None,
    profiles: Annotated[
        Path | None, typer.Option(help='Instead: a JSON list of {"who", "facts"}, facts that are all true at once.')
    ] = None,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Judge labelled pairs of statements, or profiles, by the rules: same fact, new value, link or different."""
    if (file is None) == (profiles is None):
        raise InvalidInput("give either a file of labelled pairs or --profiles FILE")
    if profiles is not None:
        told = truths.measure(truths.read_profiles(profiles), machine.circumstances([profiles]))
        deliver(report.to_json(told), truths.markdown(told), as_json, markdown)
    elif file is not None:
        result = same_fact.measure(same_fact.read_pairs(file), machine.circumstances([file]))
        deliver(report.to_json(result), same_fact.markdown(result), as_json, markdown)


@app.command("keep")
def keep_command(
    files: Annotated[list[Path], typer.Argument(help="Histories with labelled facts.")],
    model: Annotated[str, typer.Option(help="Base URL of an OpenAI-compatible endpoint; none: the rules.")] = "",
    name: Annotated[str, typer.Option(help="The endpoint's name of the model.")] = "model",
    small: Annotated[bool, typer.Option("--small", help="It is a small model: it lists what messages tell.")] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Instead of a model: an endpoint that says what is labelled.")
    ] = False,
    embedder: EmbedderName = Embedder.AUTO,
    as_json: Json = False,
    markdown: MarkdownFile = None,
) -> None:
    """Count what extraction keeps of labelled facts, closes when they are outdated, and keeps for nothing."""
    if labels and model:
        raise InvalidInput("give either --model or --labels")
    histories = keep.read_labelled(files)
    settings = {"extraction": "off", "embedder": embedder.value}
    with oracle.serve_labels(histories) if labels else nullcontext(model) as url:
        asked = {"chat_model": "labels" if labels else name, "chat_url": url, "chat_seconds": PATIENCE} if url else {}
        size = {"chat_model_size": "small"} if small else {}
        found = keep.measure_kept(histories, {**settings, **asked, **size})
    deliver(report.to_json(found), keep.keep_markdown(found), as_json, markdown)


def _kinds(parts: Sequence[str]) -> list[Kind]:
    """Return the systems to measure: memwarden, the floor, and the peers matching a part."""
    for part in parts:
        if not any(part.lower() in name.lower() for name in SYSTEMS):
            raise InvalidInput(f"no peer is called {part!r}; there are {', '.join(SYSTEMS)}")
    always = (BASE, FLOOR)
    wanted = [part.lower() for part in parts] or [""]
    return [item for name, item in SYSTEMS.items() if name in always or any(part in name.lower() for part in wanted)]


NOTES = (
    "LoCoMo: turn figures are over categories 1 to 4; what a shared picture shows counts as part of its turn. "
    "RealMem: sessions are the measure; its turns are those that a memory was written from, not all that help.",
    "memwarden is asked through its public API with default settings; 200 items with the bar off for the ranking.",
)


BUDGET_NOTES = (
    "memwarden is asked through its public API with default settings; `query` with 200 items at most, so that the "
    "budget decides, `block` (context) with its five. The others never leave a question without an answer; `bar off` "
    "is memwarden without its bar.",
    "RealMem: its turns are those that a memory was written from, and the evidence's words those of that memory. "
    "Elsewhere the words are those of the gold turns. Words that every 20th turn holds, or the question, do not count.",
)
