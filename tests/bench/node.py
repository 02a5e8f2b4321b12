"""How is the node under measurement started, asked, observed and stopped?"""
import http.client
import json
import os
import socket
import subprocess
import time

KEY = "bench-admin-key-0123456789abcdef"
APP_ID = "bench"
ENVIRONMENT = dict(os.environ, QUORATE_ADMIN_KEY=KEY, QUORATE_APP_ID=APP_ID, BENCH_KEY=KEY, BENCH_APP_ID=APP_ID)
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
START_S = 60
STOP_S = 40
ANSWER_S = 60
# Share of one core below which a node counts as idle.
IDLE = 0.04


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Node:
    """One process on one folder; `start` may be called again after `stop`."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        self.process = None
        self.environment = ENVIRONMENT

    def command(self, *options):
        return [os.environ["QUORATE_BIN"], "serve", "--data-dir", self.folder, "--listen", "127.0.0.1:%d" % self.port,
                "--log-level", "warn", *options]

    def start(self, *options):
        with open(self.folder + ".log", "ab") as log:
            self.process = subprocess.Popen(self.command(*options), env=self.environment, stdout=log, stderr=log)
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError("the node ended with status %d, see %s.log" % (self.process.returncode, self.folder))
            try:
                self.call("GET", "/1/indexes")
                return
            except (OSError, RuntimeError, http.client.HTTPException):
                time.sleep(0.05)
        raise RuntimeError("the node answered nothing in %d s" % START_S)

    def ensure(self):
        if self.process is None or self.process.poll() is not None:
            self.start()

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def call(self, method, path, body=None):
        connection = Connection(self.port)
        try:
            return connection.call(method, path, body)
        finally:
            connection.close()

    def cpu_s(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="utf-8") as stat:
            fields = stat.read().rsplit(") ", 1)[1].split(" ")
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def wait_idle(self, most_s):
        """Waits until merging has ended, which shows as an idle process; the seconds it took, None when it goes on."""
        begun, quiet = time.monotonic(), 0
        while time.monotonic() - begun < most_s:
            before = self.cpu_s()
            time.sleep(0.5)
            quiet = quiet + 1 if self.cpu_s() - before < IDLE * 0.5 else 0
            if quiet >= 3:
                return time.monotonic() - begun
        return None

    def wait_merged(self, most_s):
        """Waits until the records are in one segment, which a pause in the writes begins, and the process is idle."""
        begun = time.monotonic()
        while self.segments() > 1 and time.monotonic() - begun < most_s:
            time.sleep(0.1)
        idle = self.wait_idle(max(2, begun + most_s - time.monotonic()))
        return None if idle is None else time.monotonic() - begun

    def segments(self, suffix=".seg"):
        """Files of segments on disk."""
        return sum(name.endswith(suffix) for _, _, names in os.walk(os.path.join(self.folder, "indices")) for name in names)


class Connection:
    """A kept connection."""

    def __init__(self, port):
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)
        self.http.connect()
        self.http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, method, path, body=None, headers=None, parse=json.loads):
        own = {"X-Service-Application-Id": APP_ID, "X-Service-API-Key": KEY, "Content-Type": "application/json"}
        text = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.http.request(method, path, text, {**own, **(headers or {})})
        answer = self.http.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError("%s %s: %d %s" % (method, path, answer.status, text[:200].decode(errors="replace")))
        return parse(text) if text else None

    def close(self):
        self.http.close()
