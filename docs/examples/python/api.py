"""The service's HTTP interface with Python's standard library alone. Python 3.9 or newer."""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

missing = [name for name in ("BASE_URL", "API_KEY", "AGENT_ID") if not os.environ.get(name)]
if missing:
    sys.exit(f"Set the variables {', '.join(missing)}: docs/examples/README.md says how")
BASE_URL, API_KEY, AGENT_ID = os.environ["BASE_URL"], os.environ["API_KEY"], os.environ["AGENT_ID"]


class ApiError(Exception):
    """An error that the service has sent. `code` is its `error_code`."""

    def __init__(self, status, body, request_id):
        try:
            envelope = json.loads(body)
        except ValueError:
            # Of a proxy.
            envelope = {}
        super().__init__(f"{status} {envelope.get('message', 'without a message')} (request {request_id})")
        self.status = status
        self.code = envelope.get("error_code")


def print_error(kind, error, traceback):
    """Prints an error of the service or of the connection in one line, and others with their traceback."""
    if issubclass(kind, (ApiError, OSError)):
        print(error, file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)


sys.excepthook = print_error


def open_response(method, path, body=None, headers=None):
    """Sends a request, and returns the response before its body is read. Raises ApiError."""
    request = urllib.request.Request(
        BASE_URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"x-api-key": API_KEY, "Content-Type": "application/json", **(headers or {})},
    )
    try:
        # Events come at least every 15 s.
        return urllib.request.urlopen(request, timeout=100)
    except urllib.error.HTTPError as error:
        with error:
            raise ApiError(error.code, error.read(), error.headers.get("x-request-id")) from None


def call(method, path, body=None):
    """Sends a request, and returns `data` of its response.

    If the service is busy, or no response arrives, it sends the request again. The key prevents that this does the work
    twice.
    """
    key = {"Idempotency-Key": str(uuid.uuid4())}
    for wait in (0.5, 1, 2, 4, None):
        try:
            with open_response(method, path, body, key) as response:
                return json.load(response)["data"]
        except (ApiError, OSError) as error:
            rejected = isinstance(error, ApiError) and error.status < 500 and error.status != 429
            if rejected or wait is None:
                raise
            time.sleep(wait)


def stream(path, body):
    """Sends a request, and yields the events of the reply as they come."""
    with open_response("POST", path, body) as response:
        for line in response:
            if not line.startswith(b"data: "):
                continue
            if line.strip() == b"data: [DONE]":
                return
            yield json.loads(line[len(b"data: ") :])
    raise ConnectionError("The stream ended before the reply")
