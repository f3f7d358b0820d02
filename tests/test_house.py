"""The house keeps its own rules: names, sizes, English, and a glossary that knows every public noun."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import measures
import memwarden

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/memwarden"
GLOSSARY = ROOT / "docs/glossary.md"


class House(NamedTuple):
    """What is measured over all modules."""

    classes: dict[str, list[str]]
    functions: set[str]
    lines: dict[str, int]
    ones: int
    comments: int


@cache
def house() -> House:
    classes: dict[str, list[str]] = defaultdict(list)
    lines, ones, comments = {}, 0, 0
    for place, tree in measures.trees().items():
        text = measures.texts()[place]
        lines[place] = text.count("\n")
        ones += len(re.findall(r"\bone\b", text))
        comments += len(measures.comments(text))
        for node in measures.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(place)
    functions = {function.name for function in measures.functions() if not function.name.startswith("__")}
    return House(dict(classes), functions, lines, ones, comments)


def test_no_class_name_is_used_twice() -> None:
    assert not {name: places for name, places in house().classes.items() if len(places) > 1}


def test_few_names_are_bare_participles() -> None:
    """``Found`` and ``settled`` say that something was done, not what the thing is or does."""
    classes = [name for name in house().classes if measures.is_bare_participle(name)]
    functions = [name for name in house().functions if measures.is_bare_participle(name)]
    assert len(classes) <= 0.01 * len(house().classes), classes
    assert len(functions) <= 0.02 * len(house().functions), sorted(functions)


def test_the_word_one_is_rare() -> None:
    """As a pronoun it hides the noun that a stranger needs."""
    assert 1_000 * house().ones <= 5 * sum(house().lines.values())


def test_comments_say_why_now_and_then() -> None:
    share = 100 * house().comments / sum(house().lines.values())
    assert 2 <= share <= 4


def test_functions_are_short() -> None:
    lengths = [function.lines for function in measures.functions()]
    assert lengths[int(0.9 * len(lengths))] <= 20
    assert not [function for function in measures.functions() if function.lines > 100]


CEILINGS = [(table, name) for table, values in measures.ceilings().items() for name in values]


@pytest.mark.parametrize(("table", "name"), CEILINGS)
def test_no_value_is_above_its_ceiling(table: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A ceiling may only fall. Values well below it are named, so that somebody lowers it."""
    measured, ceiling = measures.measure()[table][name], measures.ceilings()[table][name]
    assert measured.value <= measures.highest(ceiling), (
        f"{table}: {name!r} rose to {measured.value:.1f}; tests/ceilings.toml allows {ceiling}. "
        f"Most of them: {', '.join(measured.worst)}"
    )
    if measured.value < 0.9 * ceiling - measures.SLACK_ABOVE_ZERO:
        with capsys.disabled():
            hint = "lower its ceiling: python tests/measures.py --lower"
            sys.stdout.write(f"\n{table}: {name!r} fell to {measured.value:.1f}; {hint}\n")


def test_every_value_has_a_ceiling() -> None:
    assert {(table, name) for table, values in measures.measure().items() for name in values} == set(CEILINGS)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f():\n    found = 1\n    for told in x: pass", ["found", "told"]),
        ("def f():\n    with x as (held, file): pass\n    return [kept for kept in held]", ["held", "kept"]),
        ("def f(found):\n    return found", []),
        ("stored = 1\ndef f():\n    stored_turns, speed = 1, 2", []),
        ("def f():\n    def g():\n        settled = 1", ["settled"]),
    ],
)
def test_locals_that_are_participles_are_found(code: str, names: list[str]) -> None:
    assert sorted(measures.participle_locals(ast.parse(code))) == names


