"""A server of mem0's library, as mem0's own repository has it: its verbs behind routes of FastAPI, in threads.

mem0's package brings no server of its own. Its embedder is replaced by the shared model, and no language model is
called.
``python -m memwarden_bench.mem0_server PORT FOLDER EMBEDDER MEMORIES``
"""

# Annotations are no texts here: FastAPI reads those of the routes.

import sys
from pathlib import Path

from memwarden_bench.sentences import turns
from memwarden_bench.systems import Mem0, model

BATCH = 500


def main(port: int, folder: Path, embedder: str, memories: int) -> None:
    """Fill a store, then serve it."""
    import uvicorn
    from fastapi import Body, FastAPI

    app = FastAPI()
    mem0 = Mem0(folder, model(embedder))
    mem0.open()
    said = [str(turn["content"]) for turn in turns(memories)]
    for start in range(0, memories, BATCH):
        mem0.add("ana", said[start : start + BATCH])

    @app.post("/search")
    def search(query: str = Body(), user_id: str = Body()) -> list[str]:
        return mem0.ask(user_id, query)

    @app.post("/memories")
    def add(messages: str = Body(), user_id: str = Body()) -> dict[str, bool]:
        mem0.add(user_id, [messages])
        return {"stored": True}

    uvicorn.run(app, port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
