"""What a model said, gathered while it is handed on: the words of one answer after another."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Answer:
    """The words of one answer so far. id: the caller's id of it."""

    id: str | None = None
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it. What a provider split inside of a character is one again; half a one alone is a mark (U+FFFD)."""
        whole = "".join(self.pieces)
        try:
            whole.encode()
        except UnicodeEncodeError:
            whole = whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole


class Heard:
    """The answers of a turn, in order; more than one where a model calls tools in between."""

    def __init__(self) -> None:
        self._answers: list[Answer] = []

    def begin(self, id: str | None = None) -> Answer:
        """Begin an answer."""
        self._answers.append(Answer(id))
        return self._answers[-1]

    @property
    def answers(self) -> list[Answer]:
        """The answers that have words."""
        return [one for one in self._answers if one.text.strip()]

    @property
    def size(self) -> int:
        """How many pieces were heard."""
        return sum(len(one.pieces) for one in self._answers)
