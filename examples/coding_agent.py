"""A coding agent with three memories: of its task, of its project, and of what holds everywhere.

    python examples/coding_agent.py [URL OF A STORE]

It mends a bug in a project of two files, for real: it runs the project's test, changes the code and runs it again. What
stands for the language model here is a few plain rules, since examples run without one; where `think` is called, a real
agent would send the context to its model.

The first task learns something, which is promoted to the project on purpose, and goes. The second task, of the same
project, begins with what was learned; a task of another project does not see it.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from memwarden import ContextRequest, FailureSignature, Profile, Task, Warden

BUGGY = "def total(prices):\n    return sum(prices) / len(prices)\n"
TEST = "from shop import total\n\nassert total([2, 4]) == 6, f'total([2, 4]) is {total([2, 4])}, not 6'\nprint('ok')\n"
PROFILES = {"coder": Profile({"task": 0.5, "project": 0.3, "global": 0.2}, head_tail_preserve=2)}


def ask_the_person(question: str) -> bool:
    """Stands for a window with two buttons."""
    print(f"? {question} yes")
    return True


def run_test(folder: Path) -> dict[str, object]:
    """The agent's tool: run the project's test and tell how it ended."""
    done = subprocess.run([sys.executable, "test_shop.py"], cwd=folder, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip().splitlines()
    return {"passed": done.returncode == 0, "said": said[-1] if said else ""}


def think(context: str) -> str:
    """Stands for the model: reads the context and says what to do next."""
    if '"passed": true' in context:
        return "The test passes. Done."
    if "not 6" in context:
        return "total() divides by the number of prices, which is a mean. Return the sum."
    return "Run the test first, to see what fails."


def fix_the_bug(warden: Warden, folder: Path) -> None:
    """The first task: run, think, change, run; then keep what was learned and let go of the rest."""
    task = Task("fix-total", {"project_id": "shop"})
    memory, project = warden.tiers.task(task.task_id), warden.tiers.project("shop")
    assembler = warden.tiers.assembler(profiles=PROFILES)
    for stage in ("look", "fix", "check"):
        package = assembler.build_context(
            task, ContextRequest(400, query="What do we know of total()?", profile="coder")
        )
        thought = memory.add_reasoning(think(package.text), stage)
        print(f"{stage}: {thought.payload['text']}")
        if stage == "fix":
            (folder / "shop.py").write_text("def total(prices):\n    return sum(prices)\n", encoding="utf-8")
        memory.add_tool_output("run_test", run_test(folder))
    (cause,) = memory.get_stage_outputs("fix")
    memory.promote(cause.context_item_id, "shop")
    project.add_failure(FailureSignature("wrong_result", "total() was a mean"), "Test sums with more than one price.")
    project.add_decision("Prices are whole cents; total() never divides.", ["prices"])
    warden.tiers.global_store(confirmation_callback=ask_the_person).add_preference(
        "Run the test before a change.", "tools"
    )
    memory.enter_state("completed")
    print(f"left of the task: {memory.count()}; known of the project: {project.count()}")


def show(warden: Warden, task: Task) -> str:
    """The context that a task begins with, and why each item is in it."""
    request = ContextRequest(300, query="How shall I change how a total of prices is computed?", threshold=0.0)
    package = warden.tiers.assembler().build_context(task, request)
    print(f"\n{task.task_id} of {task.metadata['project_id']}, {package.tokens} of 300 tokens:\n{package.text}")
    for item in package.included:
        print(f"  in: {item.tier} {item.item.kind}: {item.reason}")
    for item in package.left_out:
        print(f"  out: {item.tier} {item.gate}: {item.reason}")
    return package.text


def main(url: str) -> None:
    """Run the three tasks."""
    with Warden.open(url) as warden, TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "shop.py").write_text(BUGGY, encoding="utf-8")
        (folder / "test_shop.py").write_text(TEST, encoding="utf-8")
        fix_the_bug(warden, folder)
        next_task = show(warden, Task("add-discounts", {"project_id": "shop"}))
        other = show(warden, Task("first-steps", {"project_id": "garden"}))
        assert run_test(folder)["passed"]
        assert "total() never divides" in next_task
        assert "total" not in other
        assert "Run the test before a change." in other


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory://")