def test_prose_is_docstrings_and_comments() -> None:
    code = '"""A.\n\nB; c."""\nx = "d"  # E.\nMAX = 1\n"""F."""\ndef f():\n    """G."""\n    return "h"'
    assert list(measures.docstrings(ast.parse(code))) == ["A.\n\nB; c.", "F.", "G."]
    assert list(measures.comments(code)) == ["E."]
    assert measures.sentences("A b. C?\n\nD: e; f") == ["A b.", "C?", "D: e; f"]


@pytest.mark.parametrize(
    ("line", "habits"),
    [
        ("Tells what is open; nobody stands beside it.", "tell,headless clause,semicolon,nobody,stand,beside"),
        ("Of memories that lie at home so far, whoever asks.", "of at the start,lie,at home,so many,whoever"),
        ("A sign in a large letter is no word.", "sign,large letter,is no"),
        ("What is a memory? Returns the signature of it, as the caller says what to do.", ""),
    ],
)
def test_habits_are_counted(line: str, habits: str) -> None:
    counted = {name for name, habit in measures.HABITS.items() if habit.search(line)}
    assert counted == set(filter(None, habits.split(",")))


@pytest.mark.parametrize(
    ("first", "several"),
    [("Cache of vectors.", False), ("Cache of a band.", False), ("Cache; limits.", True), ("Keys and grants.", True)],
)
def test_a_first_line_of_several_subjects_is_found(first: str, several: bool) -> None:
    assert measures.joins_subjects(ast.parse(f'"""{first}\n\nMore and more."""')) == several


# --- references


def resolves(target: str) -> bool:
    """Whether a dotted path names a module of ours, an object in it, or a field of a class."""
    parts = target.split(".")
    for end in range(len(parts), 0, -1):
        try:
            owner: object = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        return all((owner := child_of(owner, name)) is not None for name in parts[end:])
    return False


def child_of(owner: object, name: str) -> object:
    """The attribute of an object; for a field without a default, the name of its type."""
    if hasattr(owner, name):
        return getattr(owner, name) or True
    classes = owner.__mro__ if isinstance(owner, type) else ()
    return next((item.__annotations__[name] for item in classes if name in getattr(item, "__annotations__", ())), None)


def test_references_of_docstrings_resolve() -> None:
    role = re.compile(r":(?:mod|func|class|meth|data|attr|exc):`[~!]?(memwarden[\w.]*)`")
    dead = [
        f"{place}: {target}"
        for place, text in measures.texts().items()
        for target in role.findall(text)
        if not resolves(target)
    ]
    assert not dead


@pytest.mark.parametrize(
    ("target", "there"),
    [
        ("memwarden", True),
        ("memwarden.Warden", True),
        ("memwarden.api.scope.AsyncScope.query", True),
        ("memwarden.records.memory.Memory.text", True),
        ("memwarden.api.scope.AsyncScope.forgotten_verb", False),
        ("memwarden.nowhere", False),
    ],
)
def test_dead_references_are_found(target: str, there: bool) -> None:
    assert resolves(target) == there


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_functions_and_classes_that_a_page_names_exist(page: str) -> None:
    """Written as `folder/module.py:name`, below the package."""
    named = re.findall(r"`([\w/]+)\.py:(\w+(?:\.\w+)?)`", (ROOT / page).read_text("utf-8"))
    assert named
    assert not [(path, name) for path, name in named if not resolves(f"memwarden.{path.replace('/', '.')}.{name}")]


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


# --- modules of decisions

# Decisions know no engine, no network, no process and no event loop.
IO_PACKAGES = frozenset(
    "asyncio filelock httpx2 os psycopg shutil socket sqlite3 subprocess tempfile threading".split()
)


