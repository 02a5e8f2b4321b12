#!/usr/bin/env python3
"""What do keys, secured keys, dictionaries, HTTPS and the log of requests cost a search?

QUORATE_BIN: the program. KEYS: stored keys (4990). ENTRIES: of the dictionary (100000). QUERIES: of each measurement (4000), after a quarter as many that do not count. ROUNDS: 3.
OPENSSL: the program that makes a certificate (openssl). One node on a folder of its own, one kept connection, searches of an index of
1,000 records; processor time is that of the process, all threads, in microseconds a search: medians of the rounds, which take turns.
"""
import base64
import hashlib
import hmac
import http.client
import json
import multiprocessing
import os
import random
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from node import APP_ID, KEY, Connection, Node, free_port
from tables import table

KEYS, ENTRIES = int(os.environ.get("KEYS", "4990")), int(os.environ.get("ENTRIES", "100000"))
QUERIES, ROUNDS = int(os.environ.get("QUERIES", "4000")), int(os.environ.get("ROUNDS", "3"))
OPENSSL = os.environ.get("OPENSSL", "openssl")
WRITERS, CHANGES_S, CHANGES_PER_S = 8, 10, 20
WORDS = ["red", "car", "blue", "house", "shiny", "apple", "green", "tree", "old", "door"]


def cpu_us(node):
    """Processor time of the process so far, all threads that are there."""
    total = 0
    tasks = "/proc/%d/task" % node.process.pid
    for task in os.listdir(tasks):
        try:
            with open("%s/%s/schedstat" % (tasks, task), encoding="utf-8") as stat:
                total += int(stat.read().split()[0])
        except FileNotFoundError:
            pass
    return total / 1_000


