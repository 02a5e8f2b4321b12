"""What does the HTTP stack alone cost? Records a node's answers and serves them from memory through the same stack."""
import http.client
import os
import struct
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Queries of a class whose answers are recorded, evenly spread over its log.
SAMPLE = 200
START_S = 20


def recorded_sample(lines):
    every = list(lines)
    return every[:: max(1, len(every) // SAMPLE)][:SAMPLE]


class Recorder:
    """Stands before a node, passes requests on and writes down what was asked and answered."""

    def __init__(self, node_port, path):
        self.file = open(path, "wb")
        lock = threading.Lock()
        file = self.file

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                upstream = http.client.HTTPConnection("127.0.0.1", node_port, timeout=30)
                upstream.request("POST", self.path, body, dict(self.headers))
                answer = upstream.getresponse()
                text = answer.read()
                upstream.close()
                if answer.status == 200:
                    with lock:
                        for part in (body, text):
                            file.write(struct.pack("<I", len(part)) + part)
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.file.close()


class Canned:
    """The recorded answers, served."""

    def __init__(self, path):
        self.process = subprocess.Popen([os.environ["CANNED_BIN"], path, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        timer = threading.Timer(START_S, self.process.kill)
        timer.start()
        address = self.process.stdout.readline().strip()
        timer.cancel()
        if not address:
            raise RuntimeError("the server of recorded answers did not start")
        self.url = "http://" + address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
