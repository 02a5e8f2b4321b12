#!/usr/bin/env python3
"""What do the measurements say? Markdown tables out of result files: tables.py RESULTS.jsonl…"""
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# A class counts as met below this share of the better rival's cost, or below this multiple of the floor.
RIVAL_SHARE_MOST = 0.25
FLOOR_MULTIPLE_MOST = 2.5


def number(value):
    if value is None:
        return "–"
    return "%.0f" % value if value >= 100 else "%.1f" % value if value >= 10 else "%.2f" % value if value >= 1 else "%.3f" % value


def ratio(value, by):
    return number(value / by) if value is not None and by else "–"


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)])


class Set:
    """The rows of one data set."""

    def __init__(self, path, rivals):
        with open(path, encoding="utf-8") as lines:
            self.rows = [json.loads(line) for line in lines]
        self.name = self.rows[0]["set"]
        self.rivals = rivals["sets"].get(self.name, {})

    def all(self, what):
        return [row for row in self.rows if row["what"] == what]

    def search(self, query_class, connections, gzip=False):
        """The row of a class, an empty one when it was not measured."""
        return next((row for row in self.all("search") if row["class"] == query_class and row["conns"] == connections
                     and bool(row.get("gzip")) == gzip), {})

    def floor(self, query_class):
        return next((row.get("server_cpu_ms_per_query") for row in self.all("floor") if row["class"] == query_class), None)

    def rival(self, kind, query_class):
        return min(self.rivals.get(kind, {}).get(query_class, []), default=None)

    def classes(self):
        return list(dict.fromkeys(row["class"] for row in self.all("search")))


def speed(one):
    """Cost of a query of every class, beside the better rival and the floor."""
    rows, gzip_rows, shares, missed = [], [], [], []
    for name in one.classes():
        plain, gzip, single = one.search(name, 8), one.search(name, 8, True), one.search(name, 1)
        cpu, floor, rival = plain.get("server_cpu_ms_per_query"), one.floor(name), one.rival("cpu_ms", name)
        p99, rival_p99 = single.get("p99"), one.rival("p99_ms", name)
        if cpu and rival:
            shares.append(cpu / rival)
            if cpu > rival * RIVAL_SHARE_MOST and not (floor and cpu <= floor * FLOOR_MULTIPLE_MOST):
                missed.append(name)
        rows.append([name, number(cpu), number(rival), ratio(cpu, rival), number(floor), ratio(cpu, floor), number(plain.get("qps")),
                     number(single.get("p50")), number(p99), number(rival_p99), ratio(p99, rival_p99),
                     number(plain.get("bytes_per_answer", 0) / 1024), str(plain.get("errors", "–")), number(plain.get("wraps")), number(plain.get("other_cpu_pct"))])
        one_gzip = one.search(name, 1, True)
        gzip_cpu = gzip.get("server_cpu_ms_per_query")
        gzip_rows.append([name, number(gzip_cpu), ratio(gzip_cpu, cpu), number(gzip.get("qps")), number(one_gzip.get("p50")),
                          number(one_gzip.get("p99")), number(gzip.get("bytes_per_answer", 0) / 1024)])
    if not rows:
        return []
    text = [table(["class", "CPU ms", "better rival", "ratio", "floor", "× floor", "queries/s", "p50 ms", "p99 ms", "better rival p99",
                   "ratio", "KiB", "errors", "wraps", "other work, % of a core"], rows)]
    if shares:
        text.append("CPU by the better rival's: median %.3f, highest %.3f. Above a quarter of it and above %s times the floor: %s."
                    % (statistics.median(shares), max(shares), FLOOR_MULTIPLE_MOST, ", ".join(missed) or "none"))
    text += ["With `Accept-Encoding: gzip`:",
             table(["class", "CPU ms", "by plain", "queries/s", "p50 ms", "p99 ms", "KiB"], gzip_rows)]
    return text


def summary(sets):
    """The short table: a row for each data set."""
    rows = []
    for one in sets:
        names = one.classes()
        shares = [one.search(name, 8)["server_cpu_ms_per_query"] / one.rival("cpu_ms", name) for name in names
                  if one.search(name, 8) and one.rival("cpu_ms", name)]
        tails = [one.search(name, 1)["p99"] for name in names if one.search(name, 1)]
        first, colds = one.all("import"), one.all("cold")
        rate = first[0]["docs_per_s"] if first else None
        fastest = max(one.rivals.get("import_per_s", []), default=None)
        rows.append([one.name, number(one.search("typing", 8).get("server_cpu_ms_per_query")),
                     number(one.search("mixed", 8).get("server_cpu_ms_per_query")),
                     number(statistics.median(shares)) if shares else "–", number(max(shares)) if shares else "–",
                     number(max(tails)) if tails else "–", number(rate), ratio(rate, fastest),
                     number(statistics.median(row["first_search_ms"] for row in colds)) if colds else "–"])
    return table(["data set", "typing, CPU ms", "mixed, CPU ms", "by the better rival: median of classes", "highest",
                  "highest p99 of a class, ms", "import, records/s", "by the better rival", "cold start ms"], rows)


