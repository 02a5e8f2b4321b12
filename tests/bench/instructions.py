#!/usr/bin/env python3
"""How many instructions does a query take? instructions.py OTHER_BIN [products cities ...]

What pairs.py measures as processor time, which other work on the machine moves, is counted here by callgrind (valgrind on the path): the same
for the same program to about a hundredth (what runs beside queries is in it, little once a start is over), but blind to caches, waits and the kernel. QUORATE_BIN and OTHER_BIN get the same records; the first queries
of a class are asked twice, the second time counted. Prints Markdown rows: instructions a query of both, and the ratio first to second.

OPTIONS, DRIVE, BENCH_TOOLS, BENCH_DATA: as for pairs.py. QUERIES: of each class (200). CLASSES: some of them alone.
"""
import os
import subprocess
import time

import node as nodes
from asked import queries
from beside import MERGE_S
from node import Connection
from pairs import CHOSEN, OPTIONS, Program, for_sets

QUERIES = int(os.environ.get("QUERIES", "200"))
START_WORK_S = 20
# a program under valgrind takes some fifty times as long
nodes.START_S = nodes.ANSWER_S = 300


class Counted(Program):
    """A node whose instructions are counted while it is told to."""

    counts = None

    def command(self, *options):
        plain = super().command(*options)
        if self.counts is None:
            return plain
        return ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=" + self.counts, *plain]

    def control(self, *words):
        subprocess.run(["callgrind_control", *words, str(self.process.pid)], check=True, capture_output=True)


def totals(path):
    with open(path, encoding="utf-8", errors="replace") as counts:
        return sum(int(line.split()[1]) for line in counts if line.startswith("totals:"))


def count(name, folder, program, options):
    """Instructions a query, by class."""
    os.makedirs(folder)
    node, found = Counted(program, os.path.join(folder, "node"), options), {}
    node.start()
    node.peer().load(name)
    node.wait_merged(MERGE_S)
    # records that came late are merged by then, so that both have one segment
    time.sleep(START_WORK_S)
    node.stop()
    node.counts = os.path.join(folder, "counts")
    node.start()
    try:
        # what a start leaves to do, above all the check of files, is done by then
        time.sleep(START_WORK_S)
        connection = Connection(node.port)
        for number, query_class in enumerate(it for it in CHOSEN if queries(name, it, 1)):
            asked = queries(name, query_class, QUERIES)
            for is_counted in (False, True):
                node.control("--instr=" + ("on" if is_counted else "off"))
                for body in asked:
                    connection.call("POST", "/1/indexes/%s/query" % name, body, parse=len)
            node.control("--instr=off")
            node.control("--dump=" + query_class)
            found[query_class] = totals("%s.%d" % (node.counts, number + 1)) / len(asked)
        connection.close()
    finally:
        node.stop()
    return found


def compare(name, folder, programs):
    first, second = (count(name, os.path.join(folder, str(number)), *it) for number, it in enumerate(zip(programs, OPTIONS)))
    for query_class, of_first in first.items():
        of_second = second[query_class]
        print("| %s | %s, instructions | %.0f | %.0f | %.3f |" % (name, query_class, of_first, of_second, of_first / of_second), flush=True)


if __name__ == "__main__":
    for_sets(__doc__, ["data set", "what", "first", "second", "ratio"], ["products", "cities"], compare)
