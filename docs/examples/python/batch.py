"""python batch.py: submits three questions as a batch, waits for its end, and prints the answers."""

import time

from api import AGENT_ID, call

questions = {"lease": "What is a lease?", "deposit": "What is a deposit?", "rent": "What is rent?"}
batch = call(
    "POST",
    "/batches",
    {
        "agent_id": AGENT_ID,
        "requests": [{"custom_id": name, "message": question} for name, question in questions.items()],
    },
)
while batch["status"] not in ("completed", "failed", "cancelled"):
    time.sleep(1)
    batch = call("GET", f"/batches/{batch['id']}")
    print(f"{batch['status']}: {batch['completed_requests']} of {batch['total_requests']}")

offset = 0
while results := call("GET", f"/batches/{batch['id']}/results?limit=100&offset={offset}"):
    for result in results:
        print(f"{result['custom_id']}: {result['response_content'] or result['error_message']}")
    offset += len(results)
