#!/usr/bin/env python3
"""Does what is typed letter by letter become the searches, and the suggestions, that were meant?

typed.py [INTENTS [SEED]]: users who know what they look for type it at three nodes of the program QUORATE_BIN in turn, with typos,
corrections, pauses, letters taken away and clicks, as fast as hands do. Queries that the nodes count are held against what was meant, and
beside that against the rule that a query counts after four seconds without a letter. Then suggestions are built. Prints one line of JSON;
ends with 1 when a target is missed. 16,000 intents take some five minutes.
"""
import collections
import heapq
import itertools
import json
import os
import random
import sys
import tempfile
import threading
import time

import node as nodes
from cluster import Cluster

INDEX, SUGGESTIONS = "shop", "shop suggestions"
WORKERS, TYPISTS = 12, 160
LETTER_S, LOOKS_S, PAUSE_RULE_S = (0.08, 0.22), (2.3, 6), 4
MIN_HITS, MOST_FREQUENT = 5, 1_000
COUNTED_S, BUILT_S = 90, 120
LOOKS = ["oak", "brass", "velvet", "glass", "linen", "steel", "walnut", "marble", "rattan", "woollen", "pine", "copper", "cork", "slate",
         "paper", "leather", "cotton", "bamboo", "silver", "golden", "crimson", "azure", "olive", "amber", "ivory", "round", "narrow",
         "folding", "hanging", "outdoor", "vintage", "modern", "rustic", "painted"]
KINDS = ["lamp", "table", "chair", "sofa", "shelf", "vase", "rug", "clock", "mirror", "desk", "bench", "stool", "basket", "curtain",
         "pillow", "blanket", "cabinet", "drawer", "wardrobe", "candle", "frame", "kettle", "tray", "bowl", "plate", "jug", "hook",
         "ladder", "planter", "screen", "trolley", "umbrella stand", "cushion", "mattress", "doormat", "hammock", "parasol", "fountain"]
EXCLUDED_WORD, EXCLUDED_PATTERN = "crimson", "^azure .*"
RARE = ["zeppelin", "quartz", "harpsichord", "gyroscope", "javelin", "obelisk"]
TARGETS = {"precision": (0.97, None), "recall": (0.97, None), "suggested": (0.99, None), "not_meant": (None, 0.005), "excluded": (None, 0),
           "in_order": (0.98, None)}


def catalogue():
    """Records: enough for every pair and every single word, too few for what is rare."""
    names = [f"{look} {kind}" for look in LOOKS for kind in KINDS for _ in range(MIN_HITS)]
    names += [f"{kind} of {rare}" for rare in RARE for kind in KINDS[:2]]
    return [{"objectID": str(at), "name": name} for at, name in enumerate(names)]


class Intents:
    """What users look for, some of it more often."""

    def __init__(self, chance):
        pairs = [f"{look} {kind}" for look in LOOKS for kind in KINDS]
        self.all = pairs + [*LOOKS, *KINDS] + [*RARE, *(f"{rare} {kind}" for rare in RARE for kind in KINDS[:3])]
        chance.shuffle(self.all)
        self.sums = list(itertools.accumulate((rank + 1) ** -0.5 for rank in range(len(self.all))))

    def one(self, chance):
        return chance.choices(self.all, cum_weights=self.sums)[0]


def is_excluded(query):
    return EXCLUDED_WORD in query.split() or query.startswith("azure ")


def is_eligible(query):
    return not is_excluded(query) and not any(rare in query for rare in RARE)


class Session:
    """One user: what is typed with how much time between, and what counts of it."""

    def __init__(self, user, chance, intents):
        # letters go to the nodes in turn, from this one on
        self.user, self.chance, self.first = user, chance, chance.randrange(3)
        self.meant, self.steps, self.text, self.wait_s = [], [], "", 0.0
        for number in range(chance.choice([1, 1, 2, 3])):
            wanted = intents.one(chance)
            if number and wanted == self.meant[-1]:
                continue
            if number:
                self.leave(wanted)
            self.type(wanted)

    def step(self, text):
        self.text = text
        self.steps.append((self.wait_s + self.chance.uniform(*LETTER_S), text))
        self.wait_s = 0.0

    def write(self, text):
        """Goes on from what is there."""
        for end in range(len(self.text) + 1, len(text) + 1):
            self.step(text[:end])

    def erase(self, left):
        while len(self.text) > left:
            self.step(self.text[:-1])

    def pause(self, least, most):
        self.wait_s += self.chance.uniform(least, most)

    def type(self, wanted):
        """One intent: plain, corrected, with a pause, after another beginning, or misspelt to the end."""
        chance, kept = self.chance, len(self.text)
        how = chance.random() if kept < len(wanted) - 2 else 0
        at = chance.randrange(kept + 1, len(wanted)) if how else 0
        if how < 0.45:
            self.write(wanted)
        elif how < 0.65:
            # a wrong letter that is seen some letters later
            self.write(wanted[:at] + chance.choice("abcdefghijklmnopqrstuvwxyz") + wanted[at:at + chance.randrange(4)])
            self.pause(0, 0.6)
            self.erase(at)
            self.write(wanted)
        elif how < 0.83:
            # one or two pauses to think
            self.write(wanted[:at])
            self.pause(1, 8)
            self.write(wanted)
        elif how < 0.93 and not kept:
            # something else was begun, and taken away at once
            begun = chance.choice(KINDS)
            self.write(begun[:chance.randrange(2, len(begun) + 1)])
            self.pause(0, 0.8)
            self.erase(0)
            self.write(wanted)
        else:
            wanted = misspelt(wanted, kept + 1, chance)
            self.write(wanted)
        self.meant.append(wanted)

    def leave(self, wanted):
        """Looks at what was found, or clicks soon, and makes place for the next query."""
        chance = self.chance
        if chance.random() < 0.15:
            self.steps.append((chance.uniform(0.3, 0.8), None))
            self.pause(0.3, 0.8)
        else:
            self.pause(*LOOKS_S)
        how = chance.random()
        if how < 0.4:
            # keeps what is the same
            self.erase(len(os.path.commonprefix([self.text, wanted])))
        elif how < 0.7:
            self.step("")
        else:
            # all is marked, and the first letter replaces it
            self.text = ""


