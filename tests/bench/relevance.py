#!/usr/bin/env python3
"""Does a search find the record that somebody has in mind, and more often than others do? relevance.py SET…

Starts a node for each data set, imports it with the load driver and lets known_item.py of BENCH_TOOLS type at it: words of a
record's title, with typos, cut short, or with a word from elsewhere. Prints the shares of queries whose record came first
and among the first five, beside the better of the rivals in relevance.json. Exits 1 where one of them is not above both.

BENCH_TOOLS, BENCH_DATA, DRIVE and QUORATE_BIN as in run.sh, which need not have run. RECORDS: 2000 drawn. SEED: 11. SHOW: 0
misses of each kind to print. SETTINGS: a JSON object of settings beside those of the driver. RESULTS: folder for the answers of
known_item.py, a file for each set.
"""
import json
import os
import subprocess
import sys
import tempfile

from node import ENVIRONMENT, Node

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["exact", "typo1", "typo2", "prefix", "cross"]
SECONDS = 900


def drive(node, tools, name, command, *options):
    schema = os.path.join(tools, "schemas", name + ".json")
    subprocess.run([os.environ["DRIVE"], command, "--url", node.url, "--adapter", "algolia", "--schema", schema, "--index", name,
                    *options], env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL, timeout=SECONDS)


def measured(name, tools, folder, results):
    """The figures of one data set: kind → (success@1, success@5)."""
    node = Node(os.path.join(folder, name))
    node.start()
    try:
        drive(node, tools, name, "setup")
        if os.environ.get("SETTINGS"):
            node.call("PUT", "/1/indexes/%s/settings" % name, json.loads(os.environ["SETTINGS"]))
        data = os.path.join(os.environ["BENCH_DATA"], name + ".jsonl")
        drive(node, tools, name, "import", "--data", data, "--batch", "10000")
        out = os.path.join(results, "relevance.%s.json" % name)
        done = subprocess.run(
            [sys.executable, os.path.join(tools, "known_item.py"), node.url, "algolia", name, "--n", os.environ.get("RECORDS", "2000"),
             "--seed", os.environ.get("SEED", "11"), "--show", os.environ.get("SHOW", "0"), "--out", out],
            env=ENVIRONMENT, check=True, capture_output=True, text=True, timeout=SECONDS)
        print(done.stdout, file=sys.stderr)
        with open(out, encoding="utf-8") as answer:
            kinds = json.load(answer)["kinds"]
    finally:
        node.stop()
    return {kind: (figures["success1"], figures["success5"]) for kind, figures in kinds.items() if figures["n"]}


def share(figure):
    return ("%.3f" % figure).lstrip("0")


def main():
    tools = os.environ["BENCH_TOOLS"]
    results = os.environ.get("RESULTS", ".")
    with open(os.path.join(HERE, "relevance.json"), encoding="utf-8") as rivals:
        rivals = json.load(rivals)
    behind = []
    lines = ["| data set | | " + " | ".join(KINDS) + " |", "|---|---|" + "---|" * len(KINDS)]
    for name in sys.argv[1:] or ["products", "movies", "debian", "cities"]:
        with tempfile.TemporaryDirectory() as folder:
            ours = measured(name, tools, folder, results)
        best = {kind: tuple(map(max, zip(*figures))) for kind, figures in rivals["sets"][name].items()}
        pair = lambda figures: " · ".join(map(share, figures)) if figures else "–"
        lines.append("| %s | node | %s |" % (name, " | ".join(pair(ours.get(kind)) for kind in KINDS)))
        lines.append("| | better rival | %s |" % " | ".join(pair(best.get(kind)) for kind in KINDS))
        behind += ["%s %s" % (name, kind) for kind in ours if not all(a > b for a, b in zip(ours[kind], best[kind]))]
    print("\n".join(lines))
    if behind:
        print("\nnot above both: " + ", ".join(behind))
        sys.exit(1)


if __name__ == "__main__":
    main()
