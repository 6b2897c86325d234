"""Reads cases of JSON lines, and prints a bit for each, in hexadecimal digits: whether the data fits the schema."""

import json
import sys

from jsonschema import Draft202012Validator

bits = []
for line in sys.stdin:
    case = json.loads(line)
    bits.append("1" if Draft202012Validator(case["schema"]).is_valid(case["data"]) else "0")
digits = ["%x" % int("".join(bits[start : start + 4]), 2) for start in range(0, len(bits), 4)]
for start in range(0, len(digits), 100):
    print("".join(digits[start : start + 100]))
