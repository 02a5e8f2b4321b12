#!/usr/bin/env python3
"""Which measurements are made, in which order and within which time? `run.sh` starts it; README.md says what they are.

SETS as arguments. STEPS: import,merge,classes,floor,use,cold,write,word,raw,growth (default: all). CLASSES: all. SECONDS_PER_CLASS:
2 (also fractions), GROWTH_SECONDS: 1, GROWTH: 10000,100000,1000000,3000000, LIMIT: records of a set at most, BUDGET: seconds
for one set, after which its remaining steps are left out and named (default 130; files 300).
"""
import datetime
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time

import growth
import tables
import writes
from floor import Canned, Recorder, recorded_sample
from node import ENVIRONMENT, Node

SMALL = ["products", "movies", "debian", "cities"]
STEPS = ["import", "growth", "use", "merge", "classes", "floor", "cold", "write", "word", "raw"]
CLASSES = ["typing", "words", "typo", "filtered", "browse", "short", "zero", "geo", "mixed"]
BATCH = 10_000
COLD_STARTS = 3
WORD_RECORDS = 100_000
TOOLS = os.environ["BENCH_TOOLS"]
WANTED = set(os.environ.get("STEPS", ",".join(STEPS)).replace(" ", ",").split(","))
SECONDS = float(os.environ.get("SECONDS_PER_CLASS", "2"))
WARM = min(1, SECONDS / 2)


class Run:
    """The measurements of one data set."""

    def __init__(self, name, folder, out):
        self.name, self.folder, self.out = name, folder, out
        self.data = os.path.join(os.environ["BENCH_DATA"], name + ".jsonl")
        self.schema_path = os.path.join(TOOLS, "schemas", name + ".json")
        with open(self.schema_path, encoding="utf-8") as schema:
            self.schema = json.load(schema)
        self.limit = int(os.environ.get("LIMIT", "100000000"))
        self.until = time.monotonic() + float(os.environ.get("BUDGET", "300" if name == "files" else "130"))
        self.node = Node(os.path.join(folder, name))

    def add(self, row):
        row["set"] = self.name
        with open(self.out, "a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")

    def left(self):
        return self.until - time.monotonic()

    def step(self, name, action, *arguments):
        """Runs a part; a failure or a lack of time is written down, and the run goes on."""
        if name.split(" ")[0] not in WANTED:
            return
        if self.left() < 1:
            self.add({"what": "failed", "step": name, "why": "left out: the time for this data set was used up"})
            return
        begun = time.monotonic()
        try:
            action(*arguments)
        except Exception as error:  # whatever it is: the other figures are still wanted
            self.add({"what": "failed", "step": name, "why": "%s: %s" % (type(error).__name__, str(error)[:300])})
            print("  %s failed: %s" % (name, error), file=sys.stderr)
        print("  %-18s %6.1f s" % (name, time.monotonic() - begun), file=sys.stderr)

    def drive_command(self, command, url, pid, *options):
        return [os.environ["DRIVE"], command, "--url", url, "--adapter", "algolia", "--schema", self.schema_path, "--index", self.name,
                *(["--pid", str(pid)] if pid else []), *map(str, options)]

    def drive(self, command, *options, seconds=60, node=None, url=None, pid=None):
        """Runs the load driver; its measurement."""
        node = node or self.node
        if url is None:
            url, pid = node.url, node.process.pid
        done = subprocess.run(self.drive_command(command, url, pid, *options), env=ENVIRONMENT, capture_output=True, text=True,
                              timeout=seconds, check=False)
        if done.returncode != 0:
            raise RuntimeError("drive %s: %s" % (command, done.stderr.strip()[-300:]))
        lines = done.stdout.strip().splitlines()
        return json.loads(lines[-1]) if lines else {}

    def load(self, node, limit):
        """Makes the index and imports; the driver's measurement."""
        self.drive("setup", node=node)
        return self.drive("import", "--data", self.data, "--batch", BATCH, "--limit", limit, "--dir", node.folder,
                          seconds=max(5, self.left()), node=node)

    def queries(self, query_class):
        return os.path.join(TOOLS, "queries", "%s.%s.jsonl.gz" % (self.name, query_class))

    def search(self, query_class, connections, *options, seconds=SECONDS, **target):
        row = self.drive("search", "--queries", self.queries(query_class), "--conns", connections, "--secs", seconds,
                         "--warmup", WARM, *options, seconds=seconds + 30, **target)
        row["class"] = query_class
        return row

    def make_import(self):
        self.add(self.load(self.node, self.limit))

    def use(self, when):
        row = self.drive("use", "--dir", self.node.folder)
        row["when"] = when
        self.add(row)

    def merge(self):
        """Lets merging end, so that the first class does not pay for it."""
        self.add({"what": "merged", "after_s": self.node.wait_merged(min(growth.MERGE_S, max(2, self.left() - 20)))})

    def one_class(self, query_class):
        for connections, options in ((1, []), (8, []), (8, ["--gzip"]), (1, ["--gzip"])):
            seconds = SECONDS / 2 if connections == 1 and options else SECONDS
            self.add(self.search(query_class, connections, *options, seconds=seconds))

    def floor(self, query_class):
        """The same answers from the same listener, without a search: recorded first, then served from memory."""
        sample = os.path.join(self.folder, "sample.jsonl")
        answers = os.path.join(self.folder, "answers")
        with open(sample, "w", encoding="utf-8") as out:
            out.writelines(recorded_sample(gzip.open(self.queries(query_class), "rt", encoding="utf-8")))
        with Recorder(self.node.port, answers) as recorder:
            self.drive("dump", "--queries", sample, "--n", 100_000, "--to", os.devnull, url=recorder.url)
        with Canned(answers) as canned:
            row = self.drive("search", "--queries", sample, "--conns", 8, "--secs", max(0.2, SECONDS / 2), "--warmup", WARM,
                             url=canned.url, pid=canned.process.pid)
        os.remove(answers)
        if row["errors"]:
            raise RuntimeError("%d requests were not recorded: %s" % (row["errors"], row.get("first_error")))
        row["what"], row["class"] = "floor", query_class
        self.add(row)

    def cold(self):
        self.node.stop()
        command = " ".join(self.node.command())
        for _ in range(COLD_STARTS):
            self.add(self.drive("cold", "--cmd", command, url=self.node.url))

    def program(self, what, variable, *arguments):
        # Both sides of these programs take attributes of one text each, so those with lists are left to neither.
        with open(self.data, encoding="utf-8") as lines:
            first = json.loads(next(lines))
        attributes = [name for name in self.schema["searchable"] if isinstance(first.get(name), str)]
        done = subprocess.run([os.environ[variable], self.data, ",".join(attributes), *map(str, arguments)],
                              capture_output=True, text=True, timeout=max(5, min(60, self.left())), check=True)
        self.add({"what": what, "text": done.stdout.strip()})

    def whole(self):
        available = [name for name in os.environ.get("CLASSES", ",".join(CLASSES)).split(",") if os.path.exists(self.queries(name))]
        self.node.start()
        self.step("import", self.make_import)
        if self.name == "files":
            self.step("growth whole", growth.whole, self)
        self.step("use imported", self.use, "after the import")
        self.step("merge", self.merge)
        for query_class in available:
            self.step("classes " + query_class, self.one_class, query_class)
            self.node.ensure()
            self.step("floor " + query_class, self.floor, query_class)
        self.step("use queried", self.use, "after the queries")
        self.step("cold", self.cold)
        self.node.stop()
        if self.name == "cities":
            self.step("write", writes.measure, self)
        if self.name == "files":
            for size in growth.sizes_below_whole(self.limit):
                self.step("growth %d" % size, growth.part, self, size)
        self.step("word", self.program, "word", "ONE_WORD_BIN", WORD_RECORDS)
        self.step("raw", self.program, "raw", "RAW_IMPORT_BIN")