def decision_modules() -> dict[str, list[str]]:
    """The modules of the table in ARCHITECTURE.md, each with the functions that its row names."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    table = text.partition("## Modules of decisions\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    rows = [re.findall(r"`([^`]+)`", cell) for cell in cells]
    return {
        module: [name for name in (first, *others) if name]
        for module, first, others in ((*row[0].partition(":")[::2], row[1:]) for row in rows)
    }


DECISIONS = decision_modules()


def unit_tests_of(module: str) -> Path:
    """The file of unit tests of a module: by its name, or by that of its folder and its own."""
    path = Path(module)
    longer = ROOT / f"tests/unit/test_{path.parent.name}_{path.stem}.py"
    return longer if longer.exists() else ROOT / f"tests/unit/test_{path.stem}.py"


def functions_of(module: str) -> dict[str, ast.AST]:
    tree = measures.trees()[module]
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("module", DECISIONS)
def test_decisions_are_made_without_io(module: str) -> None:
    """A module in whole, or the functions that its row names where the rest of it reads and writes."""
    names = DECISIONS[module]
    tree = measures.trees()[module]
    parts = [functions_of(module)[name] for name in names] or [tree]
    nodes = [node for part in parts for node in ast.walk(part)]
    assert not [node for node in nodes if isinstance(node, ast.AsyncFunctionDef | ast.Await)]
    if not names:
        imported = [item.name for node in nodes if isinstance(node, ast.Import) for item in node.names]
        imported += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        assert not {name.partition(".")[0] for name in imported} & IO_PACKAGES


@pytest.mark.parametrize("module", DECISIONS)
def test_each_module_of_decisions_has_unit_tests(module: str) -> None:
    """Its file imports the module, the functions of its row among others, and holds tests."""
    tree = ast.parse(unit_tests_of(module).read_text("utf-8"))
    path = f"memwarden.{module.removesuffix('.py').replace('/', '.')}"
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {item.name for node in imports if node.module == path for item in node.names}
    whole = {f"{node.module}.{item.name}" for node in imports for item in node.names}
    assert names or path in whole
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | names
    assert set(DECISIONS[module]) <= used
    assert [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def test_the_table_of_decisions_is_read() -> None:
    assert len(DECISIONS) >= 20
    assert DECISIONS["lifecycle.py"] == []
    assert DECISIONS["remember/resolve/resolution.py"] == ["resolve", "may_merge", "judge_pair"]


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
    return measures.parse_all({str(path.relative_to(TESTS)): path.read_text("utf-8") for path in found})


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in {"_", *PUBLIC_THOUGH_UNDERLINED}


def is_own(node: ast.expr) -> bool:
    """Whether an attribute is of the object that the code belongs to, its base class's part included."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def private_names(tree: ast.Module) -> Iterator[str]:
    """Names that a test takes from another object: by a dot, by ``setattr`` or ``getattr``, by an import."""
    for node in measures.walk(tree):
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
    """ADAPTERS ALIASES CLASSIC_TEMPLATE COMMANDS CONTENT FEATURES FIELDS FORMATS GATES LANGUAGES
    LEAN_TEMPLATE ROLES SCHEMA SYSTEM TERMS_VERSION""".split()
)


def test_what_a_contract_says_stands_in_its_test() -> None:
    """A test that imports the figure which it checks stays green when the figure changes."""
    imported = {
        (file, item.name)
        for file, tree in parsed_tests().items()
        if Path(file).name.startswith("test_") and file != "test_house.py"
        for node in measures.walk(tree)
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
        ".".join(("memwarden", *Path(place).with_suffix("").parts)).removesuffix(".__init__"): tree
        for place, tree in measures.trees().items()
    }
    assert on_a_cycle({name: imports_of(name, tree, trees) for name, tree in trees.items()}) == set()


def test_a_cycle_of_lazy_imports_is_found() -> None:
    texts = {"a": "def f():\n    from b import g", "b": "import c", "c": "import a, d", "d": "", "e": "import a"}
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from b import g"
    trees = {name: ast.parse(text) for name, text in texts.items()}
    assert on_a_cycle({name: imports_of(name, tree, trees) for name, tree in trees.items()}) == {"a", "b", "c"}
    trees["a"] = ast.parse(typed)
    assert on_a_cycle({name: imports_of(name, tree, trees) for name, tree in trees.items()}) == set()
