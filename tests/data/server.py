"""A small HTTP server whose faults are chosen by the test."""

import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Served:
    """Files by path, and what was asked for."""

    def __init__(self):
        self.files = {}
        self.asked = []
        self.cut_after = {}
        """Path: how many bytes arrive before the connection is cut, one number a request."""
        self.ranges = True
        self.tag = '"one"'
        self.fail = []
        """Status codes to answer with first."""


@contextmanager
def serve():
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            served.asked.append((self.path, self.headers.get("Range")))
            if served.fail:
                self.send_error(served.fail.pop(0))
                return
            data = served.files.get(self.path)
            if data is None:
                self.send_error(404)
                return
            start = 0
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
            same = self.headers.get("If-Range") in (None, served.tag)
            if asked and served.ranges and same:
                start = int(asked[1])
                if start >= len(data):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(data)}")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(data) - start))
            if served.tag:
                self.send_header("ETag", served.tag)
            self.end_headers()
            cuts = served.cut_after.get(self.path)
            if cuts:
                self.wfile.write(data[start : start + cuts.pop(0)])
                self.wfile.flush()
                self.connection.close()
                return
            self.wfile.write(data[start:])

        def log_message(self, *_):
            pass

    # Where a proxy is set, it must not be asked for what is here.
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        monkeypatch.undo()
