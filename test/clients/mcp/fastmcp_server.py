"""A server of FastMCP in three modes. It prints their addresses as JSON, then the mode and the methods of each request."""

import asyncio
import json
import socket

from fastmcp import FastMCP
from fastmcp.utilities.types import Image
from mcp_types import ToolAnnotations
from pydantic import BaseModel
from starlette.middleware import Middleware


class Customer(BaseModel):
    email: str
    orders: list[int]


class Printing:
    def __init__(self, app, mode):
        self.app = app
        self.mode = mode

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        printed = False

        async def receive_and_print():
            nonlocal printed
            event = await receive()
            if event["type"] == "http.request" and not printed:
                printed = True
                body = json.loads(event["body"] or "{}")
                print(self.mode, scope["method"], body.get("method", ""), flush=True)
            return event

        # A request whose body nobody reads.
        if scope["method"] != "POST":
            printed = True
            print(self.mode, scope["method"], flush=True)
        await self.app(scope, receive_and_print, send)


server = FastMCP("Peer")
reads = ToolAnnotations(readOnlyHint=True)


@server.tool(annotations=reads)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=reads)
def find(email: str) -> Customer:
    """Find a customer."""
    return Customer(email=email, orders=[7])


@server.tool(annotations=reads)
def fail() -> str:
    """Fail."""
    raise ValueError("No such customer")


@server.tool(annotations=reads)
def picture() -> Image:
    """Draw."""
    return Image(data=b"PNG", format="png")


modes = {
    "stateful": {},
    "stateless": {"stateless_http": True},
    "json": {"json_response": True},
}


async def main():
    running = []
    addresses = {}
    for mode, options in modes.items():
        bound = socket.create_server(("127.0.0.1", 0))
        addresses[mode] = f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        middleware = [Middleware(Printing, mode=mode)]
        running.append(
            server.run_http_async(
                show_banner=False, log_level="error", sockets=[bound], middleware=middleware, **options
            )
        )
    print(json.dumps(addresses), flush=True)
    await asyncio.gather(*running)


asyncio.run(main())
