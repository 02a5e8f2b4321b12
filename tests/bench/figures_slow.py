"""What do some searches and their events come to, each looked at by itself?"""
import collections
import decimal

POSITIONS = [(at, at) for at in range(1, 11)] + [(11, 20), (21, -1)]


def follows(search, tracked_object=None):
    return [row for row in search.events if tracked_object is None or row[1] == tracked_object] if search.ids else []


def counts(of, tracked_object=None):
    """Figures of searches, each looked at by itself."""
    events = [follows(search, tracked_object) for search in of]
    flat = [row for rows in events for row in rows]
    converted = ("conversion", "addToCart", "purchase")
    clicks = [row[2] for row in flat if row[0] == "click"]
    revenue = collections.defaultdict(decimal.Decimal)
    for kind, _, _, currency, paid in flat:
        if kind == "purchase":
            amount = decimal.Decimal(str(paid["price"])) * paid["quantity"] - decimal.Decimal(paid.get("discount", "0"))
            revenue[currency] += amount
    with_any = lambda kinds: sum(any(row[0] in kinds for row in rows) for rows in events)
    return {
        "searches": len(of), "users": len({search.user for search in of}), "hits": sum(search.hits for search in of),
        "empty": sum(search.hits == 0 for search in of), "filtered": sum(bool(search.filters) for search in of),
        "tracked": sum(bool(search.ids) for search in of), "clickable": sum(bool(search.ids) and search.hits > 0 for search in of),
        "clicked": with_any(("click",)), "converted": with_any(converted), "carted": with_any(("addToCart",)),
        "purchased": with_any(("purchase",)), "clicks": len(clicks), "position_sum": sum(clicks),
        "conversions": sum(row[0] in converted for row in flat), "carts": sum(row[0] == "addToCart" for row in flat),
        "purchases": sum(row[0] == "purchase" for row in flat), "revenue": dict(revenue),
        "positions": [sum(first <= at and (at <= last or last < 0) for at in clicks) for first, last in POSITIONS],
    }


def rate(part, whole):
    return part / whole if whole else None


def positions(found):
    return [{"position": list(of), "clickCount": clicks} for of, clicks in zip(POSITIONS, found["positions"], strict=True)]


def currencies(found):
    return {name: {"currency": name, "revenue": amount} for name, amount in found["revenue"].items()}


def details(found, detail, of_searches):
    out = {}
    if detail >= 1:
        out = {"clickThroughRate": rate(found["clicked"], found["tracked"]), "conversionRate": rate(found["converted"], found["tracked"]),
               "trackedSearchCount" if of_searches else "trackedHitCount": found["tracked"], "clickCount": found["clicks"],
               "conversionCount": found["conversions"]}
        if of_searches:
            out.update(averageClickPosition=rate(found["position_sum"], found["clicks"]), clickPositions=positions(found))
    if detail >= 2:
        out.update(addToCartRate=rate(found["carted"], found["tracked"]), addToCartCount=found["carts"],
                   purchaseRate=rate(found["purchased"], found["tracked"]), purchaseCount=found["purchases"], currencies=currencies(found))
    return out


def grouped(searches, keys):
    groups = collections.defaultdict(list)
    for search in searches:
        for key in set(keys(search)):
            groups[key].append(search)
    return groups


def parts(text):
    at = min(at for at in (text.find(sign) for sign in ":<>=!") if at >= 0)
    length = 2 if text[at:at + 2] in ("<=", ">=", "!=") else 1
    return {"attribute": text[:at], "operator": text[at:at + length], "value": text[at + length:]}


def never_clicked(searches):
    """Queries that could have been clicked, and were not."""
    found = {query: counts(of) for query, of in grouped(searches, lambda search: [search.query]).items()}
    return {query: of for query, of in found.items() if of["clickable"] and not of["clicks"]}


