"""Which searches and events are a random log, and which of them count?"""
import glob
import time
import urllib.parse

INDEX, OTHER = "shop", "another shop"
SHOWN = 20
# Of none of these another one is a step of typing it.
QUERIES = ["red shoe", "lamp", "oak table", "green velvet sofa", "umbrella", "kettle", "unicorn", "nothing like it", "Straße",
           "9 volt", "garden hose", "vase", "xylophone", "yarn"]
BRANDS = ["acme", "b & sons", "Ünder"]
TAGS = ["mobile", "new user", "a", "b"]
# What is sent, and the filters that are in it.
FILTERS = [
    ({}, []), ({}, []), ({}, []),
    ({"filters": "brand:acme"}, ["brand:acme"]),
    ({"filters": 'NOT brand:acme AND price<10'}, ["brand:-acme", "price<10"]),
    ({"filters": 'brand:"b & sons" OR brand:Ünder'}, ["brand:b & sons", "brand:Ünder"]),
    ({"filters": "price:5 TO 15"}, ["price:5 TO 15"]),
    ({"facetFilters": [["brand:acme", "brand:Ünder"], "kind:none"]}, ["brand:acme", "brand:Ünder", "kind:none"]),
    ({"numericFilters": ["price>=3"]}, ["price>=3"]),
]
COUNTRIES = {20: "DE", 21: "FR", 200: "US"}
CURRENCIES = ["EUR", "USD", "JPY"]


class Search:
    """One that counts."""

    def __init__(self, day, user, query, country):
        self.day, self.user, self.country = day, user, country
        self.query = " ".join(query.lower().split())
        self.ids, self.filters, self.events = [], set(), []
        self.hits, self.shown, self.tags = 0, [], []

    def seen(self, answer, tags, filters):
        """The same query once more, or for the first time."""
        self.hits, self.tags = answer["nbHits"], tags
        self.shown = [hit["objectID"] for hit in answer["hits"]][:SHOWN]
        self.filters |= set(filters)
        self.ids += [answer["queryID"]] if "queryID" in answer else []


def clock():
    """Variables that let the clock of a process be what a file says, and the file; none where there is no such library."""
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") + glob.glob("/usr/lib/faketime/libfaketimeMT.so.1")
    if not found:
        return None
    return {"LD_PRELOAD": found[0], "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1"}


class Log:
    """Sends a random log, and keeps what counts of it."""

    def __init__(self, connection, chance, searches, days):
        self.connection, self.chance, self.left, self.days = connection, chance, searches, days
        self.searches, self.last, self.number, self.batch = [], {}, 0, []
        # events that are sent on a later day, with that day; how far the node's clock is from the one here
        self.later, self.offset_ms = [], 0

    def session(self, day):
        """A user searches some times, and does something with what is found."""
        chance = self.chance
        is_known = chance.random() < 0.7
        address = f"{chance.choice([20, 21, 200, 7])}.0.0.{chance.randrange(1, 30)}"
        user = f"user-{int(chance.paretovariate(0.6)) % 400}" if is_known else address
        queries = chance.sample(QUERIES, chance.randrange(1, 5))
        if chance.random() < 0.05:
            # everything begins with the empty query, so whoever asks for that asks for nothing else
            queries, is_known, user = [""], True, f"browser-{len(self.searches)}"
        for query in queries:
            if query == self.last.get(user):
                continue
            self.last[user] = query
            search = Search(day, user, query, COUNTRIES.get(int(address.split(".")[0])))
            for again in range(1 if chance.random() < 0.8 else 3):
                self.ask(search, chance.choice([query, query.upper(), f"  {query} "]) if query.isascii() else query,
                         {"userToken": user} if is_known else {}, address, again)
            self.searches.append(search)
            self.left -= 1
            if search.ids:
                self.follow(search, user if is_known else "someone")

    def ask(self, search, query, who, address, page):
        chance = self.chance
        tags = chance.sample(TAGS, chance.choice([0, 0, 1, 2]))
        sent, filters = chance.choice(FILTERS)
        params = {"query": query, "clickAnalytics": chance.random() < 0.7, "analyticsTags": tags, "page": page, "hitsPerPage": 30,
                  "removeWordsIfNoResults": "none", **who, **sent}
        # what is searched within a millisecond has no order
        time.sleep(0.002)
        answer = self.call("POST", f"/1/indexes/{INDEX}/query", params, address)
        search.seen(answer, tags, filters)
        if chance.random() < 0.1:
            self.call("POST", f"/1/indexes/{INDEX}/query", {**params, "analytics": False, "query": "not counted"}, address)
            self.call("POST", f"/1/indexes/{urllib.parse.quote(OTHER)}/query", params, address)

    def call(self, method, path, body, address=None):
        return self.connection.call(method, path, body, {"X-Forwarded-For": address} if address else None)

    def follow(self, search, user):
        """Events that name a search, on records that it showed and others."""
        chance = self.chance
        for _ in range(chance.choice([0, 0, 1, 2, 4])):
            self.number += 1
            ids = chance.sample(search.shown + ["x1", "x2"], min(len(search.shown) + 2, chance.randrange(1, 4)))
            event = {"index": INDEX, "userToken": user, "eventName": f"Event {self.number}", "objectIDs": ids}
            kind = chance.choice(["view", "click", "click", "conversion", "addToCart", "purchase"])
            query_id = chance.choice(search.ids)
            rows = [(kind, of, 0, None, None) for of in ids]
            if kind == "click":
                event["positions"] = [chance.choice([1, 2, 3, chance.randrange(1, 60)]) for _ in ids]
                rows = [(kind, of, position, None, None) for of, position in zip(ids, event["positions"])]
            if kind in ("addToCart", "purchase"):
                event.update(eventSubtype=kind, currency=chance.choice(CURRENCIES))
                event["objectData"] = [self.paid() for _ in ids]
                rows = [(kind, of, 0, event["currency"], paid) for of, paid in zip(ids, event["objectData"])]
            if kind == "purchase":
                event["objectData"] = [{**paid, "queryID": query_id} for paid in event["objectData"]]
            else:
                event["queryID"] = query_id
            event["eventType"] = kind if kind in ("view", "click") else "conversion"
            self.send(search, event, rows)

    def paid(self):
        chance = self.chance
        price = chance.choice([chance.randrange(1_000), f"{chance.randrange(10**6)}.{chance.randrange(10**6):06}", "0.1", 19.99])
        paid = {"price": price, "quantity": chance.randrange(4)}
        return {**paid, "discount": f"{chance.randrange(100)}.05"} if chance.random() < 0.3 else paid

    def send(self, search, event, rows):
        """Now, dated or not; or dated on a later day, within a day of the search or after it."""
        now_ms, chance = self.now_ms(), self.chance
        when = chance.choice(["none", "now", "soon", "late"])
        if when == "now":
            event["timestamp"] = now_ms
        if when in ("soon", "late"):
            if search.day + 2 >= self.days:
                when = "now"
            else:
                # both are sent when they are over
                hours = 23 if when == "soon" else 25
                event["timestamp"] = now_ms + hours * 3_600_000
                self.later.append((search.day + 2, event))
        if when != "late":
            search.events += rows
        if when in ("none", "now"):
            self.batch.append(event)
        if len(self.batch) >= 50:
            self.flush()

    def now_ms(self):
        return int(time.time() * 1_000) + self.offset_ms

    def flush(self):
        """A batch; every third one again, as somebody does who has seen no answer."""
        for _ in range(2 if self.chance.random() < 0.3 else 1):
            if self.batch:
                self.connection.call("POST", "/1/events", {"events": self.batch})
        self.batch = []
