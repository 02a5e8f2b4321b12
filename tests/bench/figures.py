#!/usr/bin/env python3
"""Does a node say of searches and events what a slow look at all of them says?

figures.py [SEARCHES [SEED]]: a random log of some days, of users, addresses, tags, filters, clicks and purchases, goes to the program
QUORATE_BIN over HTTP; then every endpoint of analytics is asked for random ranges, tags and queries, and each figure compared with one
counted here from what was sent and answered. Counts and sums have to be equal, users within 2 %. Days need libfaketime; without it there
is one. Prints one line of JSON; ends with 1 when something differs.
"""
import collections
import datetime
import decimal
import functools
import json
import os
import random
import sys
import tempfile
import time
import urllib.parse

import node as nodes
import places
from figures_log import BRANDS, COUNTRIES, INDEX, OTHER, QUERIES, Log, clock
from figures_slow import counts, is_tagged, listed, positions, single

DAYS = 4
SHOWN_WITHIN_S = 60
USERS_WITHIN = 0.02
ROUNDS = 40
TAG_FILTERS = [None, None, "mobile", '"new user"', "a AND b", "a OR mobile", "b AND (a OR mobile)", "new%20user", "none of these"]
LISTS = ["/2/searches", "/2/searches/noResults", "/2/searches/noClicks", "/2/hits", "/2/filters", "/2/filters/brand", "/2/filters/price",
         "/2/filters/noResults", "/2/countries"]
SINGLES = ["/2/searches/count", "/2/users/count", "/2/searches/noResultRate", "/2/searches/noClickRate", "/2/clicks/averageClickPosition",
           "/2/clicks/clickThroughRate", "/2/conversions/conversionRate", "/2/conversions/addToCartRate", "/2/conversions/purchaseRate",
           "/2/conversions/revenue"]
TAKE_SEARCH = ["/2/hits", "/2/filters", "/2/filters/brand", "/2/filters/price", "/2/filters/noResults"]
ORDERS = {"searchCount": "count", "clickThroughRate": "clickThroughRate", "conversionRate": "conversionRate",
          "averageClickPosition": "averageClickPosition"}


