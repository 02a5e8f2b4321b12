#!/usr/bin/env python3
"""Is every event counted exactly once while nodes die and stand still?

chaos_events.py [SECONDS [EVENTS_PER_S [SEED]]]: three nodes of the program QUORATE_BIN for 1,800 s, at most 500 events a second. Senders
repeat a batch, at any node, until it is answered; users are forgotten in between. Meanwhile nodes are killed (kill -9) and stand still, one at a time, now and then two. At the end every
node has to say exactly how many clicks, conversions and amounts there were. Prints one line of JSON; ends with 1 when something differs.
"""
import collections
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time

import node as nodes
from cluster import Cluster

INDEX, SEARCHES, SENDERS, BATCH, ANSWER_S, AGAIN_S, COUNTED_S = "shop", 40, 4, 120, 10, 0.2, 120
# Rows that one answer of analytics takes, with some room, and rows of an event.
ROWS_MAX, ROWS_OF_EVENT = 1_900_000, 2


class Sender(threading.Thread):
    """Sends events of users of its own, one batch after the other, and knows what of them counts."""

    def __init__(self, number, ports, ids, until, per_s, seed):
        super().__init__()
        self.name_, self.ports, self.ids, self.until, self.per_s = f"s{number}", ports, ids, until, per_s
        self.chance = random.Random(seed * 100 + number)
        self.of_users = collections.defaultdict(collections.Counter)
        self.number, self.batches, self.repeated, self.forgotten, self.longest_s, self.failed = 0, 0, 0, 0, 0.0, None

    def run(self):
        try:
            while time.monotonic() < self.until:
                self.forget() if self.chance.random() < 0.02 else self.batch()
        except Exception as error:  # whatever it is, the counts are not what they should be
            self.failed = repr(error)

    def event(self):
        chance = self.chance
        self.number += 1
        user = f"{self.name_}-{chance.randrange(30)}"
        kind = chance.choice(["click", "click", "purchase"])
        event = {"index": INDEX, "userToken": user, "eventName": f"{self.name_} {self.number}", "timestamp": int(time.time() * 1_000)}
        ids = [f"o{chance.randrange(5)}-{at}" for at in range(chance.randrange(1, 4))]
        if kind == "click":
            positions = [chance.randrange(1, 9) for _ in ids]
            event.update(eventType="click", objectIDs=ids, positions=positions, queryID=chance.choice(self.ids))
            return user, event, {"clicks": len(ids)}
        paid = [{"price": chance.randrange(100), "quantity": chance.randrange(1, 4), "queryID": chance.choice(self.ids)} for _ in ids]
        event.update(eventType="conversion", eventSubtype="purchase", objectIDs=ids, objectData=paid, currency="EUR")
        return user, event, {"conversions": len(ids), "revenue": sum(of["price"] * of["quantity"] for of in paid)}

    def batch(self):
        all_ = [self.event() for _ in range(self.chance.randrange(1, BATCH))]
        begun = time.monotonic()
        self.call("POST", "/1/events", {"events": [event for _, event, _ in all_]})
        self.batches += 1
        if self.chance.random() < 0.1:
            # as somebody does who has not seen the answer
            self.call("POST", "/1/events", {"events": [event for _, event, _ in all_]})
        for user, _, counts in all_:
            self.of_users[user].update(counts)
        time.sleep(max(0, len(all_) * SENDERS / self.per_s - (time.monotonic() - begun)))

    def forget(self):
        user = f"{self.name_}-{self.chance.randrange(30)}"
        self.call("DELETE", f"/1/usertokens/{user}")
        self.of_users[user].clear()
        self.forgotten += 1

    def call(self, method, path, body=None):
        """At any node until it is answered."""
        begun = time.monotonic()
        while True:
            try:
                connection = nodes.Connection(self.chance.choice(self.ports))
                try:
                    connection.http.sock.settimeout(ANSWER_S)
                    return connection.call(method, path, body)
                finally:
                    connection.close()
                    self.longest_s = max(self.longest_s, time.monotonic() - begun)
            except RuntimeError as error:
                if not any(f": {status} " in str(error) for status in (429, 500, 502, 503, 504)):
                    raise
                self.repeated += 1
            except OSError:
                self.repeated += 1
            except nodes.http.client.HTTPException:
                self.repeated += 1
            time.sleep(AGAIN_S)


