#!/usr/bin/env python3
"""Do recommendations find what was planted in the events of a generated shop, and nothing that was not?

shop.py [SEED]: a shop of 2,000 products and 28 days of purchases goes to the program QUORATE_BIN over HTTP, the models are built, and
every list is asked for. Planted are bundles among popular noise, products that began to rise six hours ago, products that are sold out,
near copies, and a robot. Prints one line of JSON; ends with 1 when a target is missed.
"""
import bisect
import collections
import itertools
import json
import os
import random
import sys
import tempfile
import time

import node as nodes
from models import built

INDEX = "shop"
PRODUCTS, USERS, BASKETS, DAYS = 2_000, 8_000, 20_000, 28
# Sales fall with the rank to this power.
SKEW = 0.6
BEST, BUNDLES, BUNDLE_SALES, RISING, RISING_SALES, SOLD_OUT, COPIES = 20, 100, (20, 60), 10, (70, 130), 20, 200
ROBOT_EVENTS, ROBOT_PRODUCTS = 100_000, 10
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
BATCH, REQUESTS, BUILD_S, MERGED_S = 1_000, 100, 240, 40
MODELS = ["related-products", "bought-together"]
KINDS = ["lamp", "table", "chair", "sofa", "shelf", "vase", "rug", "clock", "mirror", "desk", "bench", "stool"]
LOOKS = ["oak", "brass", "velvet", "glass", "linen", "steel", "walnut", "marble", "rattan", "wool", "pine", "copper", "cork", "slate"]
COLORS = ["red", "blue", "green", "black", "white", "grey", "amber", "teal", "ivory", "plum"]
TARGETS = {
    "bundles_found": (0.95, None), "best_pairs_shown": (None, 0.02), "rising_recall": (0.9, None), "popular_recall": (None, 0.2),
    "sold_out_shown": (None, 0), "robot_moved": (None, 0), "copies_first": (0.98, None), "tail_answered": (1, None),
}


def products(chance):
    """Records, and pairs of near copies among them."""
    syllables = ["ba", "lo", "mi", "ter", "kan", "sol", "ri", "du", "fen", "go", "pa", "nu", "vel", "ost"]
    words = ["".join(part) for part in itertools.product(syllables, repeat=3)]
    chance.shuffle(words)
    makers = words[:60]
    usual = words[60:1_000]
    records, pairs = [], []
    for at in range(PRODUCTS - COPIES):
        look, color, kind = chance.choice(LOOKS), chance.choice(COLORS), chance.choice(KINDS)
        maker = chance.choice(makers)
        text = " ".join(chance.choice(usual) for _ in range(12))
        records.append({"name": f"{look.title()} {kind} {maker} {chance.randrange(10, 99)}", "color": color, "kind": kind, "brand": maker,
                        "description": f"{color} {kind} of {look}, {text}"})
    for of in chance.sample(range(len(records)), COPIES):
        copy = dict(records[of])
        # another size and another color, and two words of the text
        copy["name"] = copy["name"][:-2] + str(chance.randrange(10, 99))
        text = copy["description"].split()
        for place in chance.sample(range(4, len(text)), 2):
            text[place] = chance.choice(usual)
        copy["color"] = text[0] = chance.choice(COLORS)
        copy["description"] = " ".join(text)
        pairs.append((of, len(records)))
        records.append(copy)
    return [{"objectID": f"p{at}", **record} for at, record in enumerate(records)], [(f"p{one}", f"p{other}") for one, other in pairs]


