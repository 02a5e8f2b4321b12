#!/usr/bin/env python3
"""What do events, models, recommendations and suggestions cost a node? Prints a table.

QUORATE_BIN: the program. STEPS: of intake,beside,models,suggestions (default: all). NODES: 1, or 3 for intake and beside. SECONDS: of a load of
events (10 a size; 300 of `beside` with LONG=1). RATE: events a second beside queries (20000). ROWS (10000000), ITEMS (1000000), USERS
(500000): what models are made of. CANDIDATES: queries that suggestions are made of (50000). Senders, which give way, and callers share the machine with the node,
so processor time says more than how many a second; p99 are of queries at 100 a second at one connection, without and beside.
"""
import json
import multiprocessing
import os
import random
import statistics
import tempfile
import threading
import time

from cluster import Cluster
from models import built
from models import told as told_of_model
from node import Connection
from tables import number, table

STEPS = os.environ.get("STEPS", "intake,beside,models,suggestions").split(",")
NODES, SECONDS, RATE = (int(os.environ.get(name, usual)) for name, usual in (("NODES", 1), ("SECONDS", 10), ("RATE", 20_000)))
ROWS, ITEMS, USERS, CANDIDATES = (int(os.environ.get(name, usual)) for name, usual in
                                  (("ROWS", 10_000_000), ("ITEMS", 1_000_000), ("USERS", 500_000), ("CANDIDATES", 50_000)))
LONG = int(os.environ.get("LONG", "0"))
INDEX, SENDERS, QUERIES_PER_S, MERGE_S, HOUR_MS = "shop", 2, 100, 120, 3_600_000
OBJECTS, BATCH, RECORDS, CONNECTIONS = 20, 1_000, 10_000, 8
WORDS = [a + b for a in ("ba", "ke", "li", "mo", "nu", "ra", "si", "to", "vu", "we") for b in ("dar", "fen", "gol", "lim", "nus", "pet", "ron", "sat")]


def p99_ms(times):
    return statistics.quantiles(times, n=100)[98] * 1_000


def p50_ms(times):
    return statistics.median(times) * 1_000


class Load:
    """Events of a process of its own: bodies are made before, and sent at most `per_s` events a second."""

    def __init__(self, ports, size, per_s=None):
        self.ports, self.size, self.per_s = ports, size, per_s
        self.sent, self.refused = multiprocessing.Value("q", 0), multiprocessing.Value("q", 0)

    def bodies(self, sender, many):
        now, chance = int(time.time() * 1_000), random.Random(sender)
        for body in range(many):
            # so long ago that no clock is ahead, and no two alike
            times = (now - 1_000 - body * self.size - at for at in range(self.size))
            events = ('{"eventType":"view","eventName":"Seen","index":"%s","userToken":"u%d-%d","timestamp":%d,"objectIDs":["%d"]}'
                      % (INDEX, sender, chance.randrange(USERS), at, chance.randrange(ITEMS)) for at in times)
            yield ('{"events":[%s]}' % ",".join(events)).encode()

    def send(self, sender, seconds, made):
        # in earnest senders are on other machines
        os.nice(15)
        # as many as are likely to go; what is more is made meanwhile
        most = 60_000 if self.per_s is None else self.per_s / SENDERS
        bodies = self.bodies(sender, 1 << 40)
        ready = [next(bodies) for _ in range(int(min(seconds, 15) * min(most, 3_000 * self.size) / self.size) + 1)]
        connection = Connection(self.ports[sender % len(self.ports)])
        made.wait()
        begun, number_ = time.monotonic(), 0
        while time.monotonic() - begun < seconds:
            if self.per_s is not None:
                time.sleep(max(0, begun + number_ * self.size * SENDERS / self.per_s - time.monotonic()))
            body = ready[number_] if number_ < len(ready) else next(bodies)
            number_ += 1
            try:
                connection.call("POST", "/1/events", body)
                with self.sent.get_lock():
                    self.sent.value += self.size
            except RuntimeError as error:
                if ": 503 " not in str(error):
                    raise
                with self.refused.get_lock():
                    self.refused.value += self.size

    def run(self, seconds, begin=lambda: None):
        """Sends for so long, once bodies are made and `begin` was called; returns the seconds it took."""
        made = multiprocessing.Barrier(SENDERS + 1)
        senders = [multiprocessing.Process(target=self.send, args=(sender, seconds, made)) for sender in range(SENDERS)]
        for sender in senders:
            sender.start()
        made.wait()
        begin()
        begun = time.monotonic()
        for sender in senders:
            sender.join()
            if sender.exitcode:
                raise RuntimeError("a sender ended with %d" % sender.exitcode)
        return time.monotonic() - begun


