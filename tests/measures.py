"""Measures of the source code that ``tests/ceilings.toml`` limits.

``python tests/measures.py`` prints each value with its ceiling. ``python tests/measures.py --lower`` writes values that
fell into the file.
"""

from __future__ import annotations

import ast
import gc
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/memwarden"
CEILINGS = Path(__file__).with_name("ceilings.toml")

PARTICIPLES = frozenset(
    """asked begun bound broken brought built chosen done drawn felt fit found given gone grown heard held kept known
    laid led left lost made meant met paid put read rung said seen sent set shown shut spent spoken stood sunk taken
    taught thought told understood won worn written""".split()
)
"""Irregular participles. Regular ones end with "ed"."""
NOT_PARTICIPLES = frozenset("embed exceed feed indeed need proceed seed speed succeed".split())

# Habits that make prose hard to read for a stranger (CONTRIBUTING.md, "Names and English"). Each match counts.
HABITS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "tell": r"\b(tell|tells|told|telling)\b",
        "stand": r"\b(stand|stands|stood|standing)\b",
        "lie": r"\b(lie|lies|lay|lying)\b",
        "beside": r"\bbeside\b",
        "nobody": r"\b(no|some|any|every)body('s)?\b",
        "whoever": r"\b(who|what|whom|whomso|whoso)ever\b|\bwhom\b",
        "headless clause": r"\bwhat (is|was|has|needs?|waits?|comes?|may|would|does|begins?|ends?|holds?|says?|shows?"
        r"|follows?|it|they"
        r"|a|the|nobody|belongs?|replaced)\b(?![^.;]*\?)",
        "is no": r"\b(is|are|was|were) no\b",
        "so many": r"\bso (many|much|far|long|few|often)\b",
        "sign": r"\bsigns?\b",
        "large letter": r"\b(large|small) letters?\b|\bwritten (large|small)\b",
        "at home": r"\bat home\b",
        "semicolon": r";",
        "of at the start": r"^of [a-z]",
    }.items()
}
MAX_SENTENCE_WORDS = 20
# Common words of languages other than English, beside every word with a letter that English lacks. Words of languages
# are data of the package "text".
FOREIGN_WORDS = frozenset(
    """aber auch heute gestern morgen ich immer jeder kein keine mein meine nicht niemals oder und unser wann warum wenn
    wir ayer cuando desde donde hasta hoy mi mis nuestro nuestra nunca para pero por porque siempre chaque demain depuis
    hier jamais mais mon notre nous pour pourquoi quand toujours une quando perché sempre oggi ieri wanneer waarom
    niet""".split()
)
LANGUAGES_PACKAGE = "text"
# Values change a little when code moves or goes, for which the ceiling does not have to be raised.
SLACK = 1.03
SLACK_ABOVE_ZERO = 0.3


class Function(NamedTuple):
    """Name, place and number of lines of a function, its docstring included."""

    name: str
    place: str
    lines: int


class Value(NamedTuple):
    """A measured value with the modules that contribute most to it."""

    value: float
    worst: tuple[str, ...]


@cache
def texts() -> dict[str, str]:
    """The source text of each module, by its path below the package."""
    return {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}


def parse_all(sources: Mapping[str, str]) -> dict[str, ast.Module]:
    """Parse modules without the garbage collector, which takes twice as long as the parser: every node stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return {place: ast.parse(text) for place, text in sources.items()}
    finally:
        if was_enabled:
            gc.enable()


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of each module, by its path below the package."""
    return parse_all(texts())


