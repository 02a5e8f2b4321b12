#!/usr/bin/env python3
"""How much of what users did next does a node recommend: events in by HTTP, a model built, every item asked?

gowalla_served.py FOLDER: as of gowalla.py, which measures the same without a node. Starts the program QUORATE_BIN on a temporary folder.
Each interaction is a conversion; a history recommends the 20 best of the sum of its items' lists, each divided by its sum. Prints one line
of JSON; ends with 1 when that is worse than it has to be.
"""
import json
import os
import sys
import tempfile
import time

import gowalla
import node as nodes
from models import built

INDEX, MODEL = "places", "related-products"
OBJECTS, EVENTS, RECORDS, REQUESTS = 20, 1_000, 10_000, 100


def slices(values, size):
    return [values[at:at + size] for at in range(0, len(values), size)]


def send(connection, train):
    """Every interaction once; returns the seconds that took."""
    begun = time.monotonic()
    items = sorted({item for of_user in train.values() for item in of_user})
    for some in slices(items, RECORDS):
        requests = [{"action": "addObject", "body": {"objectID": str(item)}} for item in some]
        connection.call("POST", f"/1/indexes/{INDEX}/batch", {"requests": requests})
    events = [
        {"eventType": "conversion", "eventName": "Visited", "index": INDEX, "userToken": f"user-{user}",
         "objectIDs": [str(item) for item in some]}
        for user, of_user in train.items() for some in slices(of_user, OBJECTS)
    ]
    for some in slices(events, EVENTS):
        connection.call("POST", "/1/events", {"events": some})
    return items, time.monotonic() - begun


def asked(connection, items):
    """The list of each item, scores divided by their sum."""
    lists = {}
    for some in slices(items, REQUESTS):
        requests = [
            {"indexName": INDEX, "model": MODEL, "objectID": str(item), "threshold": 0,
             "queryParameters": {"attributesToRetrieve": ["objectID"], "attributesToHighlight": []}}
            for item in some
        ]
        results = connection.call("POST", "/1/indexes/*/recommendations", {"requests": requests})["results"]
        for item, result in zip(some, results, strict=True):
            total = sum(hit["_score"] for hit in result["hits"]) or 1
            lists[item] = [(int(hit["objectID"]), hit["_score"] / total) for hit in result["hits"]]
    return lists


def recommended(history, lists):
    sums = {}
    for item in history:
        for other, score in lists.get(item, ()):
            sums[other] = sums.get(other, 0) + score
    known = set(history)
    left = [(-score, item) for item, score in sums.items() if item not in known]
    return [item for _, item in sorted(left)[:gowalla.RECOMMENDED]]


def main():
    folder = os.path.abspath(sys.argv[1])
    train, test = (gowalla.read(os.path.join(folder, name)) for name in ("train.txt.gz", "test.txt.gz"))
    with tempfile.TemporaryDirectory() as home:
        node = nodes.Node(os.path.join(home, "data"))
        node.start()
        try:
            connection = nodes.Connection(node.port)
            items, sent_s = send(connection, train)
            model = built(connection, INDEX, MODEL, sum(len(of_user) for of_user in train.values()))
            begun = time.monotonic()
            lists = asked(connection, items)
            asked_s = time.monotonic() - begun
        finally:
            node.stop()
    best = {user: recommended(history, lists) for user, history in train.items() if test.get(user)}
    shown = {item for of_user in best.values() for item in of_user}
    found = {**gowalla.measured(best, test), "coverage": len(shown) / len(items)}
    print(json.dumps({**found, "sent_s": sent_s, "asked_s": asked_s, "model": model}))
    held = (found["recall"] >= gowalla.RECALL_MIN and found["ndcg"] >= gowalla.NDCG_MIN
            and found["coverage"] >= gowalla.COVERAGE_MIN)
    sys.exit(not held)


if __name__ == "__main__":
    main()