class Caller:
    """A kept connection with a key of its own."""

    def __init__(self, node, key, port=None, context=None):
        self.key = key
        if context is None:
            self.http = http.client.HTTPConnection("127.0.0.1", port or node.port, timeout=60)
        else:
            self.http = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
        self.http.connect()

    def search(self, number, key=None):
        """The status and the seconds of one search."""
        body = json.dumps({"query": WORDS[number % 10] + " " + WORDS[(number // 10) % 10], "removeStopWords": ["en"]})
        headers = {"X-Service-Application-Id": APP_ID, "X-Service-API-Key": key or self.key, "Content-Type": "application/json"}
        began = time.perf_counter()
        self.http.request("POST", "/1/indexes/i/query", body, headers)
        answer = self.http.getresponse()
        answer.read()
        return answer.status, time.perf_counter() - began


def spent(node, caller, keys=None, queries=QUERIES, expected=200):
    """Microseconds of processor time a search; with `keys` each search has the next of them."""
    for number in range(0 if keys else queries // 4):
        caller.search(number)
    before = cpu_us(node)
    for number in range(queries):
        status, _ = caller.search(number, keys[number] if keys else None)
        if status != expected:
            raise RuntimeError("a search was answered %d" % status)
    return (cpu_us(node) - before) / queries


def secured(parent, text):
    digest = hmac.new(parent.encode(), text.encode(), hashlib.sha256).hexdigest()
    return base64.b64encode((digest + text).encode()).decode()


def made(node, count):
    """Makes keys with restrictions; their values."""
    own = threading.local()

    def make(number):
        if not hasattr(own, "connection"):
            own.connection = Connection(node.port)
        body = {"acl": ["search"], "indexes": ["i", "shop_%d_*" % number], "maxHitsPerQuery": 50, "description": "key %d" % number,
                "referers": ["https://shop%d.example/*" % number, "*"], "queryParameters": "filters=n>=0"}
        return own.connection.call("POST", "/1/keys", body)["key"]

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(make, range(count)))


def published(connection, task):
    while connection.call("GET", "/1/task/%d" % task)["status"] != "published":
        time.sleep(0.01)


def p99_ms(times):
    return sorted(times)[len(times) * 99 // 100] * 1_000


def dictionary(node, caller):
    """p99 of searches before, beside and after the loading of a dictionary, and how long that took."""
    def timed(until):
        times, number = [], 0
        while not until(number):
            times.append(caller.search(number)[1])
            number += 1
        return times

    def beside(work):
        """The same while another process does this, once what it sends is made."""
        def give_way():
            # in earnest it is on another machine
            os.nice(15)
            work(made, ended)

        made, ended = multiprocessing.Event(), multiprocessing.Event()
        working = multiprocessing.Process(target=give_way)
        working.start()
        made.wait()
        times = timed(lambda _: ended.is_set() or not working.is_alive())
        working.join()
        if working.exitcode:
            raise RuntimeError("the dictionary could not be changed")
        return times

    def load(made, ended):
        entries = [{"action": "addEntry", "body": {"objectID": "e%d" % n, "language": "en", "word": "w%d" % n}} for n in range(ENTRIES)]
        bodies = [json.dumps({"requests": entries[at:at + 50_000]}).encode() for at in range(0, ENTRIES, 50_000)]
        made.set()
        writer, began, task = Connection(node.port), time.perf_counter(), 0
        for body in bodies:
            task = writer.call("POST", "/1/dictionaries/stopwords/batch", body)["taskID"]
        published(writer, task)
        took.value = time.perf_counter() - began
        ended.set()

    def change(seconds, per_s=None):
        """Changes one entry again and again, so often or as fast as it is answered."""
        def work(made, ended):
            writer, number = Connection(node.port), 0
            made.set()
            began = time.monotonic()
            while time.monotonic() - began < seconds:
                entry = {"objectID": "one", "language": "en", "word": "v%d" % number}
                writer.call("POST", "/1/dictionaries/stopwords/batch", {"requests": [{"action": "addEntry", "body": entry}]})
                number += 1
                if per_s is not None:
                    time.sleep(max(0, began + number / per_s - time.monotonic()))
            ended.set()
        return work

    took = multiprocessing.Value("d", 0.0)
    before = timed(lambda number: number >= QUERIES)
    loading, changes, flood = beside(load), beside(change(CHANGES_S, CHANGES_PER_S)), beside(change(CHANGES_S / 5))
    after = timed(lambda number: number >= QUERIES)
    return [p99_ms(times) for times in (before, loading, changes, flood, after)], took.value


def main():
    work = tempfile.mkdtemp(prefix="quorate-interface-")
    pem, secret, tls_port = os.path.join(work, "a.pem"), os.path.join(work, "a.key"), free_port()
    subprocess.run([OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", secret, "-out", pem],
                   check=True, capture_output=True)
    tls = ["--tls-listen", "127.0.0.1:%d" % tls_port, "--tls-certificates", pem, "--tls-keys", secret]
    node = Node(os.path.join(work, "n"))
    try:
        node.start(*tls)
        records = [{"objectID": str(n), "n": n, "name": " ".join(WORDS[(n // 10 ** place) % 10] for place in range(4))} for n in range(1_000)]
        Connection(node.port).call("POST", "/1/indexes/i/batch", {"requests": [{"action": "addObject", "body": it} for it in records]})
        time.sleep(1)
        rows = []
        few = made(node, 1)[0]
        before = median(spent(node, Caller(node, few)) for _ in range(ROUNDS))
        rows.append(["one stored key", "%.1f" % before])
        keys = made(node, KEYS - 1)
        context = ssl.create_default_context(cafile=pem)
        plain, encrypted, repeated = [], [], []
        for number in range(ROUNDS):
            plain.append(spent(node, Caller(node, keys[-1])))
            encrypted.append(spent(node, Caller(node, keys[-1], tls_port, context)))
            repeated.append(spent(node, Caller(node, secured(keys[-1], "filters=n>=%d" % number))))
        rows.append(["%d stored keys" % KEYS, "%.1f" % median(plain)])
        rows.append(["the same by HTTPS", "%.1f" % median(encrypted)])
        rows.append(["a secured key, used again", "%.1f" % median(repeated)])
        fresh = [secured(keys[number % len(keys)], "filters=n>=0&userToken=u%d" % number) for number in range(400)]
        rows.append(["secured keys, each for the first time", "%.1f" % spent(node, Caller(node, keys[-1]), fresh, 400)])
        forged = [secured("0" * 32, "userToken=u%d" % number) for number in range(50)]
        rows.append(["forged secured keys", "%.1f" % spent(node, Caller(node, keys[-1]), forged, 50, 403)])
        figures, took = dictionary(node, Caller(node, KEY))
        node.stop()
        logs = {}
        for _ in range(ROUNDS):
            # what is measured second finds a warmer machine
            for way in random.sample(["on", "off"], 2):
                node.start("--request-log", way)
                logs.setdefault(way, []).append(spent(node, Caller(node, KEY)))
                node.stop()
        rows.append(["with the log of requests", "%.1f" % median(logs["on"])])
        rows.append(["without it", "%.1f" % median(logs["off"])])
        print(table(["a search with", "CPU, microseconds"], rows))
        before, loading, changes, flood, after = figures
        print("%d entries in %.1f s; p99 of searches: %.2f ms before, %.2f beside the loading, %.2f beside %d single changes a second, "
              "%.2f beside as many as are answered, %.2f after" % (ENTRIES, took, before, loading, changes, CHANGES_PER_S, flood, after))
    finally:
        node.stop()
        shutil.rmtree(work, ignore_errors=True)


main()