@cache
def walk(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Every node of a tree, parents first."""
    return tuple(ast.walk(tree))


@cache
def line_count() -> int:
    return sum(text.count("\n") for text in texts().values())


@cache
def functions() -> tuple[Function, ...]:
    """Every function and method, shortest first."""
    every = [
        Function(node.name, place, (node.end_lineno or 0) - node.lineno + 1)
        for place, tree in trees().items()
        for node in walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return tuple(sorted(every, key=lambda function: function.lines))


def is_bare_participle(name: str) -> bool:
    """Whether a name is a single participle, for example "found" or "Settled"."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name.strip("_"))
    if len(parts) != 1:
        return False
    word = parts[0].lower()
    return word in PARTICIPLES or (word.endswith("ed") and len(word) > 4 and word not in NOT_PARTICIPLES)


def participle_locals(tree: ast.AST) -> Iterator[str]:
    """Local variables that are bare participles, once for each function that sets them."""
    for function in walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {node.id for node in own_nodes(function) if isinstance(node, ast.Name) and is_set(node)}
            yield from (name for name in names if is_bare_participle(name))


def own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    open_nodes: list[ast.AST] = [*function.body]
    while open_nodes:
        node = open_nodes.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            open_nodes.extend(ast.iter_child_nodes(node))


def is_set(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


@cache
def docstrings(tree: ast.Module) -> tuple[str, ...]:
    """Docstrings of the module, its classes and functions, and strings that document a constant."""
    values = [
        item.value
        for node in walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        for item in node.body
        if isinstance(item, ast.Expr)
    ]
    return tuple(item.value for item in values if isinstance(item, ast.Constant) and isinstance(item.value, str))


@cache
def comments(text: str) -> tuple[str, ...]:
    """The comments of a module without their mark."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return tuple(token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT)


@cache
def prose() -> dict[str, tuple[str, ...]]:
    """The lines of docstrings and comments of each module, without empty lines."""
    return {
        place: tuple(
            line.strip()
            for part in (*docstrings(trees()[place]), *comments(text))
            for line in part.splitlines()
            if line.strip()
        )
        for place, text in texts().items()
    }


def count_matches(habit: re.Pattern[str]) -> dict[str, int]:
    """How often a habit occurs in the prose of each module."""
    return {place: sum(len(habit.findall(line)) for line in lines) for place, lines in prose().items()}


def sentences(text: str) -> list[str]:
    """The sentences of a docstring's text, cut at full stops and empty lines."""
    return [part for part in re.split(r"(?<=[.!?])\s+|\n\s*\n", text) if part.strip()]


def foreign_words(tree: ast.Module) -> int:
    """Number of words of languages other than English in the string literals of a module, docstrings left out."""
    documents = set(docstrings(tree))
    literals = {node.value for node in walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words = [word for text in literals - documents for word in re.findall(r"[^\W\d_]+", text)]
    return sum(not word.isascii() or word.lower() in FOREIGN_WORDS for word in words)


def count_foreign_words() -> dict[str, Value]:
    """Number of foreign words of each package that has some, without the package of languages."""
    counts = {place: foreign_words(tree) for place, tree in trees().items()}
    packages = {place.partition("/")[0] for place in counts if counts[place]} - {LANGUAGES_PACKAGE}
    return {
        package: _rate({place: count for place, count in counts.items() if place.startswith(package)}, 1, 1)
        for package in sorted(packages)
    }


def joins_subjects(tree: ast.Module) -> bool:
    """Whether the first line of a module's docstring names several subjects."""
    first = (ast.get_docstring(tree) or "").partition("\n")[0]
    return re.search(r"\band\b|;", first) is not None


def _rate(counts: Mapping[str, int], total: int, unit: int) -> Value:
    worst = sorted((place for place in counts if counts[place]), key=lambda place: -counts[place])[:5]
    return Value(unit * sum(counts.values()) / total, tuple(f"{place} ({counts[place]})" for place in worst))


@cache
def measure() -> dict[str, dict[str, Value]]:
    """Every value that has a ceiling, by the tables of the file."""
    prose_lines = sum(map(len, prose().values()))
    english = {name: _rate(count_matches(habit), prose_lines, 1_000) for name, habit in HABITS.items()}
    parts = {place: [part for text in docstrings(tree) for part in sentences(text)] for place, tree in trees().items()}
    long = {place: sum(len(part.split()) > MAX_SENTENCE_WORDS for part in own) for place, own in parts.items()}
    english["long sentence"] = _rate(long, sum(map(len, parts.values())), 1_000)
    participles = {place: sum(1 for _ in participle_locals(tree)) for place, tree in trees().items()}
    joined = {place: int(joins_subjects(tree)) for place, tree in trees().items()}
    return {
        "languages": count_foreign_words(),
        "english": english,
        "names": {
            "participle locals": _rate(participles, line_count(), 1_000),
            "modules of several subjects": _rate(joined, len(trees()), 100),
        },
    }


@cache
def ceilings() -> dict[str, dict[str, float]]:
    """The highest accepted values, by table and name."""
    tables: dict[str, dict[str, float]] = tomllib.loads(CEILINGS.read_text("utf-8"))
    return tables


def highest(ceiling: float) -> float:
    """The value that fails: the ceiling with its slack."""
    return ceiling * SLACK + SLACK_ABOVE_ZERO


def lower_ceilings() -> None:
    """Write each value that is below its ceiling into the file. No ceiling rises."""
    lines = CEILINGS.read_text("utf-8").splitlines()
    table = ""
    for number, line in enumerate(lines):
        if line.startswith("["):
            table = line.strip("[]")
        elif match := re.match(r'("?([^"=#]+?)"? = )[\d.]+', line):
            value = min(round(measure()[table][match[2]].value, 1), ceilings()[table][match[2]])
            lines[number] = f"{match[1]}{value}{line[match.end() :]}"
    CEILINGS.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    if "--lower" in sys.argv[1:]:
        lower_ceilings()
        ceilings.cache_clear()
    for table, values in measure().items():
        for name, measured in values.items():
            worst = ", ".join(measured.worst)
            sys.stdout.write(f"{table}: {name} {measured.value:.1f}, ceiling {ceilings()[table][name]}; {worst}\n")


if __name__ == "__main__":
    main()
