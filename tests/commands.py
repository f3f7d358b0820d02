"""Commands of ``memwarden`` in the process of the tests, which spares the second that a process takes to start."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from subprocess import CompletedProcess

from memwarden.surfaces.cli.main import run


def run_here(*words: str) -> CompletedProcess[str]:
    """Run a command and return its exit code, output and errors as ``subprocess.run`` does."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = run(words)
    return CompletedProcess(["memwarden", *words], code, out.getvalue(), err.getvalue())
