#!/usr/bin/env python3
"""What does counting a search cost? counted.py [typing words zero ...]

One node, the records of products, four connections. The same queries are asked with `analytics: false`, as they are, and with
`clickAnalytics`, in turns; ten queries in a row are of one user. The processor time of a turn is measured until what was counted has
been written, and nothing is left to do. Prints Markdown rows: CPU microseconds a query of each, and the ratios to the first as the
median of the turns, with the smallest and the largest.

QUORATE_BIN, DRIVE, BENCH_TOOLS, BENCH_DATA: as for run.sh. ROUNDS: 6. QUERIES: 4000 a turn.
"""
import gzip
import json
import os
import sys
import tempfile
import threading
import time
from statistics import median

from beside import MERGE_S, TOOLS, Peer
from node import KEY, Connection, Node

ROUNDS, QUERIES, CONNECTIONS = int(os.environ.get("ROUNDS", "6")), int(os.environ.get("QUERIES", "4000")), 4
# What nobody goes on with counts after five seconds, and is written within another one.
QUIET_S = 6.5
WAYS = {"not counted": {"analytics": False}, "counted": {}, "with clickAnalytics": {"clickAnalytics": True}}


def ask(node, queries, more, connection, first):
    for number in range(first, QUERIES, CONNECTIONS):
        body = {"query": queries[number % len(queries)], "userToken": "user-%d" % (number // 10), **more}
        connection.call("POST", "/1/indexes/products/query", body, parse=len)


def turn(node, queries, more):
    """CPU microseconds a query."""
    connections = [Connection(node.port) for _ in range(CONNECTIONS)]
    before = node.cpu_s()
    askers = [threading.Thread(target=ask, args=(node, queries, more, connection, first))
              for first, connection in enumerate(connections)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    time.sleep(QUIET_S)
    node.wait_idle(MERGE_S)
    for connection in connections:
        connection.close()
    return (node.cpu_s() - before) / QUERIES * 1e6


def main():
    with tempfile.TemporaryDirectory() as folder:
        node = Node(os.path.join(folder, "node"))
        node.start()
        Peer("algolia", node.url, node.process.pid, node.folder, KEY).load("products")
        node.wait_merged(MERGE_S)
        print("| class | %s | %s |\n|---|%s" % (" | ".join(WAYS), " | ".join("ratio " + way for way in list(WAYS)[1:]), "---|" * 5))
        for name in sys.argv[1:] or ["typing", "words", "zero"]:
            with gzip.open(os.path.join(TOOLS, "queries", "products.%s.jsonl.gz" % name), "rt", encoding="utf-8") as lines:
                queries = [json.loads(line)["q"] for line in lines]
            costs = {way: [] for way in WAYS}
            for number in range(ROUNDS):
                for way in list(WAYS)[::1 if number % 2 == 0 else -1]:
                    costs[way].append(turn(node, queries, WAYS[way]))
            first, *others = costs.values()
            ratios = [sorted(cost / without for cost, without in zip(other, first)) for other in others]
            shown = ["%.3f (%.3f to %.3f)" % (median(ratio), ratio[0], ratio[-1]) for ratio in ratios]
            print("| %s | %s | %s |" % (name, " | ".join("%.1f" % median(cost) for cost in costs.values()), " | ".join(shown)), flush=True)
        node.stop()


if __name__ == "__main__":
    main()