def storage(sets):
    """Import, memory, disk and cold start, a row for each data set."""
    rows = []
    for one in sets:
        first, colds, raw = one.all("import"), one.all("cold"), one.all("raw")
        use = {row["when"]: row for row in one.all("use")}
        after, later = use.get("after the import", {}), use.get("after the queries", {})
        rate = first[0]["docs_per_s"] if first else None
        best = lambda key, pick: pick(one.rivals.get(key, []), default=None)  # noqa: E731
        cold = statistics.median(row["first_search_ms"] for row in colds) if colds else None
        raw_rate = float(raw[0]["text"].split()[-1]) if raw else None
        if not (first or use or colds):
            continue
        rows.append([one.name, number(first[0]["docs"]) if first else "–", number(rate), number(best("import_per_s", max)),
                     ratio(rate, best("import_per_s", max)), number(first[0]["server_cpu_s"]) if first else "–", ratio(rate, raw_rate),
                     number(after.get("anon_mib")), number(later.get("anon_mib")), number(later.get("file_mib")),
                     number(best("resident_mib", min)), number(after.get("disk_mib")), number(later.get("disk_mib")),
                     number(best("disk_mib", min)), number(cold), number(best("cold_ms", min))])
    return table(["data set", "records", "records/s", "better rival", "ratio", "CPU s", "by raw tantivy", "anonymous MiB, imported",
                  "… after queries", "mapped MiB", "lower rival, resident", "disk MiB, imported", "… after queries", "lower rival",
                  "cold start ms", "better rival"], rows) if rows else ""


def write_rows(sets):
    rows = []
    for one in sets:
        for row in one.all("write"):
            load = row.get("queries", {})
            rows.append([row["load"], str(row["n"]), number(row["answered_ms"]["p50"]), number(row["answered_ms"]["p99"]),
                         number(row["found_ms"]["p50"]), number(row["found_ms"]["p99"]), number(load.get("qps")), number(load.get("p99"))])
    return table(["beside it", "writes", "answered p50 ms", "p99", "answered → found p50 ms", "p99", "queries/s", "their p99 ms"],
                 rows) if rows else ""


def growth_rows(sets):
    cells, states = {}, []
    for one in sets:
        for row in one.all("growth"):
            if row["state"] not in states:
                states.append(row["state"])
            cells[(row["class"], row["records"], row["state"])] = "%s; %s; %d" % (
                number(row["server_cpu_ms_per_query"]), number(row["p99"]), row["segments"])
    keys = sorted({(query_class, records) for query_class, records, _ in cells})
    rows = [[query_class, str(records)] + [cells.get((query_class, records, state), "–") for state in states]
            for query_class, records in keys]
    return table(["class", "records", *states], rows) if rows else ""


def page(paths):
    """All tables of the files."""
    with open(os.path.join(HERE, "rivals.json"), encoding="utf-8") as file:
        rivals = json.load(file)
    sets = [Set(path, rivals) for path in paths]
    text = []
    for one in sets:
        m = one.rows[0]
        text.append("- %s: %s, commit %s, %d cores of %s, memory %s, %g s a class" % (
            one.name, m["date"], m["commit"], m["cores"], m["processor"], m["memory"], m["seconds"]))
    text = ["\n".join(text), summary(sets)]
    for one in sets:
        part = speed(one)
        if part:
            text += ["### %s" % one.name, *part]
    for title, part in (("Import, memory, disk, cold start", storage(sets)), ("One write", write_rows(sets)),
                        ("Growth: CPU ms; p99 ms at 8 connections; segment files", growth_rows(sets))):
        if part:
            text += ["### " + title, part]
    words = [(one.name, row["text"]) for one in sets for row in one.all("word")]
    if words:
        text.append("### One word, engine and bare tantivy in one process")
        text += ["%s: %s" % pair for pair in words]
    failed = [[one.name, row["step"], row["why"]] for one in sets for row in one.all("failed")]
    if failed:
        text += ["### Not measured", table(["data set", "step", "why"], failed)]
    return "\n\n".join(text)


if __name__ == "__main__":
    print(page(sys.argv[1:]))
