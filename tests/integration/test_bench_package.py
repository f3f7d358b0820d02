"""The benchmark is a package of its own: the product runs without it and says how to get it."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITHOUT_BENCH = """
import sys
sys.modules["memwarden_bench"] = None  # as if it were not installed: importing it raises ImportError
from memwarden.surfaces.cli.main import main
main(sys.argv[1:])
"""


def run_without_bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_BENCH, *words], capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("words", [("bench",), ("bench", "--help"), ("bench", "quality", "chat.json")])
def test_without_the_package_the_command_says_how_to_get_it(words: tuple[str, ...]) -> None:
    done = run_without_bench(*words)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "memwarden: the benchmark is a package of its own; install it with: pip install memwarden-bench\n"
    )


def test_without_the_package_every_other_command_works() -> None:
    done = run_without_bench("--help")
    assert done.returncode == 0
    assert "bench" in done.stdout
    assert run_without_bench("version").returncode == 0


def test_the_wheel_holds_the_product_only() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    assert build["targets"]["wheel"] == {"packages": ["src/memwarden"]}
    assert not list((ROOT / "src").rglob("*bench*"))
    assert [path.name for path in (ROOT / "src").iterdir() if path.is_dir()] == ["memwarden"]


def test_the_package_of_the_benchmark_names_what_it_imports() -> None:
    """A package that is used and not declared breaks on somebody else's machine only."""
    project = tomllib.loads((ROOT / "bench/pyproject.toml").read_text("utf-8"))["project"]
    declared = {name.partition(">")[0] for name in project["dependencies"]}
    assert {"memwarden", "msgspec", "numpy", "rich", "typer"} == declared
    imported = {
        name.partition(".")[0]
        for path in (ROOT / "bench/memwarden_bench").rglob("*.py")
        for name in top_imports(ast.parse(path.read_text("utf-8")))
    }
    assert imported - set(sys.stdlib_module_names) <= {*declared, "memwarden_bench"}


def top_imports(tree: ast.Module) -> list[str]:
    """Packages that a module imports when it is itself imported."""
    names: list[str] = []
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            names += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            names.append(statement.module)
    return names
