"""How does the cost of a query grow with the records: one and several segments, one and two threads, while writes run?"""
import itertools
import json
import os
import threading
import time

from node import Connection, Node

CLASSES = ["typing", "filtered", "browse"]
SECONDS = float(os.environ.get("GROWTH_SECONDS", "1"))
SIZES = [int(size) for size in os.environ.get("GROWTH", "10000,100000,1000000,3000000").split(",")]
MERGE_S = float(os.environ.get("MERGE_SECONDS", "40"))
# The writes beside the queries: records of a batch, and its pause.
BATCH = 100
PAUSE_S = 0.05


def sizes_below_whole(limit):
    return [size for size in SIZES if size < limit and size < 3_000_000]


def whole(run):
    """The complete set, in the node that holds it already."""
    if max(SIZES) >= 3_000_000:
        states(run, run.node, min(run.limit, 3_000_000))
        run.node.stop()
        run.node.start()


def part(run, size):
    node = Node(os.path.join(run.folder, "growth-%d" % size))
    node.start()
    try:
        run.load(node, size)
        states(run, node, size)
    finally:
        node.stop()


def states(run, node, size):
    each(run, node, size, "after the import")
    merged = node.wait_merged(min(MERGE_S, max(2, run.left() - 20)))
    state = "merged" if merged is not None else "still merging"
    each(run, node, size, state)
    with Writer(run, node.port):
        each(run, node, size, "while writes run")
    node.stop()
    node.start("--search-threads", "1")
    each(run, node, size, state + ", one thread")


def each(run, node, size, state):
    for query_class in CLASSES:
        row = run.search(query_class, 8, seconds=SECONDS, node=node)
        row.update(what="growth", records=size, state=state, segments=node.segments())
        run.add(row)


class Writer:
    """Writes the first records of the set over and over, so that their number stays."""

    def __init__(self, run, port):
        self.run, self.port, self.stopped = run, port, threading.Event()
        self.error = None
        self.thread = threading.Thread(target=self.guarded, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join(30)
        if self.error is not None:
            raise RuntimeError("the writes beside the queries failed: %s" % self.error)

    def guarded(self):
        try:
            self.write()
        except Exception as error:  # handed to the thread that measures
            self.error = error

    def write(self):
        with open(self.run.data, encoding="utf-8") as lines:
            records = [json.loads(line) for line in itertools.islice(lines, 5_000)]
        connection = Connection(self.port)
        for start in itertools.cycle(range(0, len(records), BATCH)):
            if self.stopped.is_set():
                break
            requests = [{"action": "addObject", "body": record} for record in records[start:start + BATCH]]
            connection.call("POST", "/1/indexes/%s/batch" % self.run.name, {"requests": requests})
            time.sleep(PAUSE_S)
        connection.close()
