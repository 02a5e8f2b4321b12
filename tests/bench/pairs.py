#!/usr/bin/env python3
"""What does a change cost? pairs.py OTHER_BIN [products movies debian cities files]

Two programs, QUORATE_BIN and OTHER_BIN (usually one built from an earlier commit), get the same records and the same queries from
the load driver in turns, one at a time; the other one is idle meanwhile. Prints Markdown rows: CPU of both, and the ratio first to
second as the median, the smallest and the largest of the pairs. Rows: processor time of an import, of one record written at a
time, and of a query of each class at eight connections.

The same program given twice shows how far the ratios are noise: smaller differences than these say nothing.

OPTIONS: further ones that the first program is started with, for what the other one does not have yet.

DRIVE, BENCH_TOOLS, BENCH_DATA: as for run.sh. ROUNDS: 6, SECONDS_PER_CLASS: 1.5, IMPORTS: 4 (both even, so that each goes first as often as the other), WRITES: 400, STEPS: import,write,classes.
"""
import os
import sys
import tempfile
import time
from statistics import median

from beside import CLASSES, MERGE_S, Peer, TOOLS
from node import ENVIRONMENT, Connection, Node

ROUNDS, IMPORTS, WRITES = (int(os.environ.get(name, most)) for name, most in (("ROUNDS", 6), ("IMPORTS", 4), ("WRITES", 400)))
OPTIONS = (os.environ.get("OPTIONS", "").split(), ())
STEPS = os.environ.get("STEPS", "import,write,classes").split(",")


class Program(Node):
    """A node of one of the two programs."""

    def __init__(self, program, folder, options=()):
        super().__init__(folder)
        self.program, self.options = program, options

    def command(self, *options):
        return [self.program, *super().command(*options, *self.options)[1:]]

    def peer(self):
        return Peer("algolia", self.url, self.process.pid, self.folder, ENVIRONMENT["BENCH_KEY"])


def turns(rounds):
    """Who is measured next: each goes first as often as the other one."""
    return [(0, 1) if number % 2 == 0 else (1, 0) for number in range(rounds)]


def show(name, what, costs):
    ratios = [first / second for first, second in zip(*costs)]
    print("| %s | %s | %.3f | %.3f | %.3f | %.3f to %.3f |"
          % (name, what, median(costs[0]), median(costs[1]), median(ratios), min(ratios), max(ratios)), flush=True)


def imports(name, folder, programs):
    """CPU seconds until an import is searchable and merged; the nodes of the last round."""
    costs, nodes = ([], []), [None, None]
    for number, order in enumerate(turns(IMPORTS)):
        for which in order:
            if nodes[which]:
                nodes[which].stop()
            nodes[which] = node = Program(programs[which], os.path.join(folder, "%d-%d" % (which, number)), OPTIONS[which])
            node.start()
            before = node.cpu_s()
            node.peer().load(name)
            node.wait_merged(MERGE_S)
            costs[which].append(node.cpu_s() - before)
    if "import" in STEPS:
        show(name, "import, CPU s", costs)
    return nodes


def writes(name, nodes):
    """CPU milliseconds and wall milliseconds of one record that is written and waited for."""
    cpu, wall = ([], []), ([], [])
    for number, order in enumerate(turns(ROUNDS)):
        for which in order:
            node = nodes[which]
            connection = Connection(node.port)
            before, begun = node.cpu_s(), time.monotonic()
            for record in range(WRITES):
                connection.call("PUT", "/1/indexes/pairs/%d" % (number * WRITES + record), {"name": "record %d" % record})
            wall[which].append((time.monotonic() - begun) * 1000 / WRITES)
            time.sleep(1.5)
            cpu[which].append((node.cpu_s() - before) * 1000 / WRITES)
            connection.close()
    show(name, "one write, CPU ms", cpu)
    show(name, "one write, ms until answered", wall)


def measure(name, folder, programs):
    nodes = imports(name, folder, programs)
    try:
        if "write" in STEPS:
            writes(name, nodes)
        for query_class in CLASSES if "classes" in STEPS else []:
            queries = os.path.join(TOOLS, "queries", "%s.%s.jsonl.gz" % (name, query_class))
            if not os.path.exists(queries):
                continue
            costs = ([], [])
            for order in turns(ROUNDS):
                for which in order:
                    costs[which].append(nodes[which].peer().search(name, queries, 8)["server_cpu_ms_per_query"])
            show(name, query_class + ", CPU ms", costs)
    finally:
        for node in nodes:
            node.stop()


def for_sets(help_text, columns, usual, show_rows):
    """Prints the head of a table, then has the rows of each data set of the command line shown, or of the usual ones."""
    if len(sys.argv) < 2:
        sys.exit(help_text)
    programs = (os.environ["QUORATE_BIN"], sys.argv[1])
    print("| %s |" % " | ".join(columns))
    print("|" + "---|" * len(columns), flush=True)
    for name in sys.argv[2:] or usual:
        with tempfile.TemporaryDirectory() as folder:
            show_rows(name, folder, programs)


if __name__ == "__main__":
    for_sets(__doc__, ["data set", "what", "first", "second", "ratio", "from to"], ["products", "movies", "debian", "cities"], measure)
