"""The house keeps its own rules: names, sizes, English, and a glossary that knows every public noun."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import memwarden

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/memwarden"
WORDS_THAT_ARE_PARTICIPLES = frozenset(
    """asked begun bound broken brought built chosen done drawn felt fit found given gone grown heard held kept known
    laid led left lost made meant met paid put read rung said seen sent set shown shut spent spoken stood sunk taken
    taught thought told understood won worn written""".split()
)
GLOSSARY = ROOT / "docs/glossary.md"


class House(NamedTuple):
    """What is measured over all modules."""

    classes: dict[str, list[str]]
    functions: set[str]
    lengths: list[int]
    lines: dict[str, int]
    ones: int
    comments: int


@cache
def parsed_modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


@cache
def house() -> House:
    classes: dict[str, list[str]] = defaultdict(list)
    functions: set[str] = set()
    lengths, lines, ones, comments = [], {}, 0, 0
    for path, tree in parsed_modules().items():
        text = path.read_text("utf-8")
        place = str(path.relative_to(SOURCE))
        lines[place] = text.count("\n")
        ones += len(re.findall(r"\bone\b", text))
        comments += sum(
            token.type == tokenize.COMMENT for token in tokenize.generate_tokens(io.StringIO(text).readline)
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(place)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lengths.append((node.end_lineno or 0) - node.lineno + 1)
                if not node.name.startswith("__"):
                    functions.add(node.name)
    return House(dict(classes), functions, sorted(lengths), lines, ones, comments)


def is_bare_participle(name: str) -> bool:
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name.strip("_"))
    if len(parts) != 1:
        return False
    word = parts[0].lower()
    return word in WORDS_THAT_ARE_PARTICIPLES or (word.endswith("ed") and len(word) > 4)


def test_no_class_name_is_used_twice() -> None:
    assert not {name: places for name, places in house().classes.items() if len(places) > 1}


def test_few_names_are_bare_participles() -> None:
    """``Found`` and ``settled`` say that something was done, not what the thing is or does."""
    classes = [name for name in house().classes if is_bare_participle(name)]
    functions = [name for name in house().functions if is_bare_participle(name)]
    assert len(classes) <= 0.01 * len(house().classes), classes
    assert len(functions) <= 0.02 * len(house().functions), sorted(functions)


def test_the_word_one_is_rare() -> None:
    """As a pronoun it hides the noun that a stranger needs."""
    assert 1_000 * house().ones <= 5 * sum(house().lines.values())


def test_comments_say_why_now_and_then() -> None:
    share = 100 * house().comments / sum(house().lines.values())
    assert 2 <= share <= 4


def test_functions_are_short() -> None:
    lengths = house().lengths
    assert lengths[int(0.9 * len(lengths))] <= 20
    assert sum(length > 35 for length in lengths) <= 0.02 * len(lengths)


def test_modules_have_plain_names() -> None:
    vague = re.compile(r"(core|engine|service|manager|helpers?|utils?|common|handlers?|impl|v\d+)")
    assert not [place for place in house().lines if vague.fullmatch(Path(place).stem)]


def test_limits_are_named_as_limits() -> None:
    found = [
        (path.name, name)
        for path in SOURCE.rglob("*.py")
        for name in re.findall(
            r"^_?((?:MOST|LONGEST|ALIKE|SURE|ENOUGH|TRIES)(?:_\w+)?)\b.*=", path.read_text("utf-8"), re.M
        )
    ]
    assert not found


def test_code_does_without_the_ids_of_the_designs() -> None:
    ids = re.compile(r"\([A-F]\d{1,2}\b[^)]*\)|\bdesign [A-E]\b|\bdecisions? \d\.\d", re.IGNORECASE)
    assert not {
        str(path.relative_to(SOURCE)): found
        for path in SOURCE.rglob("*.py")
        if (found := ids.findall(path.read_text("utf-8")))
    }


# --- the glossary


def glossary(section: str) -> list[str]:
    """The words of a table, several of a row too."""
    text = GLOSSARY.read_text("utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (.+?) \|", text, re.MULTILINE)
    return [word for cell in cells for word in re.findall(r"\*\*(.+?)\*\*|`(\w+)`", cell) for word in word if word]


@pytest.mark.parametrize("section", ["Words", "Classes"])
def test_the_glossary_has_each_word_once_and_in_order(section: str) -> None:
    words = glossary(section)
    assert len(words) > 40
    assert len(words) == len(set(words))
    firsts = [word for word in words if word not in ("Warden", "BoundScope")]  # beside its async twin
    assert firsts == sorted(firsts, key=str.lower)


def test_the_glossary_knows_every_public_class() -> None:
    public = {name for name in memwarden.__all__ if isinstance(getattr(memwarden, name), type)}
    named = set(re.findall(r"`([A-Z][a-z]\w+)\b", (ROOT / "docs/reference/python.md").read_text("utf-8")))
    named = {name for name in named if name in house().classes}
    assert not (public | named) - set(glossary("Classes"))


def test_every_class_in_the_glossary_is_there() -> None:
    assert set(glossary("Classes")) <= set(house().classes)


# --- the tests

TESTS = ROOT / "tests"
PUBLIC_THOUGH_UNDERLINED = frozenset({"_asdict", "_fields", "_make", "_replace", "_exit"})
"""Of a named tuple, and the exit of a process that cleans up nothing."""


@cache
def parsed_tests() -> dict[str, ast.Module]:
    found = [path for path in sorted(TESTS.rglob("*.py")) if "node_modules" not in path.parts]
    return {str(path.relative_to(TESTS)): ast.parse(path.read_text("utf-8")) for path in found}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in {"_", *PUBLIC_THOUGH_UNDERLINED}


def is_own(node: ast.expr) -> bool:
    """Whether an attribute is of the object that the code belongs to, its base class's part included."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def private_names(tree: ast.Module) -> Iterator[str]:
    """Names that a test takes from another object: by a dot, by ``setattr`` or ``getattr``, by an import."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=owner, attr=name) if is_private(name) and not is_own(owner):
                yield f"{node.lineno}: {ast.unparse(node)}"
            case ast.ImportFrom(module=str(module), names=names) if module.partition(".")[0].startswith("memwarden"):
                yield from (f"{node.lineno}: {item.name}" for item in names if is_private(item.name))
            case ast.Call(func=ast.Attribute(attr="setattr" | "delattr") | ast.Name(id="setattr" | "getattr")):
                named = [item.value for item in node.args if isinstance(item, ast.Constant)]
                last = [item.rpartition(".")[2] for item in named if isinstance(item, str)]
                yield from (f"{node.lineno}: {name}" for name in last if is_private(name))


# It measures each function that reads a text by itself, those of a module's own too.
MEASURES_EVERY_FUNCTION = "unit/test_growth.py"


def test_no_test_reaches_into_another_objects_private_attributes() -> None:
    trees = {file: tree for file, tree in parsed_tests().items() if file != MEASURES_EVERY_FUNCTION}
    assert not {file: found for file, tree in trees.items() if (found := [*private_names(tree)])}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("warden._runtime", True),
        ("a.b()._c.d", True),
        ("monkeypatch.setattr(recall, '_read', failing)", True),
        ("monkeypatch.setattr('memwarden.tokens._known', {})", True),
        ("getattr(store, '_state')", True),
        ("from memwarden.stores import _rows", True),
        ("self._kept; super()._connect(); cls._made", False),
        ("row._replace(size=1); os._exit(1); x.__dict__", False),
        ("monkeypatch.setattr(recall, 'read', failing)", False),
        ("{'_metadata': 1}", False),
    ],
)
def test_private_names_are_found(code: str, found: bool) -> None:
    assert bool([*private_names(ast.parse(code))]) == found


# Tables whose every entry is tried, and objects that are handed to the product. No figure, no word of a contract.
CONSTANTS_THAT_TESTS_MAY_IMPORT = frozenset(
    """ALIASES CLASSIC_TEMPLATE COMMANDS CONTENT FEATURES FIELDS FORMATS GATES GUARDS LANGUAGES
    LEAN_TEMPLATE SCHEMA SYSTEM TERMS_VERSION""".split()
)


def test_what_a_contract_says_stands_in_its_test() -> None:
    """A test that imports the figure which it checks stays green when the figure changes."""
    imported = {
        (file, item.name)
        for file, tree in parsed_tests().items()
        if Path(file).name.startswith("test_") and file != "test_house.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "memwarden"
        if not (node.module or "").startswith("memwarden.testing")
        for item in node.names
        if item.name.isupper()
    }
    assert {(file, name) for file, name in imported if name not in CONSTANTS_THAT_TESTS_MAY_IMPORT} == set()
    assert {name for _, name in imported} == CONSTANTS_THAT_TESTS_MAY_IMPORT


def imports_of(name: str, tree: ast.Module, modules: Container[str]) -> set[str]:
    """The modules of ours that a module imports, in functions too; not what types alone need."""
    nodes = [*ast.walk(tree)]
    types = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    found: set[str] = set()
    for node in nodes:
        if id(node) in types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            named = [f"{node.module}.{item.name}" for item in node.names]
            found.update(item if item in modules else node.module for item in named)
        elif isinstance(node, ast.Import):
            found.update(item.name for item in node.names)
    return {item for item in found if item in modules} - {name}


def on_a_cycle(imports: Mapping[str, Collection[str]]) -> set[str]:
    """The modules that import themselves by way of others: all that are left when those without imports go in turn."""
    left = {name: set(others) for name, others in imports.items()}
    while ends := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in ends}
    while unused := left.keys() - {other for others in left.values() for other in others}:
        left = {name: others for name, others in left.items() if name not in unused}
    return set(left)


def test_no_import_cycle_lazy_imports_included() -> None:
    trees = {
        ".".join(("memwarden", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): tree
        for path, tree in parsed_modules().items()
    }
    assert on_a_cycle({name: imports_of(name, tree, trees) for name, tree in trees.items()}) == set()


def test_a_cycle_of_lazy_imports_is_found() -> None:
    texts = {"a": "def f():\n    from b import g", "b": "import c", "c": "import a, d", "d": "", "e": "import a"}
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from b import g"
    trees = {name: ast.parse(text) for name, text in texts.items()}
    assert on_a_cycle({name: imports_of(name, tree, trees) for name, tree in trees.items()}) == {"a", "b", "c"}
    trees["a"] = ast.parse(typed)
    assert on_a_cycle({name: imports_of(name, tree, trees) for name, tree in trees.items()}) == set()