def machine():
    """What the figures were measured on."""
    def first(path, key):
        with open(path, encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "unknown")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    return {"what": "machine", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "commit": commit,
            "cores": os.cpu_count(), "processor": first("/proc/cpuinfo", "model name"), "memory": first("/proc/meminfo", "MemTotal"),
            "seconds": SECONDS}


def main(arguments):
    names = []
    for argument in arguments or ["small"]:
        names += SMALL if argument == "small" else SMALL + ["files"] if argument == "all" else [argument]
    unknown = [name for name in names if name not in SMALL + ["files"]]
    if unknown or WANTED - set(STEPS):
        sys.exit("unknown: %s\n%s" % (", ".join(unknown + sorted(WANTED - set(STEPS))), __doc__))
    results = os.environ["RESULTS"]
    os.makedirs(results, exist_ok=True)
    paths = []
    for name in dict.fromkeys(names):
        print("%s, %s" % (name, time.strftime("%H:%M:%S")), file=sys.stderr)
        out = os.path.join(results, name + ".jsonl")
        with open(out, "w", encoding="utf-8") as rows:
            rows.write(json.dumps(dict(machine(), set=name)) + "\n")
        with tempfile.TemporaryDirectory(prefix="quorate-bench-") as folder:
            run = Run(name, folder, out)
            try:
                run.whole()
            except (OSError, RuntimeError) as error:
                run.add({"what": "failed", "step": "the rest", "why": str(error)[:300]})
            finally:
                run.node.stop()
        paths.append(out)
    print(tables.page(paths))


if __name__ == "__main__":
    main(sys.argv[1:])
