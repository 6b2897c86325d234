"""Reads a file of cases, one a line, and prints a line of bits: for each case, whether the data fits the schema."""

import json
import sys

from jsonschema import Draft202012Validator

with open(sys.argv[1], encoding="utf-8") as cases:
    parsed = [json.loads(line) for line in cases]
print("".join(str(int(Draft202012Validator(case["schema"]).is_valid(case["data"]))) for case in parsed))