class Asker(threading.Thread):
    """Queries at a steady pace at one connection until it is told to stop; `times` are seconds, by when each was due."""

    def __init__(self, node, params=None, index=INDEX):
        super().__init__()
        self.connection, self.over, self.times, self.index, self.params = Connection(node.port), threading.Event(), [], index, params or {}

    def run(self):
        begun, number_ = time.monotonic(), 0
        while not self.over.is_set():
            due = begun + number_ / QUERIES_PER_S
            time.sleep(max(0, due - time.monotonic()))
            words = " ".join(WORDS[(number_ * step) % len(WORDS)] for step in (7, 11))[: 3 + number_ % 8]
            body = {"query": words, "analytics": False, "filters": "n > %d" % (number_ % 50), **self.params}
            self.connection.call("POST", "/1/indexes/%s/query" % self.index, body, parse=len)
            self.times.append(time.monotonic() - due)
            number_ += 1

    def ended(self):
        self.over.set()
        self.join()
        self.connection.close()
        return self.times


def asked_for(node, seconds, **params):
    asker = Asker(node, params)
    asker.start()
    time.sleep(seconds)
    return asker.ended()


def cpu_s(cluster):
    return sum(node.cpu_s() for node in cluster.nodes)


def wait_idle(cluster):
    for node in cluster.nodes:
        node.wait_idle(MERGE_S)


