#!/usr/bin/env python3
"""An agent behind a URL: verifies the signature, streams JSON lines, and keeps
nothing between two calls. Standard library only.

    WEBHOOK_SECRET=0123456789abcdef0123 PORT=9000 python3 examples/webhook/agent.py
"""

import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()


def verify(headers, body):
    stamp = headers.get("Webhook-Timestamp", "0")
    signed = f"{headers.get('Webhook-Id', '')}.{stamp}.".encode() + body
    want = b"v1," + base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest())
    good = any(hmac.compare_digest(got.encode(), want) for got in headers.get("Webhook-Signature", "").split())
    return good and stamp.isdigit() and abs(time.time() - int(stamp)) < 300


def text_of(message):
    content = message["content"]
    return content if isinstance(content, str) else " ".join(b.get("text", "") for b in content)


def answer(line):
    """Yields the frames that answer one POST."""
    if line["type"] == "start":
        text = text_of(line["message"])
        if "shout" in text.split():
            yield {"type": "checkpoint", "state": {"text": text}}  # comes back with the answer
            yield {"type": "tool_approval_request", "ref": 1, "tool_name": "shout", "args": {}}
            return
    elif line["type"] == "answer":
        text = line["checkpoint"]["text"]
        if line.get("answer", {}).get("decision", "").startswith("allow"):
            text = text.upper()
    else:
        return
    for word in ["You", "said:"] + text.split():
        yield {"type": "chunk", "content": word + " "}
    yield {"type": "end", "usage": {"words": len(text.split())}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # chunks show where a response ends; without them it ends with an "end" line

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))  # fails once the turn was stopped

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not verify(self.headers, body):
            self.send_error(401)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for frame in answer(json.loads(body)):
            self.chunk(json.dumps(frame).encode() + b"\n")
        self.chunk(b"")

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
