#!/usr/bin/env python3
"""What do three nodes cost beside one, and how long does each kind of loss take? `cluster.sh` starts it; README.md says more.

STEPS: cpu,reads,kill,stop,catch (default: all). PAIRS: runs of one and of three nodes in turn (3). ROUNDS: kills and planned
stops (20). WRITES: single records a run (4000). RECORDS: records of the member that is made empty (1000000). RATE: bytes a
second that a snapshot may take (the node's default when it is not set).
"""
import itertools
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from node import ENVIRONMENT, Connection, Node, free_port
from tables import number, table

STEPS = ["cpu", "reads", "kill", "stop", "catch"]
WANTED = set(os.environ.get("STEPS", ",".join(STEPS)).replace(" ", ",").split(","))
PAIRS = int(os.environ.get("PAIRS", "3"))
ROUNDS = int(os.environ.get("ROUNDS", "20"))
WRITES = int(os.environ.get("WRITES", "4000"))
RECORDS = int(os.environ.get("RECORDS", "1000000"))
CONNECTIONS = 8
IMPORT_RECORDS = 100_000
BATCH = 5_000
READ_S = 4
SETTLE_S = 90
CATCH_S = 300
IDLE_S = 30
ENVIRONMENT["QUORATE_JOIN_TOKEN"] = "bench-join-token-0123456789abcdef"


class Member(Node):
    """A node of an installation; the first one founds it."""

    def __init__(self, folder, place, first=None):
        super().__init__(os.path.join(folder, "n%d" % place))
        self.name, self.peer = "n%d" % place, "127.0.0.1:%d" % free_port()
        self.options = ["--peer-listen", self.peer, "--node-name", self.name, *(["--join", first.peer] if first else [])]
        if "RATE" in os.environ:
            self.options += ["--snapshot-bytes-per-s", os.environ["RATE"]]

    def command(self, *options):
        return super().command(*self.options, *options)

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(60)
        self.process = None


class Cluster:
    """`size` nodes; one node runs without peers, as a single node does."""

    def __init__(self, folder, size):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.nodes = [Node(os.path.join(folder, "n1"))] if size == 1 else [Member(folder, 1)]
        self.nodes += [Member(folder, place, self.nodes[0]) for place in range(2, size + 1)]

    def __enter__(self):
        for node in self.nodes:
            node.start()
        self.settle()
        self.idle()
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            if node.process:
                node.process.send_signal(signal.SIGCONT)
                node.process.kill()
                node.process.wait()

    def alive(self, but=None):
        return [node for node in self.nodes if node.process and node is not but]

    def settle(self):
        """Waits until every node says that all is where it is wanted."""
        until = time.monotonic() + SETTLE_S
        for node in self.nodes:
            while True:
                try:
                    if node.call("GET", "/admin/cluster")["isSettled"]:
                        break
                except (OSError, RuntimeError):
                    pass
                if time.monotonic() > until:
                    raise RuntimeError("%s does not see everything settled after %d s" % (node.folder, SETTLE_S))
                time.sleep(0.05)

    def idle(self):
        until = time.monotonic() + IDLE_S
        for node in self.alive():
            node.wait_idle(max(2, until - time.monotonic()))

    def cpu_s(self):
        return sum(node.cpu_s() for node in self.alive())

    def leader(self, group):
        overview = self.alive()[0].call("GET", "/admin/cluster")
        name = next(row["leader"] for row in overview["groups"] if row["id"] == group)
        return next(node for node in self.nodes if node.folder.endswith("/" + name))


