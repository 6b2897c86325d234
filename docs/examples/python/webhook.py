"""python webhook.py: receives the events of batches at https://…/hook, and prints each once.

TLS_KEY and TLS_CERT name a key and a certificate; without them, a proxy with a certificate stands before.
"""

import hashlib
import hmac
import json
import os
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("WEBHOOK_SECRET")
if not SECRET:
    sys.exit("Set WEBHOOK_SECRET: without it, anybody could send events")

# Events that have come. Keep them in your database.
known = set()


def is_signed(headers, body):
    timestamp = headers.get("X-Service-Timestamp", "")
    right = hmac.new(SECRET.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(headers.get("X-Service-Signature", "").encode(), b"sha256=" + right.encode())


def is_recent(headers):
    timestamp = headers.get("X-Service-Timestamp", "")
    return timestamp.isdecimal() and abs(time.time() - int(timestamp)) < 300


class Receiver(BaseHTTPRequestHandler):
    # A caller that is silent for so many seconds is gone.
    timeout = 30

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        # An event has less than a kilobyte.
        if self.path != "/hook" or not length.isdecimal() or int(length) > 65536:
            return self.respond(404)
        # The bytes that came: parsed and written again, the signature would not match.
        body = self.rfile.read(int(length))
        if not (is_signed(self.headers, body) and is_recent(self.headers)):
            return self.respond(400)
        event = json.loads(body)
        # An event may come more than once. This id is in what is signed.
        if event["data"]["id"] not in known:
            print(f"{event['event']}: {event['data']['completed_requests']} completed", flush=True)
        known.add(event["data"]["id"])
        self.respond(204)

    def respond(self, status):
        self.send_response(status)
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8443"))), Receiver)
if "TLS_KEY" in os.environ:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(f"Receives at port {server.server_address[1]}", flush=True)
server.serve_forever()