def alike(found, expected, path):
    """Whether they are the same: numbers as numbers, users within a share."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and found.keys() == expected.keys() and all(
            alike(found[name], value, f"{path}.{name}") for name, value in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(
            alike(one, other, path) for one, other in zip(found, expected))
    if expected is None or isinstance(expected, str) or found is None or isinstance(found, str):
        return found == expected
    if isinstance(expected, float):
        return abs(float(found) - expected) <= 1e-12 * max(1, abs(expected))
    if path.startswith("/2/users/count"):
        return abs(found - expected) <= USERS_WITHIN * expected
    return decimal.Decimal(found) == expected


class Reader:
    """Asks, compares and counts."""

    def __init__(self, connection, searches, first_day, days, chance):
        self.connection, self.searches, self.first_day, self.days, self.chance = connection, searches, first_day, days, chance
        self.calls, self.wrong, self.users_off = collections.Counter(), [], 0.0

    def date(self, day):
        return (self.first_day + datetime.timedelta(days=day)).isoformat()

    def get(self, path, params):
        text = urllib.parse.urlencode({name: value for name, value in params.items() if value is not None})
        self.calls[path] += 1
        parse = functools.partial(json.loads, parse_float=decimal.Decimal)
        return self.connection.call("GET", f"{path}?{text}", parse=parse)

    def check(self, path, params, found, expected):
        if not alike(found, expected, path):
            self.wrong.append({"path": path, "params": params, "found": found, "expected": expected})
        if path == "/2/users/count" and expected["count"]:
            self.users_off = max(self.users_off, abs(found["count"] / expected["count"] - 1))

    def round(self):
        """All endpoints for one range, tags and query."""
        chance = self.chance
        first = chance.randrange(-1, self.days)
        last = chance.randrange(first, self.days + 1)
        tags = chance.choice(TAG_FILTERS)
        range_ = {"index": INDEX, "startDate": self.date(first), "endDate": self.date(last), "tags": tags}
        searches = [search for search in self.searches if first <= search.day <= last and is_tagged(search, tags)]
        for path in SINGLES:
            expected = {**single(path, searches), "dates": [
                {**single(path, [search for search in searches if search.day == day]), "date": self.date(day)}
                for day in range(first, last + 1)]}
            self.check(path, range_, self.get(path, range_), expected)
        self.check("/2/clicks/positions", range_, self.get("/2/clicks/positions", range_), {"positions": positions(counts(searches))})
        for path in LISTS:
            self.list(path, range_, searches)

    def list(self, path, range_, searches):
        chance = self.chance
        query = chance.choice([*QUERIES[:6], ""]) if path in TAKE_SEARCH and chance.random() < 0.4 else None
        detail = chance.randrange(3) if path in ("/2/searches", "/2/hits") else 0
        asked = {**range_, "search": query, "limit": 1_000, "clickAnalytics": "true" if detail >= 1 else None,
                 "revenueAnalytics": "true" if detail == 2 else None}
        of = [search for search in searches if query is None or search.query == query]
        order, ascending = "searchCount", False
        if path == "/2/searches" and detail:
            order, ascending = chance.choice(list(ORDERS)), chance.random() < 0.5
            asked.update(orderBy=order, direction="asc" if ascending else "desc")
        name, expected = listed(path, of, detail)
        found = self.get(path, asked)
        all_ = found.get(name)
        if all_ is None or expected is None:
            return self.check(path, asked, all_, expected)
        key = lambda row: [str(row.get(of)) for of in ("search", "hit", "attribute", "operator", "value", "country", "values")]
        self.check(path, asked, {name: sorted(all_, key=key)}, {name: sorted(expected, key=key)})
        values = [row[ORDERS[order]] for row in all_]
        known = [value for value in values if value is not None]
        if known != sorted(known, reverse=not ascending) or None in values[:len(known)]:
            self.wrong.append({"path": path, "params": asked, "order": values})
        offset, limit = chance.randrange(8), chance.randrange(1, 8)
        page = self.get(path, {**asked, "offset": offset, "limit": limit})[name]
        if (page or []) != all_[offset:offset + limit]:
            self.wrong.append({"path": path, "params": asked, "offset": offset, "limit": limit, "page": page})

    def status(self):
        known, unknown = (self.get("/2/status", {"index": index})["updatedAt"] for index in (INDEX, "never"))
        if not known or unknown is not None:
            self.wrong.append({"path": "/2/status", "found": [known, unknown]})


def fill(connection, chance):
    words = [query for query in QUERIES if query not in ("unicorn", "nothing like it")]
    records = [{"objectID": f"o{at}", "name": f"{chance.choice(words)} {at}", "brand": chance.choice(BRANDS), "price": chance.randrange(20)}
               for at in range(300)]
    for index in (INDEX, OTHER):
        path = f"/1/indexes/{urllib.parse.quote(index)}"
        connection.call("PUT", f"{path}/settings", {"attributesForFaceting": ["brand", "kind"], "searchableAttributes": ["name"]})
        requests = [{"action": "addObject", "body": record} for record in records]
        task = connection.call("POST", f"{path}/batch", {"requests": requests})["taskID"]
        while connection.call("GET", f"{path}/task/{task}")["status"] != "published":
            time.sleep(0.05)


def wait_counted(reader):
    """Until all searches are in figures, as soon as they have to be."""
    days = {"index": INDEX, "startDate": reader.date(0), "endDate": reader.date(reader.days)}
    expected, begun = len(reader.searches), time.monotonic()
    while (found := reader.get("/2/searches/count", days)["count"]) != expected:
        if time.monotonic() - begun > SHOWN_WITHIN_S:
            reader.wrong.append({"path": "/2/searches/count", "found": found, "expected": expected})
            break
        time.sleep(0.5)
    return time.monotonic() - begun


def main():
    searches = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 18)
    faked = clock()
    days = DAYS if faked else 1
    today = datetime.datetime.now(datetime.timezone.utc).date()
    first_day = today - datetime.timedelta(days=days - 1)
    with tempfile.TemporaryDirectory() as home:
        node = nodes.Node(os.path.join(home, "data"))
        countries, time_file = os.path.join(home, "countries"), os.path.join(home, "time")
        with open(countries, "wb") as out:
            out.write(places.database(COUNTRIES))

        def set_day(day):
            """The node's clock at noon; returns how far that is from here."""
            noon = datetime.datetime.combine(first_day + datetime.timedelta(days=day), datetime.time(12), datetime.timezone.utc)
            offset = int(noon.timestamp() - time.time()) if faked else 0
            with open(time_file + ".new", "w", encoding="utf-8") as out:
                out.write(f"{offset:+d}\n")
            os.replace(time_file + ".new", time_file)
            return offset * 1_000

        set_day(0)
        node.environment = {**nodes.ENVIRONMENT, **(faked or {}), "FAKETIME_TIMESTAMP_FILE": time_file}
        node.start("--ip-locations", countries, "--trusted-proxies", "127.0.0.1")
        try:
            connection = nodes.Connection(node.port)
            fill(connection, chance)
            log = Log(connection, chance, searches, days)
            for day in range(days):
                log.offset_ms = set_day(day)
                log.batch = [event for due, event in log.later if due == day]
                while log.left > searches * (days - 1 - day) / days:
                    log.session(day)
                log.flush()
            reader = Reader(connection, log.searches, first_day, days, chance)
            waited_s = wait_counted(reader)
            begun = time.monotonic()
            for _ in range(ROUNDS):
                reader.round()
            reader.status()
            asked_s = time.monotonic() - begun
        finally:
            node.stop()
    for wrong in reader.wrong[:20]:
        print(json.dumps(wrong, default=str), file=sys.stderr)
    found = counts(log.searches)
    print(json.dumps({
        "days": days, "searches": found["searches"], "users": found["users"], "clicks": found["clicks"], "conversions": found["conversions"],
        "endpoints": len(reader.calls), "calls": sum(reader.calls.values()), "wrong": len(reader.wrong), "users_off": reader.users_off,
        "counted_after_s": round(waited_s, 1), "asked_s": round(asked_s, 1)}))
    sys.exit(bool(reader.wrong))


if __name__ == "__main__":
    main()
