"""How long until one write is answered, and from there until a search finds it: idle, and while queries run?"""
import json
import os
import subprocess
import time

from node import ENVIRONMENT, Connection, Node

RECORDS = 100_000
WRITES = 150
FOUND_S = 5
# The load beside the writes: connections and queries a second (0 = each asks as soon as it is answered).
LOADS = [("idle", 0, 0), ("200 queries/s", 8, 200), ("8 connections without a pause", 8, 0)]
LETTERS = "bcdfghjkmnpqrtvwxz"


def measure(run):
    node = Node(os.path.join(run.folder, "write"))
    node.start()
    try:
        run.load(node, min(RECORDS, run.limit))
        node.wait_idle(15)
        number = 0
        for name, connections, rate in LOADS:
            number = under_load(run, node, name, connections, rate, number)
    finally:
        node.stop()


def under_load(run, node, name, connections, rate, number):
    load = None
    seconds = max(2, float(os.environ.get("SECONDS_PER_CLASS", "2")) * 2)
    until = time.monotonic() + (seconds if connections else 10)
    if connections:
        command = run.drive_command("search", node.url, node.process.pid, "--queries", run.queries("mixed"), "--conns", connections,
                                    "--rate", rate, "--secs", seconds, "--warmup", 0.2)
        load = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        time.sleep(0.4)
    try:
        answered, found = [], []
        connection = Connection(node.port)
        while len(answered) < WRITES and time.monotonic() < until:
            one = one_write(run, connection, number)
            number += 1
            answered.append(one[0])
            found.append(one[1])
        row = {"what": "write", "load": name, "answered_ms": quantiles(answered), "found_ms": quantiles(found), "n": len(found)}
        if load:
            text = load.communicate(timeout=seconds + 20)[0]
            row["queries"] = json.loads(text.strip().splitlines()[-1])
        run.add(row)
    finally:
        if load and load.poll() is None:
            load.kill()
            load.wait()
    return number


def one_write(run, connection, number):
    """Milliseconds from sending to the answer, and from the answer until a search finds the record."""
    word = "".join(LETTERS[(number * 7919 + 104_729) // len(LETTERS) ** place % len(LETTERS)] for place in range(9))
    record = {"objectID": "bench-%d" % number, run.schema["title"]: "zz" + word}
    begun = time.perf_counter()
    connection.call("PUT", "/1/indexes/%s/%s" % (run.name, record["objectID"]), record)
    answered = time.perf_counter()
    query = {"query": "zz" + word, "hitsPerPage": 1, "typoTolerance": False}
    while True:
        answer = connection.call("POST", "/1/indexes/%s/query" % run.name, query)
        now = time.perf_counter()
        if any(hit["objectID"] == record["objectID"] for hit in answer["hits"]):
            return (answered - begun) * 1e3, (now - answered) * 1e3
        if now - answered > FOUND_S:
            raise RuntimeError("a record is not found %d s after its write was answered" % FOUND_S)
        time.sleep(0.0003)


def quantiles(values):
    values = sorted(values)
    if not values:
        raise RuntimeError("no write was finished in time")
    return {name: round(values[round((len(values) - 1) * share)], 3) for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1))}
