#!/usr/bin/env python3
"""Is anything refused while one node becomes three?

scale_out.py [FOLDER]

QUORATE_BIN starts alone and takes RECORDS small records (3,000,000; some 400 bytes each, in INDICES indices, 8, so that several
groups have them). Then two more nodes join, while readers and writers go on, until the status names three full copies of every
group. Three kinds of clients ask, each READERS reading and WRITERS writing (2 and 1): `one` asks the first node alone, once;
`joined` asks a node that joins, once, as soon as its /readyz says so; `fallback` asks the next node when one answers 5xx or not
at all, as official clients do. Prints Markdown rows: answers, those that were not 2xx, the slowest one. At the end every record
is counted on every node. LIMIT_S: seconds until three copies, at most (1800). RECORDS=20000
INDICES=20000 BATCH=1 makes 20,000 small indices. RATE: as --snapshot-bytes-per-s.
"""
import collections
import http.client
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import threading
import time

from cluster import Member
from node import APP_ID, KEY

RECORDS, INDICES, LIMIT_S = (int(os.environ.get(name, usual)) for name, usual in
                             (("RECORDS", "3000000"), ("INDICES", "8"), ("LIMIT_S", "1800")))
READERS, WRITERS = (int(os.environ.get(name, usual)) for name, usual in (("READERS", "2"), ("WRITERS", "1")))
BATCH = int(os.environ.get("BATCH", "5000"))
IMPORTERS = 3
ANSWER_S = 60
HEADERS = {"X-Algolia-Application-Id": APP_ID, "X-Algolia-API-Key": KEY, "Content-Type": "application/json"}
WORDS = [a + b + c for a in ("ba", "ke", "li", "mo", "nu", "ra", "si", "to", "vu", "we") for b in ("dar", "fen", "gol", "lim", "nus", "pet")
         for c in ("a", "an", "er", "ia", "on", "um", "y", "os")]


def index(number):
    return "part-%d" % (number % INDICES)


def ask(port, method, path, body, timeout=ANSWER_S):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, HEADERS)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def import_share(share):
    """One process' share of the records; the last task of each index."""
    port, which = share
    chance, tasks = random.Random(which), {}
    for begin in range(which * BATCH, RECORDS, IMPORTERS * BATCH):
        requests = []
        for number in range(begin, min(begin + BATCH, RECORDS)):
            words = chance.choices(WORDS, k=48)
            requests.append('{"action":"addObject","body":{"objectID":"%d","number":%d,"title":"%s","text":"%s"}}'
                            % (number, number, " ".join(words[:4]), " ".join(words[4:])))
        name, body = index(begin // BATCH), '{"requests":[%s]}' % ",".join(requests)
        while True:
            status, answer = ask(port, "POST", "/1/indexes/%s/batch" % name, body, 600)
            if status == 200:
                break
            if status != 503:
                raise RuntimeError("an import was answered %d %s" % (status, answer[:200]))
            time.sleep(0.5)
        tasks[name] = json.loads(answer)["taskID"]
    return tasks


class Figures:
    """What the clients of one kind were answered."""

    def __init__(self):
        self.lock, self.answers, self.refused, self.slowest = threading.Lock(), 0, collections.Counter(), 0.0

    def note(self, word, begun):
        took = time.monotonic() - begun
        with self.lock:
            self.answers += 1
            self.slowest = max(self.slowest, took)
            if word is not None:
                self.refused[word] += 1


class Clients:
    """Readers and writers that go on until they are stopped."""

    def __init__(self):
        self.over, self.threads = threading.Event(), []
        self.figures = collections.defaultdict(Figures)
        self.written, self.lock = collections.Counter(), threading.Lock()

    def start(self, kind, ports):
        for number in range(READERS + WRITERS):
            what = "reads" if number < READERS else "writes"
            thread = threading.Thread(target=self.run, args=(kind, what, ports, "%s-%d-%d" % (kind, ports()[0], number)), daemon=True)
            self.threads.append(thread)
            thread.start()

    def run(self, kind, what, ports, name):
        chance, figures, step = random.Random(name), self.figures[kind, what], 0
        while not self.over.is_set():
            step += 1
            if what == "reads":
                call = ("POST", "/1/indexes/%s/query" % index(step), json.dumps({"query": chance.choice(WORDS), "hitsPerPage": 3}))
            else:
                call = ("PUT", "/1/indexes/%s/%s-%d" % (index(step), name, step), '{"number":%d,"title":"a late one"}' % -step)
            begun, word = time.monotonic(), None
            for port in ports():
                word = self.once(port, call)
                if word is None or word.startswith("4"):
                    break
            figures.note(word, begun)
            if word is None and what == "writes":
                with self.lock:
                    self.written[index(step)] += 1
            time.sleep(0.01)

    @staticmethod
    def once(port, call):
        """None, or what was wrong."""
        try:
            status, answer = ask(port, *call)
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        return None if 200 <= status < 300 else "%d %s" % (status, answer[:120].decode(errors="replace"))

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def show(self):
        print("| clients | what | answers | not 2xx | slowest, s |\n|---|---|---:|---:|---:|")
        for (kind, what), figures in sorted(self.figures.items()):
            print("| %s | %s | %d | %d | %.2f |" % (kind, what, figures.answers, sum(figures.refused.values()), figures.slowest))
        for (kind, what), figures in sorted(self.figures.items()):
            for word, count in figures.refused.most_common(5):
                print("%s %s: %d x %s" % (kind, what, count, word))


def settled(node):
    """Whether every group has full copies on all nodes where it is wanted, three of them."""
    groups = node.call("GET", "/admin/cluster")["groups"]
    return all(group["fullCopies"] >= 3 for group in groups), min(group["fullCopies"] for group in groups)


def is_ready(node):
    try:
        return ask(node.port, "GET", "/readyz", None)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def wait_published(node, tasks):
    for name, task in tasks.items():
        while node.call("GET", "/1/indexes/%s/task/%d" % (name, task))["status"] != "published":
            time.sleep(0.1)


def count(node):
    return {item["name"]: item["entries"] for item in node.call("GET", "/1/indexes")["items"]}


def memory_mib(node):
    with open("/proc/%d/status" % node.process.pid, encoding="utf-8") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))


