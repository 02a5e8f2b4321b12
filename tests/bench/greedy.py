#!/usr/bin/env python3
"""What do greedy callers cost others, and what is left of a node at four times the rate that it can take?

QUORATE_BIN: the program. RECORDS: 100000. SECONDS: of each load (6). GREEDY: callers of each kind at a time (4). RATE: searches of the
others in a second (50). KINDS: some of the rows alone. One node on a folder of its own. The others have a key and an address of their own and ask at a
fixed rate, whatever the answers take; greedy callers share the public search key and an address. Each load is measured between two
spans without it, and beside greedy callers of another node on the same machine: what they take of its processors is no less there, so
the ratio to that is what a node lets callers do to each other. Memory is the resident peak above that of the idle node, sampled. The last rows hold 1,100 idle connections, and
ask at four times the rate of searches that keep every thread busy: how many of the peak are answered whole, how many refused.
"""
import gzip
import http.client
import json
import math
import multiprocessing
import os
import random
import resource
import socket
import tempfile
import threading
import time

from node import APP_ID, KEY, Node

RECORDS, SECONDS = int(os.environ.get("RECORDS", "100000")), float(os.environ.get("SECONDS", "6"))
GREEDY, RATE = int(os.environ.get("GREEDY", "4")), float(os.environ.get("RATE", "50"))
KINDS = [kind for kind in os.environ.get("KINDS", "").split(",") if kind]
WORDS = ["red", "lamp", "blue", "house", "shiny", "apple", "green", "tree", "old", "door", "chair", "table"]
POLITE, RUDE = "127.0.0.2", "127.0.0.3"
INDEX = "/1/indexes/things"
# The driver of the loads shares the machine with the node; what it does beside answering calls is prepared before.
CROWD = 400


def record(number):
    chance = random.Random(number)
    words = [chance.choice(WORDS) for _ in range(8)]
    return {"objectID": str(number), "name": " ".join(words[:3]), "text": " ".join(words), "price": number % 1000,
            "colour": words[0], "_geoloc": {"lat": chance.uniform(-80, 80), "lng": chance.uniform(-170, 170)}}


def polygon(corners):
    """Around most of the earth, so that each record is compared with every side."""
    points = []
    for number in range(corners - 1):
        angle = (0.25 + 0.75 * number / corners) * 2 * math.pi
        points += [round(80 * math.sin(angle), 3), round(170 * math.cos(angle), 3)]
    return points + [-0.1, -0.1]


