#!/usr/bin/env python3
"""What does a change cost? pairs.py OTHER_BIN [products movies debian cities files]

Two programs, QUORATE_BIN and OTHER_BIN (usually one built from an earlier commit), get the same records and the same queries in turns,
one at a time; the other one is idle meanwhile. Prints Markdown rows: CPU of both, and the ratio first to second as the median of the
pairs. Rows: processor time of an import, of one record written at a time, with the smallest and largest ratio, and of a query of each
class on one connection, with the standard error of the median: those turns are a few hundredths of a second, since a processor changes
its pace by a fifth from one second to the next, and with turns of seconds at eight connections the ratios were 0.6 to 1.5.

The same program given twice shows how far the ratios are noise: smaller differences than these say nothing.

OPTIONS: further ones that the first program is started with, for what the other one does not have yet.

DRIVE, BENCH_TOOLS, BENCH_DATA: as for run.sh. ROUNDS: 6, IMPORTS: 4, TURNS: 150 (all even, so that each goes first as often as the
other), WRITES: 400, CLASSES: some of them alone, STEPS: import,write,classes.
"""
import json
import os
import sys
import tempfile
import time
from statistics import median, stdev

from asked import queries
from beside import CLASSES, MERGE_S, Peer
from node import ENVIRONMENT, Connection, Node

ROUNDS, IMPORTS, WRITES, TURNS = (
    int(os.environ.get(name, most)) for name, most in (("ROUNDS", 6), ("IMPORTS", 4), ("WRITES", 400), ("TURNS", 150)))
CHOSEN = os.environ.get("CLASSES", ",".join(CLASSES)).split(",")
# of a turn, and all that there are
TURN_QUERIES, QUERIES = 150, 600
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


def show(name, what, costs, spread=lambda ratios: "%.3f to %.3f" % (min(ratios), max(ratios))):
    ratios = [first / second for first, second in zip(*costs)]
    print("| %s | %s | %.3f | %.3f | %.3f | %s |"
          % (name, what, median(costs[0]), median(costs[1]), median(ratios), spread(ratios)), flush=True)


def standard_error(ratios):
    """How far the median of so many is from that of all."""
    return "± %.3f" % (1.25 * stdev(ratios) / len(ratios) ** 0.5)


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


def cpu_ms(node):
    """To the nanosecond, of the threads that live."""
    folder, total = "/proc/%d/task" % node.process.pid, 0
    for thread in os.listdir(folder):
        try:
            with open(os.path.join(folder, thread, "schedstat"), encoding="utf-8") as spent:
                total += int(spent.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            # it has ended since they were listed
            continue
    return total / 1e6


def classes(name, nodes):
    """CPU milliseconds of a query."""
    connections = [Connection(node.port) for node in nodes]

    def ask(which, bodies):
        before = cpu_ms(nodes[which])
        for body in bodies:
            connections[which].call("POST", "/1/indexes/%s/query" % name, body, parse=len)
        return (cpu_ms(nodes[which]) - before) / len(bodies)

    for query_class in CHOSEN:
        asked = [json.dumps(query).encode() for query in queries(name, query_class, QUERIES)]
        costs = ([], [])
        for which in range(len(nodes)) if asked else ():
            ask(which, asked[:TURN_QUERIES])
        for number, order in enumerate(turns(TURNS) if asked else ()):
            bodies = [asked[(number * TURN_QUERIES + at) % len(asked)] for at in range(TURN_QUERIES)]
            for which in order:
                costs[which].append(ask(which, bodies))
        if asked:
            show(name, query_class + ", CPU ms", costs, standard_error)
    for connection in connections:
        connection.close()


def measure(name, folder, programs):
    nodes = imports(name, folder, programs)
    try:
        if "write" in STEPS:
            writes(name, nodes)
        if "classes" in STEPS:
            classes(name, nodes)
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
    for_sets(__doc__, ["data set", "what", "first", "second", "ratio", "spread"], ["products", "movies", "debian", "cities"], measure)
