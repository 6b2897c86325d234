# Runs the program stream.py of docs/examples/python, and breaks its first connection after a few events.
import os
import runpy
import sys

import httpx

iter_bytes = httpx.Response.iter_bytes
responses = 0


def lossy(response):
    global responses
    responses += 1
    for chunk in iter_bytes(response, 200):
        yield chunk
        if responses == 1:
            raise httpx.ReadError("lost")


httpx.Response.iter_bytes = lossy
program = sys.argv.pop(1)
sys.path.insert(0, os.path.dirname(program))
runpy.run_path(program, run_name="__main__")
if responses != 2:
    sys.exit(f"{responses} connections instead of 2")