def say(begun, text):
    print("%7.1f s, load %s: %s" % (time.monotonic() - begun, os.getloadavg()[0], text), flush=True)


def main(folder):
    first = Member(folder, 1)
    nodes, clients, begun = [first], Clients(), time.monotonic()
    try:
        first.start()
        with multiprocessing.Pool(IMPORTERS) as pool:
            shares = pool.map(import_share, [(first.port, which) for which in range(IMPORTERS)])
        for tasks in shares:
            wait_published(first, tasks)
        say(begun, "%d records are searchable on one node" % sum(count(first).values()))
        clients.start("one", lambda: [first.port])
        clients.start("fallback", lambda: [node.port for node in nodes])
        time.sleep(3)
        joined, ready = time.monotonic(), set()
        for place in (2, 3):
            node = Member(folder, place, first)
            node.start()
            nodes.append(node)
        say(begun, "two nodes have been started")
        while True:
            for node in nodes[1:]:
                if node.port not in ready and is_ready(node):
                    ready.add(node.port)
                    say(begun, "%s is ready" % node.name)
                    clients.start("joined", lambda port=node.port: [port])
            done, least = settled(first)
            if done and len(ready) == 2:
                break
            if time.monotonic() - joined > LIMIT_S:
                raise RuntimeError("no three copies in %d s: %d of some group" % (LIMIT_S, least))
            time.sleep(0.5)
        say(begun, "three full copies of each group, %.1f s after the join" % (time.monotonic() - joined))
        time.sleep(5)
        clients.stop()
        clients.show()
        check(nodes, clients)
        print("memory at most, MiB: %s" % [memory_mib(node) for node in nodes])
    finally:
        clients.over.set()
        for node in nodes:
            node.stop()


def check(nodes, clients):
    """Every answered record is there, on every node. A write without an answer may be there, too."""
    wanted = {index(number): clients.written[index(number)] for number in range(INDICES)}
    for begin in range(0, RECORDS, BATCH):
        wanted[index(begin // BATCH)] += min(BATCH, RECORDS - begin)
    for node in nodes:
        until = time.monotonic() + 60
        while any(count(node).get(name, 0) < least for name, least in wanted.items()) and time.monotonic() < until:
            time.sleep(0.5)
        found = count(node)
        missing = {name: least - found.get(name, 0) for name, least in wanted.items() if found.get(name, 0) < least}
        print("%s: %d records of %d answered; missing: %s" % (node.name, sum(found.values()), sum(wanted.values()), missing or "none"))


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else None
    place = given or tempfile.mkdtemp(prefix="quorate-scale-out-")
    os.makedirs(place, exist_ok=True)
    try:
        main(place)
    finally:
        if given is None:
            shutil.rmtree(place, ignore_errors=True)