def listed(path, searches, detail):
    """The whole list of an endpoint, in any order, and its name."""
    by_query = lambda search: [search.query]
    each = lambda of, keys: [(key, counts(some)) for key, some in grouped(of, keys).items()]
    if path == "/2/searches":
        return "searches", [{"search": query, "count": of["searches"], "nbHits": of["hits"] // of["searches"], **details(of, detail, True)}
                            for query, of in each(searches, by_query)]
    if path == "/2/searches/noResults":
        return "searches", [{"search": query, "count": of["searches"], "withFilterCount": of["filtered"]}
                            for query, of in each([search for search in searches if not search.hits], by_query)]
    if path == "/2/searches/noClicks":
        return "searches", [{"search": query, "count": of["clickable"], "nbHits": of["hits"] // of["searches"]}
                            for query, of in never_clicked(searches).items()]
    if path == "/2/hits":
        return "hits", [{"hit": hit, "count": len(some), **details(counts(some, hit), detail, False)}
                        for hit, some in grouped(searches, lambda search: search.shown).items()]
    if path == "/2/filters":
        of_search = lambda search: [parts(text)["attribute"] for text in search.filters]
        return "attributes", [{"attribute": key, "count": len(some)} for key, some in grouped(searches, of_search).items()]
    if path == "/2/filters/noResults":
        empty = [search for search in searches if not search.hits and search.filters]
        groups = grouped(empty, lambda search: [tuple(sorted(search.filters, key=str.encode))])
        return "values", [{"count": len(some), "values": [parts(text) for text in key]} for key, some in groups.items()] or None
    if path.startswith("/2/filters/"):
        attribute = path.rsplit("/", 1)[1]
        of_search = lambda search: [text for text in search.filters if parts(text)["attribute"] == attribute]
        return "values", [{**parts(key), "count": len(some)} for key, some in grouped(searches, of_search).items()]
    assert path == "/2/countries", path
    of_search = lambda search: [search.country] if search.country else []
    return "countries", [{"country": key, "count": len(some)} for key, some in grouped(searches, of_search).items()]


def single(path, searches):
    """A figure of a range or a day."""
    found = counts(searches)
    of_tracked = lambda part, name, events: {"rate": rate(found[part], found["tracked"]), "trackedSearchCount": found["tracked"], name: found[events]}
    if path == "/2/searches/noClickRate":
        clickable, without = found["clickable"], sum(of["clickable"] for of in never_clicked(searches).values())
        return {"rate": rate(without, clickable) or 0, "count": clickable, "noClickCount": without}
    return {
        "/2/searches/count": lambda: {"count": found["searches"]},
        "/2/users/count": lambda: {"count": found["users"]},
        "/2/searches/noResultRate": lambda: {
            "rate": rate(found["empty"], found["searches"]) or 0, "count": found["searches"], "noResultCount": found["empty"]},
        "/2/clicks/averageClickPosition": lambda: {"average": rate(found["position_sum"], found["clicks"]), "clickCount": found["clicks"]},
        "/2/clicks/clickThroughRate": lambda: of_tracked("clicked", "clickCount", "clicks"),
        "/2/conversions/conversionRate": lambda: of_tracked("converted", "conversionCount", "conversions"),
        "/2/conversions/addToCartRate": lambda: of_tracked("carted", "addToCartCount", "carts"),
        "/2/conversions/purchaseRate": lambda: of_tracked("purchased", "purchaseCount", "purchases"),
        "/2/conversions/revenue": lambda: {"currencies": currencies(found)},
    }[path]()


def is_tagged(search, tags):
    has = set(search.tags)
    return {None: True, "mobile": "mobile" in has, '"new user"': "new user" in has, "new%20user": "new user" in has,
            "a AND b": {"a", "b"} <= has, "a OR mobile": bool({"a", "mobile"} & has),
            "b AND (a OR mobile)": "b" in has and bool({"a", "mobile"} & has), "none of these": False}[tags]