class Disturber:
    """Kills nodes and lets them stand still, until time is up; all are well at the end."""

    def __init__(self, cluster, seed):
        self.cluster, self.chance, self.done = cluster, random.Random(seed), collections.Counter()

    def run(self, until):
        chance = self.chance
        while time.monotonic() < until:
            time.sleep(chance.uniform(1, 6))
            victims = chance.sample(self.cluster.nodes, 2 if chance.random() < 0.15 else 1)
            how = chance.choice(["killed", "paused"])
            for node in victims:
                node.kill() if how == "killed" else node.process.send_signal(signal.SIGSTOP)
            self.done[how] += len(victims)
            time.sleep(chance.uniform(0.2, 8))
            for node in victims:
                self.again(node) if how == "killed" else node.process.send_signal(signal.SIGCONT)

    @staticmethod
    def again(node):
        """Starts it without waiting: with two away nobody answers yet."""
        with open(node.folder + ".log", "ab") as log:
            node.process = nodes.subprocess.Popen(node.command(), env=node.environment, stdout=log, stderr=log)


def prepare(connection):
    """Searches that events name, counted before anything happens."""
    record = {"action": "addObject", "body": {"objectID": "o0-0", "name": "lamp"}}
    task = connection.call("POST", f"/1/indexes/{INDEX}/batch", {"requests": [record]})["taskID"]
    while connection.call("GET", f"/1/indexes/{INDEX}/task/{task}")["status"] != "published":
        time.sleep(0.05)
    ids = []
    for number in range(SEARCHES):
        params = {"query": "lamp", "userToken": f"who-searches-{number}", "clickAnalytics": True}
        ids.append(connection.call("POST", f"/1/indexes/{INDEX}/query", params)["queryID"])
    until = time.monotonic() + COUNTED_S
    while connection.call("GET", f"/2/searches/count?index={INDEX}")["count"] != SEARCHES:
        if time.monotonic() > until:
            raise RuntimeError("the searches are not counted")
        time.sleep(0.2)
    return ids


def told(node):
    """What a node says."""
    figures = [node.call("GET", f"/2/{path}?index={INDEX}") for path in
               ("clicks/clickThroughRate", "conversions/purchaseRate", "conversions/revenue", "searches/count")]
    clicks, purchases, revenue, searches = figures
    return {"clicks": clicks["clickCount"], "conversions": purchases["purchaseCount"], "searches": searches["count"],
            "revenue": revenue["currencies"].get("EUR", {}).get("revenue", 0)}


def settled(node, expected):
    """What a node says, as soon as that is what is expected, or at last."""
    until, found = time.monotonic() + COUNTED_S, None
    while time.monotonic() < until:
        try:
            found = told(node)
            if found == expected:
                break
        except (OSError, RuntimeError, nodes.http.client.HTTPException) as error:
            found = repr(error)
        time.sleep(1)
    return found


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1_800
    per_s = float(sys.argv[2]) if len(sys.argv) > 2 else 500
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 18
    if seconds * per_s * ROWS_OF_EVENT > ROWS_MAX:
        sys.exit(f"at most {ROWS_MAX // ROWS_OF_EVENT} events")
    with tempfile.TemporaryDirectory() as home, Cluster(os.path.join(home, "nodes"), 3) as cluster:
        ids = prepare(nodes.Connection(cluster.nodes[0].port))
        until = time.monotonic() + seconds
        senders = [Sender(number, [node.port for node in cluster.nodes], ids, until, per_s, seed) for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        disturber = Disturber(cluster, seed)
        disturber.run(until)
        for sender in senders:
            sender.join()
        expected = collections.Counter()
        for sender in senders:
            for counts in sender.of_users.values():
                expected.update(counts)
        expected = {"clicks": expected["clicks"], "conversions": expected["conversions"], "searches": SEARCHES, "revenue": expected["revenue"]}
        found = [settled(node, expected) for node in cluster.nodes]
    failed = [sender.failed for sender in senders if sender.failed]
    held = not failed and all(of == expected for of in found)
    print(json.dumps({
        "seconds": seconds, **disturber.done, "batches": sum(sender.batches for sender in senders), "events": sum(sender.number for sender in senders),
        "repeated": sum(sender.repeated for sender in senders), "forgotten": sum(sender.forgotten for sender in senders),
        "longest_s": round(max(sender.longest_s for sender in senders), 1), "expected": expected,
        "found": "the same on every node" if held else found, "failed": failed}))
    sys.exit(not held)


if __name__ == "__main__":
    main()
