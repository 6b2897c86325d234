"""Reads a file of cases, one a line, and prints a bit for each in hexadecimal digits: whether the data fits the schema."""

import json
import sys

from jsonschema import Draft202012Validator

bits = ""
with open(sys.argv[1], encoding="utf-8") as cases:
    for line in cases:
        case = json.loads(line)
        bits += "1" if Draft202012Validator(case["schema"]).is_valid(case["data"]) else "0"
digits = "".join("%x" % int(bits[start : start + 4], 2) for start in range(0, len(bits), 4))
for start in range(0, len(digits), 100):
    print(digits[start : start + 100])
