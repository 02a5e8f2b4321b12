#!/usr/bin/env python3
"""What does a query cost beside Meilisearch in the same run? beside.py [products movies debian cities files]

Both get the same records and the same queries from the load driver, in turns, one at a time, each with eight connections; the other
one is idle meanwhile. Prints Markdown rows: CPU ms a query (median of the rounds) of both and the share, p99 at one connection.

QUORATE_BIN, MEILISEARCH_BIN: the programs. DRIVE, BENCH_TOOLS, BENCH_DATA: as for run.sh. ROUNDS: 3, SECONDS_PER_CLASS: 1.5.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from urllib.request import urlopen

from node import ENVIRONMENT, Node, free_port

CLASSES = ["typing", "words", "typo", "filtered", "browse", "short", "zero", "geo", "mixed"]
TOOLS, DATA = os.environ["BENCH_TOOLS"], os.environ["BENCH_DATA"]
ROUNDS, SECONDS = int(os.environ.get("ROUNDS", "3")), os.environ.get("SECONDS_PER_CLASS", "1.5")
MERGE_S = 240


class Peer:
    """One of the two services, as the load driver meets it."""

    def __init__(self, adapter, url, pid, folder, key):
        self.adapter, self.url, self.pid, self.folder = adapter, url, pid, folder
        self.environment = dict(ENVIRONMENT, BENCH_KEY=key)

    def drive(self, command, name, *options):
        common = ["--url", self.url, "--adapter", self.adapter, "--schema", os.path.join(TOOLS, "schemas", name + ".json"),
                  "--index", name, "--pid", str(self.pid)]
        done = subprocess.run([os.environ["DRIVE"], command, *common, *map(str, options)], env=self.environment,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError("drive %s: %s" % (command, done.stderr.strip()[-300:]))
        lines = done.stdout.strip().splitlines()
        row = json.loads(lines[-1]) if lines else {}
        if row.get("errors"):
            raise RuntimeError("%s %s: %s" % (self.adapter, command, row))
        return row

    def load(self, name):
        self.drive("setup", name)
        row = self.drive("import", name, "--data", os.path.join(DATA, name + ".jsonl"), "--batch", 10_000, "--dir", self.folder)
        return row["docs_per_s"]

    def search(self, name, queries, connections):
        return self.drive("search", name, "--queries", queries, "--conns", connections, "--secs", SECONDS, "--warmup", 0.4)


class Meilisearch:
    """A process on a folder of its own."""

    def __init__(self, folder):
        port = free_port()
        self.url = "http://127.0.0.1:%d" % port
        os.makedirs(folder)
        with open(folder + ".log", "wb") as log:
            self.process = subprocess.Popen(
                [os.environ["MEILISEARCH_BIN"], "--db-path", folder + "/data", "--http-addr", "127.0.0.1:%d" % port, "--no-analytics",
                 "--env", "development", "--log-level", "WARN"], cwd=folder, stdout=log, stderr=log)
        for _ in range(400):
            try:
                urlopen(self.url + "/health").read()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("Meilisearch does not start, see %s.log" % folder)

    def wait_idle(self):
        for _ in range(2 * MERGE_S):
            if not json.load(urlopen(self.url + "/tasks?statuses=enqueued,processing&limit=1"))["results"]:
                break
            time.sleep(0.5)
        time.sleep(2)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measure(name, folder):
    node = Node(os.path.join(folder, "node"))
    node.start()
    other = Meilisearch(os.path.join(folder, "other"))
    try:
        peers = [Peer("algolia", node.url, node.process.pid, node.folder, ENVIRONMENT["BENCH_KEY"]),
                 Peer("meilisearch", other.url, other.process.pid, os.path.join(folder, "other"), "")]
        rates = []
        for peer, rest in zip(peers, (lambda: node.wait_merged(MERGE_S), other.wait_idle)):
            rates.append(peer.load(name))
            rest()
        print("| %s | import, records/s | %.0f | %.0f | %.1f times | | | |" % (name, *rates, rates[0] / rates[1]), flush=True)
        for query_class in CLASSES:
            queries = os.path.join(TOOLS, "queries", "%s.%s.jsonl.gz" % (name, query_class))
            if not os.path.exists(queries):
                continue
            cost = ([], [])
            for number in range(ROUNDS):
                for which in (0, 1) if number % 2 == 0 else (1, 0):
                    cost[which].append(peers[which].search(name, queries, 8)["server_cpu_ms_per_query"])
            late = [peer.search(name, queries, 1)["p99"] for peer in peers]
            own, its = map(median, cost)
            print("| %s | %s | %.3f | %.2f | %.3f | %.2f | %.2f | %.3f |"
                  % (name, query_class, own, its, own / its, *late, late[0] / late[1]), flush=True)
    finally:
        node.stop()
        other.stop()


def main():
    print("| data set | class | CPU ms | Meilisearch | share | p99 ms | Meilisearch | share |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in sys.argv[1:] or ["products", "movies", "debian", "cities"]:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, folder)


if __name__ == "__main__":
    main()