def in_threads(action, count):
    failures = []

    def run(place):
        try:
            action(place)
        except Exception as error:  # shown below: a thread must not end silently
            failures.append(error)
    threads = [threading.Thread(target=run, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def write_singles(cluster, _):
    def one(place):
        connection = Connection(cluster.nodes[place % len(cluster.nodes)].port)
        for turn in range(WRITES // CONNECTIONS):
            connection.call("PUT", "/1/indexes/w%d/o%d" % (place, turn), {"name": "thing %d of many words" % turn, "n": turn})
    in_threads(one, CONNECTIONS)
    return WRITES


def records(name, most):
    with open(os.path.join(os.environ["BENCH_DATA"], name + ".jsonl"), encoding="utf-8") as lines:
        yield from itertools.islice(lines, most)


def write_batches(cluster, name="cities", most=IMPORT_RECORDS):
    connection, lines, done, task = Connection(cluster.nodes[0].port), records(name, most), 0, None
    while batch := list(itertools.islice(lines, BATCH)):
        requests = [{"action": "addObject", "body": json.loads(line)} for line in batch]
        task = connection.call("POST", "/1/indexes/%s/batch" % name, {"requests": requests})["taskID"]
        done += len(batch)
    until = time.monotonic() + SETTLE_S
    while connection.call("GET", "/1/indexes/%s/task/%d" % (name, task))["status"] != "published":
        if time.monotonic() > until:
            raise RuntimeError("the last batch is not published after %d s" % SETTLE_S)
        time.sleep(0.02)
    return done


def cpu(folder):
    """CPU seconds of all nodes, with what settling afterwards takes, and records a second by the clock."""
    loads = [("single records", write_singles), ("batches of %d" % BATCH, write_batches)]
    seen = {}
    for _ in range(PAIRS):
        for size in (1, 3):
            with Cluster(os.path.join(folder, "cpu"), size) as cluster:
                for name, load in loads:
                    before, begun = cluster.cpu_s(), time.monotonic()
                    done = load(cluster, "cities")
                    rate = done / (time.monotonic() - begun)
                    cluster.idle()
                    seen.setdefault((name, size), []).append((cluster.cpu_s() - before, rate))
                if size == 3:
                    before = cluster.cpu_s()
                    time.sleep(4)
                    seen.setdefault("idle", []).append((cluster.cpu_s() - before) / 4)
    rows = []
    for name, _ in loads:
        one, three = seen[(name, 1)], seen[(name, 3)]
        ratios = sorted(b[0] / a[0] for a, b in zip(one, three))
        rows.append([name, *(number(statistics.median(x[0] for x in side)) for side in (one, three)),
                     number(statistics.median(ratios)), ", ".join(map(number, ratios)),
                     *("%.0f" % statistics.median(x[1] for x in side) for side in (one, three))])
    print(table(["load", "one node, CPU s", "three nodes", "ratio", "of each pair", "one node, records/s", "three nodes"], rows))
    print("\nThree idle nodes take %s of a core.\n" % number(statistics.median(seen["idle"])))


def read_rate(node, seconds):
    """Answers a second and CPU ms of `node` for one, at CONNECTIONS connections."""
    counts, until = [], time.monotonic() + seconds

    def ask(place):
        connection, done = Connection(node.port), 0
        while time.monotonic() < until:
            query = {"query": "abcdefghijklmnoprstuvw"[(done + place) % 22], "hitsPerPage": 5}
            connection.call("POST", "/1/indexes/cities/query", query)
            done += 1
        counts.append(done)
    before = node.cpu_s()
    in_threads(ask, CONNECTIONS)
    return sum(counts) / seconds, (node.cpu_s() - before) * 1e3 / sum(counts)


def reads(folder):
    """Reads of the same node while another member is well, paused, and dead, each between two with all well."""
    with Cluster(os.path.join(folder, "reads"), 3) as cluster:
        write_batches(cluster)
        cluster.idle()
        reader, other = cluster.nodes[0], cluster.nodes[2]
        read_rate(reader, 1)
        rows = []

        def measure(name):
            rows.append([name, *map(number, read_rate(reader, READ_S))])
        measure("all well")
        other.process.send_signal(signal.SIGSTOP)
        measure("one paused")
        other.process.send_signal(signal.SIGCONT)
        cluster.settle()
        measure("all well")
        other.kill()
        measure("one dead")
        other.start()
        cluster.settle()
        measure("all well")
    print(table(["members", "answers/s of one of the others", "CPU ms each"], rows) + "\n")


class Readers:
    """Reads without a pause that go to the next host when one does not answer; those that no host answered are counted."""

    def __init__(self, cluster):
        self.hosts, self.done, self.failed, self.over = [node.port for node in cluster.nodes], 0, 0, threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(place,)) for place in range(2)]

    def run(self, place):
        connections, host = {}, place
        while not self.over.is_set():
            for _ in range(len(self.hosts)):
                port = self.hosts[host % len(self.hosts)]
                try:
                    if port not in connections:
                        connections[port] = Connection(port)
                    connections[port].call("POST", "/1/indexes/watched/query", {"query": "thing"})
                    self.done += 1
                    break
                except Exception:  # whatever it was, the next host is asked
                    connections.pop(port, None)
                    host += 1
            else:
                self.failed += 1
            time.sleep(0.002)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


def lose(folder, how):
    """Seconds without an accepted write when the leader of its group ends, and reads that failed meanwhile."""
    gaps = []
    with Cluster(os.path.join(folder, "lose"), 3) as cluster:
        group = cluster.nodes[0].call("PUT", "/1/indexes/watched/probe", {"name": "thing"})["taskID"] & 0xFFF
        cluster.idle()
        with Readers(cluster) as readers:
            for _ in range(ROUNDS):
                leader = cluster.leader(group)
                others = itertools.cycle([Connection(node.port) for node in cluster.alive(leader)])
                gaps.append(gap(leader, others, how))
                leader.start()
                cluster.settle()
    gaps.sort()
    p99 = gaps[min(len(gaps) - 1, round((len(gaps) - 1) * 0.99))]
    what = "kill -9 of the leader" if how == signal.SIGKILL else "planned stop of the leader"
    return [what, str(len(gaps)), number(statistics.median(gaps)), number(p99), number(gaps[-1]), str(readers.done), str(readers.failed)]


def gap(leader, others, how):
    """Seconds until a write is accepted again; for a planned stop, of the slowest write before the process has ended."""
    leader.process.send_signal(how)
    begun, worst = time.monotonic(), 0
    until = begun + 30
    while time.monotonic() < until:
        asked = time.monotonic()
        try:
            next(others).call("PUT", "/1/indexes/watched/probe", {"name": "thing"})
            worst = max(worst, time.monotonic() - (begun if how == signal.SIGKILL else asked))
            if how == signal.SIGKILL or leader.process.poll() is not None:
                break
        except RuntimeError:
            worst = max(worst, time.monotonic() - begun)
        time.sleep(0.005)
    else:
        raise RuntimeError("no write was accepted for 30 s")
    leader.process.wait(30)
    leader.process = None
    return worst


def folder_bytes(folder):
    return int(subprocess.run(["du", "-sb", folder], capture_output=True, text=True, check=True).stdout.split()[0])


def has_all(group, name):
    """Whether a node's reads of a group see everything that its leader has committed."""
    return group["leader"] and any(replica["node"] == name and replica["lag"] == 0 for replica in group["replicas"])


def catch(folder):
    """A member whose folder was removed, until it has what the others have and until its place is taken in every group, beside
    a plain copy of such a folder. The place is free when the lease of the lost member has run out."""
    with Cluster(os.path.join(folder, "catch"), 3) as cluster:
        write_batches(cluster, "files", RECORDS)
        cluster.idle()
        empty = cluster.nodes[2]
        empty.kill()
        shutil.rmtree(empty.folder)
        begun = time.monotonic()
        empty.start()
        until = begun + CATCH_S
        took = None
        while time.monotonic() < until:
            rows = cluster.nodes[0].call("GET", "/admin/cluster")
            if took is None and all(has_all(group, empty.name) for group in rows["groups"]):
                took = time.monotonic() - begun
            if took and rows["isSettled"] and empty.call("GET", "/admin/cluster")["isSettled"]:
                break
            time.sleep(0.05)
        else:
            raise RuntimeError("the empty member has not caught up after %d s" % CATCH_S)
        settled = time.monotonic() - begun
        size = folder_bytes(empty.folder)
        copies = []
        for turn in range(3):
            to = os.path.join(folder, "copy%d" % turn)
            begun = time.monotonic()
            subprocess.run(["cp", "-r", cluster.nodes[0].folder, to], check=True)
            subprocess.run(["sync", "-f", to], check=True)
            copies.append(folder_bytes(to) / (time.monotonic() - begun))
            shutil.rmtree(to)
    rate, copy = size / took, statistics.median(copies)
    print(table(["records", "MB", "has all after s", "settled after s", "MB/s", "cp and sync, MB/s", "ratio"],
                [[str(RECORDS), number(size / 1e6), number(took), number(settled), number(rate / 1e6), number(copy / 1e6),
                  number(rate / copy)]]) + "\n")


def main():
    if WANTED - set(STEPS):
        sys.exit("unknown: %s\n%s" % (", ".join(sorted(WANTED - set(STEPS))), __doc__))
    losses = []
    with tempfile.TemporaryDirectory(prefix="quorate-bench-") as folder:
        for name, step in (("cpu", cpu), ("reads", reads), ("catch", catch)):
            if name in WANTED:
                print("### %s\n" % name, flush=True)
                step(folder)
        for name, how in (("kill", signal.SIGKILL), ("stop", signal.SIGTERM)):
            if name in WANTED:
                losses.append(lose(folder, how))
    if losses:
        print("### losses\n\n" + table(["what", "times", "writes accepted again after s, median", "p99", "longest", "reads meanwhile",
                                        "reads that no host answered"], losses))


if __name__ == "__main__":
    main()
