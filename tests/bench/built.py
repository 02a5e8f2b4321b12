#!/usr/bin/env python3
"""Which programs has cargo built? Reads its JSON messages, prints NAME=PATH for each."""
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message.get("reason") == "compiler-artifact" and message.get("executable"):
        print("%s=%s" % (message["target"]["name"], message["executable"]))