def misspelt(text, least, chance):
    at = chance.randrange(least, len(text) - 1)
    how = chance.randrange(3)
    if how == 0:
        return text[:at] + text[at + 1:]
    if how == 1:
        return text[:at] + text[at + 1] + text[at] + text[at + 2:]
    return text[:at] + chance.choice("qxzwkv") + text[at + 1:]


class Typists:
    """Types sessions, some at a time, each letter at another node."""

    def __init__(self, ports, sessions):
        self.ports, self.waiting = ports, iter(sessions)
        self.lock, self.due, self.number = threading.Lock(), [], 0
        self.typed, self.late_s, self.failed = collections.defaultdict(list), 0.0, []

    def next(self, at_s):
        session = next(self.waiting, None)
        if session:
            self.push(at_s + session.steps[0][0], session, 0, None)

    def push(self, at_s, session, step, query_id):
        self.number += 1
        heapq.heappush(self.due, (at_s, self.number, session, step, query_id))

    def run(self):
        now_s = time.monotonic()
        for typist in range(TYPISTS):
            self.next(now_s + typist * 0.02)
        workers = [threading.Thread(target=self.work) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def work(self):
        connections = [nodes.Connection(port) for port in self.ports]
        try:
            while True:
                with self.lock:
                    if not self.due:
                        return
                    at_s, _, session, step, query_id = heapq.heappop(self.due)
                now_s = time.monotonic()
                time.sleep(max(0, at_s - now_s))
                self.late_s = max(self.late_s, now_s - at_s)
                query_id = self.do(connections[(step + session.first) % len(connections)], session, step, query_id)
                now_s = time.monotonic()
                with self.lock:
                    if step + 1 < len(session.steps):
                        self.push(max(at_s, now_s - 0.05) + session.steps[step + 1][0], session, step + 1, query_id)
                    else:
                        self.next(now_s)
        except (OSError, RuntimeError) as error:
            self.failed.append(str(error))

    def do(self, connection, session, step, query_id):
        text = session.steps[step][1]
        if text is None:
            event = {"eventType": "click", "eventName": "Clicked", "index": INDEX, "userToken": session.user, "queryID": query_id,
                     "objectIDs": ["1"], "positions": [1]}
            connection.call("POST", "/1/events", {"events": [event]})
            return query_id
        self.typed[session.user].append((time.monotonic(), text))
        params = {"query": text, "userToken": session.user, "clickAnalytics": True, "hitsPerPage": 3, "attributesToHighlight": []}
        return connection.call("POST", f"/1/indexes/{INDEX}/query", params)["queryID"]


def by_pauses(typed):
    """What a rule counts that waits for four seconds without a letter."""
    found = collections.Counter()
    for steps in typed.values():
        for (at_s, text), after in itertools.zip_longest(steps, steps[1:]):
            if text and (after is None or after[0] - at_s >= PAUSE_RULE_S):
                found[text] += 1
    return found


def held(found, meant):
    """Precision and recall of counted queries."""
    both = sum((found & meant).values())
    return {"precision": both / max(1, sum(found.values())), "recall": both / sum(meant.values())}


def counted(connection):
    found, offset = collections.Counter(), 0
    while True:
        page = connection.call("GET", f"/2/searches?index={INDEX}&limit=1000&offset={offset}")["searches"]
        # who clears the field asks for nothing
        found.update({row["search"]: row["count"] for row in page if row["search"]})
        offset += len(page)
        if len(page) < 1_000:
            return found


def wait_counted(connection):
    """Until nothing more is counted."""
    before, since, until = None, time.monotonic(), time.monotonic() + COUNTED_S
    while time.monotonic() < until:
        found = connection.call("GET", f"/2/searches/count?index={INDEX}")["count"]
        if found != before:
            before, since = found, time.monotonic()
        elif time.monotonic() - since > 12:
            return
        time.sleep(1)


def wait_published(connection, index, task):
    while connection.call("GET", f"/1/indexes/{index}/task/{task}")["status"] != "published":
        time.sleep(0.05)


def suggestions(connection):
    """Builds them; texts with their popularity, as an empty query shows them."""
    config = {"indexName": SUGGESTIONS, "sourceIndices": [{"indexName": INDEX, "minHits": MIN_HITS}],
              "exclude": [EXCLUDED_WORD, EXCLUDED_PATTERN]}
    begun = time.monotonic()
    connection.call("POST", "/1/configs", config)
    path = "/1/configs/" + SUGGESTIONS.replace(" ", "%20")
    while True:
        state = connection.call("GET", path + "/status")
        if not state["isRunning"] and state.get("lastBuiltAt"):
            break
        if time.monotonic() - begun > BUILT_S:
            raise RuntimeError(f"no suggestions in {BUILT_S} s: {state}")
        time.sleep(0.2)
    built_s, found, page = time.monotonic() - begun, [], 0
    name = SUGGESTIONS.replace(" ", "%20")
    wait_published(connection, name, connection.call("PUT", f"/1/indexes/{name}/settings", {"paginationLimitedTo": 20_000})["taskID"])
    while True:
        hits = connection.call("POST", f"/1/indexes/{name}/query", {"query": "", "hitsPerPage": 1_000, "page": page})["hits"]
        found += [(hit["query"], hit["popularity"]) for hit in hits]
        page += 1
        if len(hits) < 1_000:
            return found, built_s


def judged(found, meant, chance):
    """Figures of suggestions."""
    popularity = dict(found)
    eligible = collections.Counter({query: count for query, count in meant.items() if is_eligible(query) and query in KNOWN})
    wanted = [query for query, _ in eligible.most_common(MOST_FREQUENT)]
    pairs = (chance.sample(wanted, 2) for _ in range(20_000))
    apart = [(one, other) for one, other in pairs
             if eligible[one] > 1.25 * eligible[other] + 1 and one in popularity and other in popularity]
    values = [value for _, value in found]
    return {
        "suggestions": len(found), "suggested": sum(query in popularity for query in wanted) / len(wanted),
        "not_meant": sum(query not in eligible for query in popularity) / max(1, len(found)),
        "excluded": sum(is_excluded(query) for query in popularity),
        "in_order": sum(popularity[one] > popularity[other] for one, other in apart) / max(1, len(apart)) * (values == sorted(values)[::-1]),
        "wrong": [query for query in popularity if query not in eligible][:10],
        "missing": [query for query in wanted if query not in popularity][:10],
    }


KNOWN = set()


def main():
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 16_000
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 18)
    intents, sessions = Intents(chance), []
    KNOWN.update(intents.all)
    while sum(len(session.meant) for session in sessions) < wanted:
        sessions.append(Session(f"user-{len(sessions)}", chance, intents))
    meant = collections.Counter(query for session in sessions for query in session.meant)
    with tempfile.TemporaryDirectory() as home, Cluster(os.path.join(home, "nodes"), 3) as cluster:
        connection = nodes.Connection(cluster.nodes[0].port)
        requests = [{"action": "addObject", "body": record} for record in catalogue()]
        connection.call("PUT", f"/1/indexes/{INDEX}/settings", {"searchableAttributes": ["name"]})
        wait_published(connection, INDEX, connection.call("POST", f"/1/indexes/{INDEX}/batch", {"requests": requests})["taskID"])
        typists, begun = Typists([node.port for node in cluster.nodes], sessions), time.monotonic()
        typists.run()
        typed_s = time.monotonic() - begun
        connection = nodes.Connection(cluster.nodes[1].port)
        wait_counted(connection)
        found = counted(connection)
        suggested, built_s = suggestions(connection)
    pauses = held(by_pauses(typists.typed), meant)
    figures = {
        **held(found, meant), "pause_rule": pauses, "meant": sum(meant.values()), "counted": sum(found.values()),
        "keystrokes": sum(map(len, typists.typed.values())), "users": len(sessions), "typed_s": round(typed_s, 1),
        "late_s": round(typists.late_s, 3), "built_s": round(built_s, 1), **judged(suggested, meant, chance),
    }
    missed = [name for name, (least, most) in TARGETS.items()
              if least is not None and figures[name] < least or most is not None and figures[name] > most] + typists.failed[:3]
    print(json.dumps({**figures, "missed": missed}))
    for query, count in ((found - meant) + collections.Counter()).most_common(10) if missed else ():
        print(f"counted, not meant: {query!r} {count}", file=sys.stderr)
    for query, count in (meant - found).most_common(10) if missed else ():
        print(f"meant, not counted: {query!r} {count}", file=sys.stderr)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
