"""python stream.py "What is a lease?": streams a reply with httpx (pip install httpx). A lost connection is resumed.

Ctrl-C stops the reply.
"""

import json
import sys
import time
import uuid

import httpx

from api import AGENT_ID, API_KEY, BASE_URL, ApiError, call

# Events or comments come at least every 15 s.
client = httpx.Client(base_url=BASE_URL, headers={"x-api-key": API_KEY}, timeout=100)


def lines_of(response):
    """Lines of bytes. `iter_lines` of httpx also ends lines at characters of a text, such as U+2028."""
    rest = b""
    for chunk in response.iter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def stream_reply(chat_id, message):
    """Yields the events of a reply, each once."""
    body = {"message": message, "agent_id": AGENT_ID, "resumable": True}
    # A repeated send gets the stream of the same reply.
    key = {"Idempotency-Key": str(uuid.uuid4())}
    last = None
    failures = 0
    while True:
        try:
            if last is None:
                request = client.stream("POST", f"/chats/{chat_id}/messages", json=body, headers=key)
            else:
                position = {"response_id": last["response_id"], "starting_after": last["sequence_number"]}
                request = client.stream("GET", f"/chats/{chat_id}/stream", params=position)
            with request as response:
                if response.is_error:
                    raise ApiError(response.status_code, response.read(), response.headers.get("x-request-id"))
                for line in lines_of(response):
                    if line == b"data: [DONE]":
                        return
                    if line.startswith(b"data: "):
                        last = json.loads(line[len(b"data: ") :])
                        failures = 0
                        yield last
            raise httpx.RemoteProtocolError("The stream ended before the reply")
        except httpx.TransportError as error:
            failures += 1
            if failures > 5:
                raise
            print(f"\n[{error}: the stream is resumed]", file=sys.stderr)
            time.sleep(2**failures / 4)


question = sys.argv[1] if len(sys.argv) > 1 else "What is a lease?"
chat = call("POST", "/chats", {"name": "Example", "agent_id": AGENT_ID})
try:
    for event in stream_reply(chat["id"], question):
        if event["type"] == "response.reasoning_step.start":
            print(f"[{event['step']['type']}] {event['step']['content']}")
        elif event["type"] == "response.output_text.delta":
            print(event["delta"], end="", flush=True)
        elif event["type"] == "response.error":
            sys.exit(f"The reply failed: {event['message']}")
    print()
except KeyboardInterrupt:
    call("POST", f"/chats/{chat['id']}/stop", {})