class Shop:
    """What is sold, by whom and when."""

    def __init__(self, chance, now_ms):
        self.chance, self.now_ms = chance, now_ms
        self.records, self.copies = products(chance)
        ids = [record["objectID"] for record in self.records]
        by_rank = chance.sample(ids, len(ids))
        weights = itertools.accumulate((rank + 1) ** -SKEW for rank in range(len(ids)))
        self.by_rank, self.sums = by_rank, list(weights)
        self.best = by_rank[:BEST]
        self.sold_out = by_rank[2:2 + 5 * SOLD_OUT:5]
        # neither the head nor what hardly anybody buys
        middle = chance.sample(by_rank[200:1_200], 3 * BUNDLES)
        self.bundles = [middle[at:at + 3] for at in range(0, len(middle), 3)]
        self.rising = chance.sample(by_rank[1_200:1_900], RISING)
        self.pushed = chance.sample(by_rank[1_900:], ROBOT_PRODUCTS)
        self.sales = collections.Counter()

    def usual(self):
        while True:
            found = self.by_rank[bisect.bisect(self.sums, self.chance.random() * self.sums[-1])]
            if found not in self.rising:
                return found

    def sold(self, user, ids, time_ms):
        """A basket, sometimes after looks and clicks, now and then bought in two steps."""
        events, chance = [], self.chance
        event = {"index": INDEX, "userToken": f"u{user}"}
        for of in ids:
            if chance.random() < 0.3:
                events.append({**event, "eventType": "view", "eventName": "Seen", "objectIDs": [of], "timestamp": time_ms - 60_000})
        bought = {**event, "eventType": "conversion", "eventSubtype": "purchase", "eventName": "Bought"}
        steps = [ids] if chance.random() < 0.8 else [ids[:1], ids[1:]]
        for step, some in enumerate(some for some in steps if some):
            events.append({**bought, "objectIDs": some, "timestamp": time_ms + step * HOUR_MS // 4})
            self.sales.update(some)
        return events

    def events(self):
        chance = self.chance
        begin_ms = self.now_ms - DAYS * DAY_MS
        rises_ms = self.now_ms - 6 * HOUR_MS
        gone_ms = self.now_ms - 3 * DAY_MS
        of_bundles = [bundle for bundle in self.bundles for _ in range(chance.randrange(*BUNDLE_SALES))]
        chance.shuffle(of_bundles)
        for number in range(BASKETS):
            time_ms = chance.randrange(begin_ms, self.now_ms - HOUR_MS)
            ids = {self.usual() for _ in range(min(8, 1 + int(chance.expovariate(0.6))))}
            if number < len(of_bundles):
                ids |= set(chance.sample(of_bundles[number], chance.choice([2, 3, 3])))
            if time_ms > gone_ms:
                ids -= set(self.sold_out)
            if ids:
                yield from self.sold(chance.randrange(USERS), sorted(ids), time_ms)
        for of in self.rising:
            for _ in range(chance.randrange(*RISING_SALES)):
                yield from self.sold(chance.randrange(USERS), [of], chance.randrange(rises_ms, self.now_ms - HOUR_MS // 2))

    def robot(self):
        """One user, day and night, on a few products that nobody buys, now and then with a best seller."""
        chance = self.chance
        for number in range(ROBOT_EVENTS):
            ids = [chance.choice(self.pushed)]
            time_ms = self.now_ms - number * (DAYS * DAY_MS // ROBOT_EVENTS)
            yield {"index": INDEX, "userToken": "robot", "eventType": "conversion", "eventSubtype": "purchase", "eventName": "Bought",
                   "objectIDs": ids + ([self.best[0]] if chance.random() < 0.1 else []), "timestamp": time_ms}


def send(connection, events):
    count, events = 0, iter(events)
    while batch := list(itertools.islice(events, BATCH)):
        connection.call("POST", "/1/events", {"events": batch})
        count += sum(len(event["objectIDs"]) for event in batch)
    return count


def write(connection, requests):
    for at in range(0, len(requests), BATCH):
        task = connection.call("POST", f"/1/indexes/{INDEX}/batch", {"requests": requests[at:at + BATCH]})["taskID"]
        while connection.call("GET", f"/1/indexes/{INDEX}/task/{task}")["status"] != "published":
            time.sleep(0.05)


def build(connection, rows):
    """Lets both models be built of so many rows; what is told of them."""
    return {model: built(connection, INDEX, model, rows, BUILD_S) for model in MODELS}


def lists(connection, model, ids):
    """The list of each product."""
    found = {}
    for at in range(0, len(ids), REQUESTS):
        some = ids[at:at + REQUESTS]
        requests = [{"indexName": INDEX, "model": model, "objectID": of, "threshold": 0,
                     "queryParameters": {"attributesToRetrieve": [], "attributesToHighlight": []}} for of in some]
        results = connection.call("POST", "/1/indexes/*/recommendations", {"requests": requests})["results"]
        # equal scores come in the order of the index, which merging changes
        key = lambda hit: (-hit["_score"], hit["objectID"])
        found.update((of, [hit["objectID"] for hit in sorted(result["hits"], key=key)]) for of, result in zip(some, results, strict=True))
    return found


def trending(connection):
    request = {"indexName": INDEX, "model": "trending-items", "threshold": 0, "queryParameters": {"attributesToRetrieve": []}}
    hits = connection.call("POST", "/1/indexes/*/recommendations", {"requests": [request]})["results"][0]["hits"]
    return [hit["objectID"] for hit in hits]


def share(found):
    found = list(found)
    return sum(found) / len(found)


def measured(shop, connection, ids):
    """Figures, and all lists."""
    related, together, alike = (lists(connection, model, ids) for model in (*MODELS, "looking-similar"))
    trends = trending(connection)
    gone = set(shop.sold_out)
    shown = [hits for of in (related, together, alike) for hits in of.values()] + [trends]
    partners = [(one, other) for bundle in shop.bundles for one, other in itertools.permutations(bundle, 2)]
    partners = [(one, other) for one, other in partners if one in together and other not in gone]
    best = [of for of in shop.best if of not in gone]
    popular = [of for of, _ in shop.sales.most_common() if of not in gone][:RISING]
    copies = [(one, other) for pair in shop.copies for one, other in (pair, pair[::-1]) if not gone & set(pair)]
    tail = [of for of in ids if shop.sales[of] < 3]
    figures = {
        "bundles_found": share(other in together[one][:3] for one, other in partners),
        "best_pairs_shown": share(other in together[one] for one, other in itertools.permutations(best, 2)),
        "rising_recall": share(of in trends[:RISING] for of in shop.rising),
        "popular_recall": share(of in popular for of in shop.rising),
        "sold_out_shown": sum(bool(gone & set(hits)) for hits in shown),
        "copies_first": share(alike[one][:1] == [other] for one, other in copies),
        "tail_answered": share(bool(related[of]) for of in tail) if tail else 1,
    }
    return figures, {"related-products": related, "bought-together": together, "trending": {"": trends[:RISING]}}


def main():
    chance = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 18)
    with tempfile.TemporaryDirectory() as home:
        node = nodes.Node(os.path.join(home, "data"))
        node.start()
        try:
            connection = nodes.Connection(node.port)
            shop = Shop(chance, int(time.time() * 1_000))
            settings = {"attributesForFaceting": ["brand", "kind", "color"], "searchableAttributes": ["name", "description"]}
            connection.call("PUT", f"/1/indexes/{INDEX}/settings", settings)
            write(connection, [{"action": "addObject", "body": record} for record in shop.records])
            rows = send(connection, shop.events())
            write(connection, [{"action": "deleteObject", "body": {"objectID": of}} for of in shop.sold_out])
            ids = [record["objectID"] for record in shop.records if record["objectID"] not in shop.sold_out]
            # likeness counts records that are deleted until they are merged away
            node.wait_merged(MERGED_S)
            models = build(connection, rows)
            figures, before = measured(shop, connection, ids)
            rows += send(connection, shop.robot())
            models = build(connection, rows)
            time.sleep(10)
            again, after = measured(shop, connection, ids)
        finally:
            node.stop()
    figures["robot_moved"] = sum(before[model][of] != after[model][of] for model in before for of in before[model])
    missed = [name for name, (least, most) in TARGETS.items()
              if least is not None and figures[name] < least or most is not None and figures[name] > most]
    print(json.dumps({**figures, "after_robot": again, "rows": rows, "models": models, "missed": missed}))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
