"""Load three nodes of Citus while a shard moves and a worker is killed: citus_load.py FOLDER [NAMESPACES SECONDS].

FOLDER holds a build of Citus and its ``lay_over.py``. Every write is durable (``fsync``).
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from memwarden_bench.citus_cluster import start_cluster
from memwarden_bench.citus_load import CitusLoad

CLIENTS = 8  # writers, and as many readers


def main(citus: Path, namespaces: int = 2_000, seconds: float = 20.0) -> None:
    with start_cluster(citus) as cluster:
        load = CitusLoad(cluster, cluster.new_database(), namespaces, CLIENTS)
        found = asyncio.run(load.run(seconds, seconds / 2))
    print(f"{found.acknowledged:,} writes acknowledged, {found.reads:,} reads")
    print(f"lost {len(found.lost)}, doubled {len(found.doubled)}, missed by a read {len(found.stale)}")
    print(f"a shard moved in {found.moved:.1f} s")
    for phase, longest in found.longest.items():
        print(f"{phase:7} longest write {longest:.2f} s, refused {found.errors[phase]:,}")
    print(f"refused for other nodes {len(found.misplaced)} {found.misplaced[:3]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(int(number) for number in sys.argv[2:4]))