def resident_mib(node):
    with open("/proc/%d/status" % node.process.pid, encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


class Peak(threading.Thread):
    """The most memory that a process has while this runs."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node, self.over, self.most = node, threading.Event(), 0.0

    def run(self):
        while not self.over.wait(0.05):
            self.most = max(self.most, resident_mib(self.node))


def records(node, many):
    connection, chance, task = Connection(node.port), random.Random(1), None
    for first in range(0, many, RECORDS):
        requests = [{"action": "addObject", "body": {"objectID": str(at), "n": at % 100, "brand": "brand %d" % (at % 500),
                                                     "name": " ".join(chance.choices(WORDS, k=4))}}
                    for at in range(first, min(first + RECORDS, many))]
        task = connection.call("POST", "/1/indexes/%s/batch" % INDEX, {"requests": requests})["taskID"]
    while connection.call("GET", "/1/indexes/%s/task/%d" % (INDEX, task))["status"] != "published":
        time.sleep(0.1)
    changes = {"attributesForFaceting": ["brand"], "numericAttributesForFiltering": ["n"]}
    task = connection.call("PUT", "/1/indexes/%s/settings" % INDEX, changes)["taskID"]
    while connection.call("GET", "/1/indexes/%s/task/%d" % (INDEX, task))["status"] != "published":
        time.sleep(0.1)
    node.wait_merged(MERGE_S)


def intake(cluster):
    """Events alone, by size of batch: how many a second, and processor time of all nodes until all is written."""
    rows = []
    for size in (1, 100, 1_000):
        wait_idle(cluster)
        load, before = Load([node.port for node in cluster.nodes], size), cpu_s(cluster)
        seconds = load.run(SECONDS)
        # what a group has in memory is cut after 30 seconds
        time.sleep(35)
        wait_idle(cluster)
        used = cpu_s(cluster) - before
        rows.append(["%d nodes, batches of %d" % (len(cluster.nodes), size), "%.0f a second" % (load.sent.value / seconds),
                     "%.1f µs an event" % (used / load.sent.value * 1e6), "%d refused" % load.refused.value])
    return rows


def beside(cluster):
    """Queries without and beside events."""
    node = cluster.nodes[0]
    records(node, 100_000)
    seconds = 300 if LONG else SECONDS * 2
    rows = []
    without = asked_for(node, 20)
    asker, load = Asker(node), Load([node.port for node in cluster.nodes], 1_000, RATE)
    took = load.run(seconds, asker.start)
    times = asker.ended()
    again = asked_for(node, 20)
    rows.append(["%d nodes, queries beside events, %d s" % (len(cluster.nodes), seconds), "%.0f a second" % (load.sent.value / took),
                 "p50 %s, %s beside" % (number(p50_ms(without)), number(p50_ms(times))),
                 "p99 %s and %s, %s beside: %.2f; %d refused" % (number(p99_ms(without)), number(p99_ms(again)), number(p99_ms(times)),
                                                                p99_ms(times) / statistics.mean([p99_ms(without), p99_ms(again)]), load.refused.value)])
    return rows


def skewed(chance, many):
    """Some much more often than others."""
    return int(many * chance.random() ** 3)


def history(node):
    """Views of three days, twenty records each."""
    connection, now = Connection(node.port), int(time.time() * 1_000)
    chance, rows = random.Random(2), 0
    while rows < ROWS:
        events = []
        for _ in range(min(BATCH, -(-(ROWS - rows) // OBJECTS))):
            user = chance.randrange(USERS)
            near = skewed(chance, ITEMS)
            ids = {str((near + chance.randrange(40)) % ITEMS if chance.random() < 0.7 else skewed(chance, ITEMS)) for _ in range(2 * OBJECTS)}
            ids = sorted(ids)[:OBJECTS]
            events.append({"eventType": "view", "eventName": "Seen", "index": INDEX, "userToken": "u%d" % user,
                           "timestamp": now - chance.randrange(HOUR_MS, 3 * 24 * HOUR_MS), "objectIDs": ids})
            rows += len(ids)
        connection.call("POST", "/1/events", {"events": events})
    connection.close()
    return rows


def models(cluster):
    """A model of all rows, queries beside its build, and what a recommendation costs."""
    node = cluster.nodes[0]
    records(node, ITEMS)
    begun = time.monotonic()
    rows = history(node)
    told = ["%d rows in %.0f s" % (rows, time.monotonic() - begun)]
    time.sleep(35)
    node.wait_idle(MERGE_S)
    found = node.call("GET", "/admin/events")
    lines = [["rows of models", *told, "%.1f bytes a row" % (found["bytes"] / found["rows"]), ""]]
    # one may have been built meanwhile
    connection = Connection(node.port)
    earlier = told_of_model(connection, INDEX, "related-products").get("builtAt")
    without, idle_mib, before = asked_for(node, 20), resident_mib(node), node.cpu_s()
    peak, asker, begun = Peak(node), Asker(node), time.monotonic()
    peak.start()
    asker.start()
    model = built(connection, INDEX, "related-products", rows, after=earlier)
    seconds = time.monotonic() - begun
    times = asker.ended()
    peak.over.set()
    lines.append(["a build, queries beside", "%.0f s, CPU %.1f s with the queries" % (seconds, node.cpu_s() - before),
                  "%.0f MiB above idle; %s" % (peak.most - idle_mib, json.dumps({name: model.get(name) for name in ("rows", "users", "items", "bytes", "parameters")})),
                  "p99 %s, %s beside: %.2f" % (number(p99_ms(without)), number(p99_ms(times)), p99_ms(times) / p99_ms(without))])
    return lines + recommended(node)


def many_at_once(node, path, bodies):
    """Seconds of each call at eight connections, and processor microseconds a call. Each caller is a process of its own: threads of one
    wait for each other, which is no time of the node's."""
    def ask(first, sends):
        connection, times = Connection(node.port), []
        for body in bodies[first::CONNECTIONS]:
            begun = time.monotonic()
            connection.call("POST", path, body, parse=len)
            times.append(time.monotonic() - begun)
        connection.close()
        sends.send(times)

    before, askers = node.cpu_s(), []
    for first in range(CONNECTIONS):
        takes, sends = multiprocessing.Pipe(duplex=False)
        asker = multiprocessing.Process(target=ask, args=(first, sends))
        asker.start()
        sends.close()
        askers.append((asker, takes))
    # a caller that broke off has sent nothing: an EOFError here
    times = [seconds for _, takes in askers for seconds in takes.recv()]
    for asker, _ in askers:
        asker.join()
    return times, (node.cpu_s() - before) / len(bodies) * 1e6


def recommended(node, many=8_000):
    """Recommendations with filters and rules beside filtered queries with a page as long."""
    rules = [{"objectID": "r%d" % at, "condition": {"filters": "brand:'brand %d'" % at}, "consequence": {"promote": [{"objectID": str(at), "position": 0}]}}
             for at in range(20)]
    task = node.call("POST", "/1/indexes/%s/related-products/recommend/rules/batch" % INDEX, rules)
    while node.call("GET", "/1/indexes/%s/related-products/task/%s" % (INDEX, task["taskID"]))["status"] != "published":
        time.sleep(0.05)
    # other models are being built
    node.wait_idle(MERGE_S)
    chance = random.Random(3)
    asked = [{"requests": [{"indexName": INDEX, "model": "related-products", "objectID": str(skewed(chance, ITEMS)), "threshold": 0, "maxRecommendations": 20,
                            "queryParameters": {"filters": "n > %d" % (at % 50), "analytics": False}}]} for at in range(many)]
    queries = [{"query": WORDS[at % len(WORDS)], "filters": "n > %d" % (at % 50), "hitsPerPage": 20, "analytics": False} for at in range(many)]
    paths = [("/1/indexes/*/recommendations", asked), ("/1/indexes/%s/query" % INDEX, queries)]
    for path, bodies in paths:
        many_at_once(node, path, bodies[:500])
    (times, cost), (of_queries, of_query) = (many_at_once(node, path, bodies) for path, bodies in paths)
    return [["recommendations, 8 connections", "%.0f µs of CPU" % cost, "a filtered query %.0f: %.2f" % (of_query, cost / of_query),
             "p99 %s ms, of the query %s" % (number(p99_ms(times)), number(p99_ms(of_queries)))]]


def suggestions(cluster):
    """Suggestions of many candidates, queries beside the build."""
    node = cluster.nodes[0]
    records(node, 100_000)
    connection, now, chance = Connection(node.port), int(time.time() * 1_000), random.Random(4)
    # what is found: words of a record in order
    names = [" ".join(name) for name in {tuple(chance.choices(WORDS, k=3)) for _ in range(2 * CANDIDATES)}][:CANDIDATES]
    for first in range(0, 4 * len(names), BATCH):
        searches = [{"index": INDEX, "userToken": "u%d" % at, "timestamp": now - HOUR_MS - at * 20, "query": names[at % len(names)], "hits": 9, "shown": ["1"]}
                    for at in range(first, min(first + BATCH, 4 * len(names)))]
        connection.call("POST", "/admin/events", {"searches": searches})
    time.sleep(35)
    node.wait_idle(MERGE_S)
    without, before = asked_for(node, 20), node.cpu_s()
    peak, asker, begun, idle_mib = Peak(node), Asker(node), time.monotonic(), resident_mib(node)
    peak.start()
    asker.start()
    source = {"indexName": INDEX, "minHits": 1}
    connection.call("POST", "/1/configs", {"indexName": "suggested", "sourceIndices": [source]})
    time.sleep(0.2)
    while connection.call("GET", "/1/configs/suggested/status")["isRunning"]:
        time.sleep(0.2)
    seconds, times = time.monotonic() - begun, asker.ended()
    peak.over.set()
    made = connection.call("POST", "/1/indexes/suggested/query", {"query": "", "hitsPerPage": 0})["nbHits"]
    return [["suggestions of %d candidates, queries beside" % len(names), "%.1f s, CPU %.1f s with the queries" % (seconds, node.cpu_s() - before),
             "%d suggestions, %.0f MiB above idle" % (made, peak.most - idle_mib),
             "p99 %s, %s beside: %.2f" % (number(p99_ms(without)), number(p99_ms(times)), p99_ms(times) / p99_ms(without))]]


def main():
    rows = []
    for name, step in (("intake", intake), ("beside", beside), ("models", models), ("suggestions", suggestions)):
        if name not in STEPS:
            continue
        with tempfile.TemporaryDirectory(prefix="quorate-events-") as folder:
            with Cluster(folder, NODES if name in ("intake", "beside") else 1) as cluster:
                rows += step(cluster)
    print(table(["what", "how many", "cost", "beside"], rows))


if __name__ == "__main__":
    main()