def tree(size):
    body = '{"x":[' + '{"":0},' * (size // 7)
    return (body + "0]}").encode()


class Kept:
    """A kept connection from an address."""

    def __init__(self, node, key, address):
        self.key, self.http = key, http.client.HTTPConnection("127.0.0.1", node.port, timeout=30, source_address=(address, 0))

    def post(self, path, body, more=None):
        """The status and the answer of a call; 0 for a connection that broke."""
        headers = {"X-Algolia-Application-Id": APP_ID, "X-Algolia-API-Key": self.key, "Content-Type": "application/json"}
        try:
            self.http.request("POST", path, body, {**headers, **(more or {})})
            answer = self.http.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.http.close()
            return 0, b""


def kinds():
    """What greedy callers send: a path, a body, headers, and whether they read what they get."""
    def text(value):
        return json.dumps(value).encode()

    def marked(size):
        tag = "t" * size
        return {"query": "lamp", "hitsPerPage": 1000, "highlightPreTag": tag, "highlightPostTag": tag, "attributesToHighlight": ["*"]}

    anything = {"query": "a b c d e f g h i j", "removeWordsIfNoResults": "allOptional", "facets": ["*"], "hitsPerPage": 1000,
                "attributesToSnippet": ["*:1000"]}
    around = {"query": "", "aroundLatLng": "1,1", "aroundRadius": "all",
              "aroundPrecision": [{"from": 1000 * n, "value": 100 * (n + 1)} for n in range(20)]}
    query, many = INDEX + "/query", "/1/indexes/*/queries"
    return {
        "tags": (query, text(marked(1000)), {}, True),
        "tree of gzip": (query, gzip.compress(tree(1_000_000), 9), {"Content-Encoding": "gzip"}, True),
        "large tree of queries": (many, gzip.compress(tree(16_000_000), 9), {"Content-Encoding": "gzip"}, True),
        "polygons": (query, text({"query": "", "insidePolygon": [polygon(10_000)] * 4}), {}, True),
        "50 queries": (many, text({"requests": [{**marked(300), "indexName": "things"}] * 50}), {}, True),
        "all words optional": (query, text(anything), {}, True),
        "steps of distance": (query, text(around), {}, True),
        "answers unread": (query, text({"query": "lamp", "hitsPerPage": 1000}), {}, False),
        "hung up": (query, text({"query": "", "insidePolygon": [polygon(10_000)] * 4}), {}, None),
    }


class Memory(threading.Thread):
    """Samples the resident memory of a process."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path, self.peak, self.over = "/proc/%d/statm" % pid, 0, threading.Event()

    def now(self):
        with open(self.path, encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def run(self):
        while not self.over.wait(0.01):
            self.peak = max(self.peak, self.now())


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] if times else float("nan")


def others(node, key, seconds):
    """Asks at a fixed rate from four connections; milliseconds from when each was due, and how many were refused."""
    times, refused, lock = [], [0], threading.Lock()
    begun, share = time.monotonic() + 0.05, 4

    def ask(which):
        caller = Kept(node, key, POLITE)
        for number in range(which, int(seconds * RATE), share):
            due = begun + number / RATE
            time.sleep(max(0, due - time.monotonic()))
            status, _ = caller.post(INDEX + "/query", json.dumps({"query": WORDS[number % 12] + " " + WORDS[number // 12 % 12]}).encode())
            with lock:
                times.append((time.monotonic() - due) * 1000)
                refused[0] += status != 200

    threads = [threading.Thread(target=ask, args=(which,)) for which in range(share)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return times, refused[0]


def harm(node, key, call, over):
    """Sends one call after the other, and counts."""
    os.nice(15)
    path, body, more, reads = call
    caller = Kept(node, key, RUDE)
    while not over.is_set():
        if reads:
            caller.post(path, body, more)
            continue
        head = "POST %s HTTP/1.1\r\nHost: x\r\nX-Algolia-Application-Id: %s\r\nX-Algolia-API-Key: %s\r\nContent-Length: %d\r\n\r\n"
        try:
            with socket.create_connection(("127.0.0.1", node.port), 5, (RUDE, 0)) as sent:
                sent.sendall((head % (path, APP_ID, key, len(body))).encode() + body)
                over.wait(0.05 if reads is None else 1)
        except OSError:
            over.wait(0.05)


def while_harmed(node, polite, harmed, rude, call):
    """What others get of a node while greedy callers are at it, or at another one."""
    # each in a process of its own, behind the others' where processors are short: what is measured is the node
    over = multiprocessing.Event()
    callers = [multiprocessing.Process(target=harm, args=(harmed, rude, call, over)) for _ in range(GREEDY)]
    [caller.start() for caller in callers]
    times, refused = others(node, polite, SECONDS)
    over.set()
    [caller.join() for caller in callers]
    time.sleep(1)
    return times, refused


def beside(node, other, name, call, keys):
    """A row: p99 without, beside callers of another node, beside those of this one, and without again; the peak of memory."""
    polite, rude, rude_elsewhere = keys
    before, _ = others(node, polite, SECONDS)
    elsewhere, _ = while_harmed(node, polite, other, rude_elsewhere, call)
    memory = Memory(node.process.pid)
    idle = memory.now()
    memory.start()
    times, refused = while_harmed(node, polite, node, rude, call)
    after, _ = others(node, polite, SECONDS)
    memory.over.set()
    rest, far, near = (percentile(some, 0.99) for some in (before + after, elsewhere, times))
    print("| %s | %.2f | %.2f | %.2f | %.1f | %.1f | %.2f | %.2f | %d | %.0f |" % (
        name, percentile(before + after, 0.5), rest, percentile(times, 0.5), near, far, near / rest, near / far,
        refused, (memory.peak - idle) / 2**20), flush=True)


def crowd(node, key, body, callers, seconds, rate=None):
    """Asks from so many connections, at a rate or as fast as answers come; how many calls were answered whole, cut, or refused."""
    counts, lock, next_at = {"whole": 0, "cut": 0, "refused": 0}, threading.Lock(), [time.monotonic()]
    until = time.monotonic() + seconds

    def ask():
        caller = Kept(node, key, POLITE)
        while True:
            with lock:
                due = next_at[0] = next_at[0] + 1 / rate if rate else time.monotonic()
            if due >= until:
                return
            time.sleep(max(0, due - time.monotonic()))
            status, answer = caller.post(INDEX + "/query", body)
            kind = "refused" if status != 200 else "whole" if json.loads(answer)["exhaustive"]["nbHits"] else "cut"
            with lock:
                counts[kind] += 1

    threads = [threading.Thread(target=ask) for _ in range(callers)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    # what began before the end was awaited
    return counts, max(time.monotonic(), until) - (until - seconds)


def crowds(node, key):
    """Prints what is answered at four times the rate that the node can take."""
    body = json.dumps({"query": "", "insidePolygon": [polygon(1500)] * 4}).encode()
    rates = []
    for callers in (4, 8, 4):
        counts, took = crowd(node, key, body, callers, SECONDS)
        rates.append(counts["whole"] / took)
    peak = max(rates)
    counts, took = crowd(node, key, body, CROWD, 2 * SECONDS, 4 * peak)
    print("\npeak %.1f searches a second; at four times that %.2f of the peak whole, %d cut, %d refused of %d asked in %.1f s" % (
        peak, counts["whole"] / took / peak, counts["cut"], counts["refused"], sum(counts.values()), took), flush=True)


def idle_connections(node, key):
    """Prints what 1,100 connections that say nothing do to others."""
    before, _ = others(node, key, SECONDS)
    held = []
    for number in range(1_100):
        try:
            held.append(socket.create_connection(("127.0.0.1", node.port), 5, ("127.0.0.%d" % (4 + number // 400), 0)))
        except OSError:
            break
    times, refused = others(node, key, SECONDS)
    made = 0
    for number in range(50):
        made += node.call("POST", "/1/indexes/new-%d" % number, {"name": "thing"}) is not None
    [connection.close() for connection in held]
    print("\n%d idle connections: p99 %.2f ms, %.2f without, %d refused; %d new indices" % (
        len(held), percentile(times, 0.99), percentile(before, 0.99), refused, made), flush=True)


def fill(node):
    """Starts a node with records; the keys of two callers."""
    node.start()
    for start in range(0, RECORDS, 5000):
        requests = [{"action": "addObject", "body": record(number)} for number in range(start, min(start + 5000, RECORDS))]
        node.call("POST", INDEX + "/batch", {"requests": requests})
    node.call("PUT", INDEX + "/settings", {"searchableAttributes": ["name", "text"], "attributesForFaceting": ["colour", "price"]})
    while node.call("POST", INDEX + "/query", {"query": ""})["nbHits"] < RECORDS:
        time.sleep(0.2)
    node.wait_merged(60)
    return [node.call("POST", "/1/keys", {"acl": ["search"]})["key"] for _ in range(2)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        node, other = (Node(os.path.join(folder, name)) for name in ("node", "other"))
        try:
            keys = fill(node) + fill(other)[:1]
            print("| load | p50 without, ms | p99 without, ms | p50 beside, ms | p99 beside, ms | p99 beside those of another node, ms"
                  " | beside / without | beside / beside another | refused | MiB above idle |")
            print("|---" * 10 + "|")
            for name, call in kinds().items():
                if not KINDS or name in KINDS:
                    beside(node, other, name, call, keys)
            other.stop()
            if not KINDS or "idle connections" in KINDS:
                idle_connections(node, keys[0])
            if not KINDS or "crowd" in KINDS:
                crowds(node, keys[0])
        finally:
            node.stop()
            other.stop()


if __name__ == "__main__":
    main()
