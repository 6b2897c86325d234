"""python chat.py "What is a lease?": prints the reply as it comes, then asks a second question."""

import sys

from api import AGENT_ID, call, stream

question = sys.argv[1] if len(sys.argv) > 1 else "What is a lease?"
chat = call("POST", "/chats", {"name": "Example", "agent_id": AGENT_ID})
messages = f"/chats/{chat['id']}/messages"

for event in stream(messages, {"message": question, "agent_id": AGENT_ID}):
    if event["type"] == "response.reasoning_step.start":
        print(f"[{event['step']['type']}] {event['step']['content']}")
    elif event["type"] == "response.output_text.delta":
        print(event["delta"], end="", flush=True)
    elif event["type"] == "response.error":
        sys.exit(f"The reply failed: {event['message']}")
print()

# The same chat, and the reply as one JSON response.
print(call("POST", messages, {"message": "Say it in other words", "agent_id": AGENT_ID, "stream": False}))

