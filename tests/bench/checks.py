#!/usr/bin/env python3
"""What do the checks of files and the comparison of replicas cost a node that has nothing else to do, or is written to?

QUORATE_BIN: the program. RECORDS: records of about 1 KB (1000000). SECONDS: of each measurement (180). NODES: 1 or 3 (3).
WORK: a folder for the data; one that was filled before is used again. OPTIONS: more options of `serve`, for example
`--check-every-s 1`. Prints CPU seconds of the first node's process with the checks at their default rate and with checks that
read a byte a second, idle and while RATE (20) single records a second are written. Takes no look at the answers.
"""
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from node import ENVIRONMENT, Connection, Node, free_port
from tables import table

RECORDS = int(os.environ.get("RECORDS", "1000000"))
SECONDS = int(os.environ.get("SECONDS", "180"))
NODES = int(os.environ.get("NODES", "3"))
RATE = int(os.environ.get("RATE", "20"))
OPTIONS = os.environ.get("OPTIONS", "").split()
OFF = ["--check-bytes-per-s", "1"]
BATCH, WRITERS = 5_000, 4
ENVIRONMENT["QUORATE_JOIN_TOKEN"] = "bench-join-token-0123456789abcdef"
WORDS = [bytes(random.Random(n).choices(b"abcdefghijklmnop", k=3 + n % 7)).decode() for n in range(5_000)]


def record(number):
    chance = random.Random(number)
    return {"objectID": str(number), "title": " ".join(chance.choices(WORDS, k=6)), "n": number,
            "text": " ".join(chance.choices(WORDS[:800], k=12)), "raw": "%0900x" % chance.getrandbits(3600)}


class Peers:
    """The nodes on a folder; their addresses stay what they were when it was filled."""

    def __init__(self, folder):
        known = os.path.join(folder, "ports.json")
        if not os.path.exists(known):
            with open(known, "w", encoding="utf-8") as file:
                json.dump([[free_port(), free_port()] for _ in range(NODES)], file)
        with open(known, encoding="utf-8") as file:
            ports = json.load(file)
        self.nodes = []
        for place, (port, peer) in enumerate(ports):
            node = Node(os.path.join(folder, "n%d" % place))
            node.port, node.url = port, "http://127.0.0.1:%d" % port
            if NODES > 1:
                node.peer = ["--peer-listen", "127.0.0.1:%d" % peer, "--node-name", "n%d" % place]
                node.peer += ["--join", "127.0.0.1:%d" % ports[0][1]] if place else []
            else:
                node.peer = []
            self.nodes.append(node)

    def start(self, *options):
        starts = [threading.Thread(target=node.start, args=(*node.peer, *OPTIONS, *options)) for node in self.nodes]
        for start in starts:
            start.start()
            time.sleep(0.2)
        for start in starts:
            start.join()
        until = time.monotonic() + 600
        while time.monotonic() < until:
            if self.nodes[0].call("GET", "/admin/cluster")["isSettled"]:
                break
            time.sleep(0.5)
        for node in self.nodes:
            node.wait_idle(60)

    def stop(self):
        for node in self.nodes:
            node.stop()

    def fill(self):
        local = threading.local()

        def batch(first):
            if not hasattr(local, "connection"):
                local.connection = Connection(self.nodes[0].port)
            rows = [{"action": "addObject", "body": record(n)} for n in range(first, min(first + BATCH, RECORDS))]
            for attempt in range(600):
                try:
                    return local.connection.call("POST", "/1/indexes/checked/batch", {"requests": rows})
                except RuntimeError:
                    time.sleep(1)
            raise RuntimeError("the records are not taken")

        with ThreadPoolExecutor(WRITERS) as writers:
            last = list(writers.map(batch, range(0, RECORDS, BATCH)))[-1]
        while self.nodes[0].call("GET", "/1/indexes/checked/task/%d" % last["taskID"])["status"] != "published":
            time.sleep(0.5)
        for node in self.nodes:
            node.wait_merged(600)


def write(port, end):
    connection, number = Connection(port), RECORDS
    while time.monotonic() < end:
        begun = time.monotonic()
        body = {"requests": [{"action": "addObject", "body": record(number % 1000)}]}
        connection.call("POST", "/1/indexes/checked/batch", body)
        number += 1
        time.sleep(max(0, 1 / RATE - (time.monotonic() - begun)))


def measure(peers, load):
    """CPU seconds of each node."""
    before, end = [node.cpu_s() for node in peers.nodes], time.monotonic() + SECONDS
    if load == "written to":
        write(peers.nodes[0].port, end)
    time.sleep(max(0, end - time.monotonic()))
    return [node.cpu_s() - was for node, was in zip(peers.nodes, before)]


def main():
    folder = os.environ.get("WORK") or tempfile.mkdtemp(prefix="checks-")
    os.makedirs(folder, exist_ok=True)
    peers, rows = Peers(folder), []
    try:
        if not os.path.exists(os.path.join(folder, "filled")):
            peers.start(*OFF)
            peers.fill()
            open(os.path.join(folder, "filled"), "w", encoding="utf-8").close()
            peers.stop()
        for load in os.environ.get("LOADS", "idle,written to").split(","):
            cost = {}
            for name in os.environ.get("CHECKS", "on,off").split(","):
                peers.start(*(OFF if name == "off" else []))
                cost[name] = measure(peers, load)
                peers.stop()
                print(load, name, " ".join("%.2f" % s for s in cost[name]), "CPU s in %d s" % SECONDS, file=sys.stderr, flush=True)
            if len(cost) == 2:
                more = sum(cost["on"]) / NODES - sum(cost["off"]) / NODES
                rows.append([load, "%.2f" % (sum(cost["on"]) / NODES), "%.2f" % (sum(cost["off"]) / NODES),
                             "%.2f %%" % (100 * more / SECONDS)])
        if rows:
            print(table(["%d nodes" % NODES, "CPU s with checks", "without", "of a core"], rows))
    finally:
        peers.stop()
        if "WORK" not in os.environ:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
