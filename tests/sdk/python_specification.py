"""Does `/openapi.json` say what the official clients' own specification says, but for the differences that are listed?

Their specification is read from the official Python package, whose classes are made from it. `OFFICIAL_SPECIFICATION` may name a
folder with the specification itself (`search.yml`, `recommend.yml` and so on, in one piece each): then its bounds are compared, which the
package does not have. Differences that are known stand in `differences.txt`, with reasons.
"""

import json
import os
import re
import sys
import urllib.request

from differences import BOUNDS, Comparison
from specification import of_document, of_package, of_yaml

PARTS = ("search", "recommend", "insights", "analytics", "query_suggestions")
LISTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "differences.txt")


def listed():
    """The patterns of the list, in order."""
    with open(LISTED, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#")]


def as_test(pattern):
    """`*` stands for any text; nothing else has a meaning."""
    return re.compile(".*".join(map(re.escape, pattern.split("*"))) + r"\Z").match


def is_of_client(path):
    """Whether a path is no call of the interface: steps of clients, and calls of any path."""
    return not re.match(r"/\d/", path)


def found(ours, theirs):
    """All differences, as lines."""
    lines = set()
    for specification in theirs.values():
        comparison = Comparison(ours, specification)
        for name, operation in specification.operations.items():
            if is_of_client(operation.path):
                continue
            if name in ours.operations:
                comparison.operation(ours.operations[name], operation)
            else:
                lines.add(f"{name}: only theirs")
        lines |= comparison.lines
    return lines


def is_of_bound(line):
    return any(f" {bound} " in line for bound in BOUNDS)


def report(text, wrong):
    """Says of a step whether it went well, and what did not."""
    print(f"{'FAILED' if wrong else 'ok'} {text}")
    for line in wrong:
        print(f"  {line}")
    return not wrong


def main():
    with urllib.request.urlopen(f"{os.environ['QUORATE_URL']}/openapi.json", timeout=30) as answer:
        ours = of_document(json.load(answer))
    folder = os.environ.get("OFFICIAL_SPECIFICATION")
    theirs = of_yaml(folder, PARTS) if folder else of_package(PARTS)
    calls = sum(not is_of_client(one.path) for part in theirs.values() for one in part.operations.values())
    differences = found(ours, theirs)
    if folder:
        differences = {line for line in differences if is_of_bound(line)}
    else:
        differences = {line for line in differences if not (is_of_bound(line) and line.endswith("none in theirs"))}
    patterns = [(pattern, as_test(pattern)) for pattern in listed()]
    unlisted = [line for line in sorted(differences) if not any(test(line) for _, test in patterns)]
    looked_for = [(pattern, test) for pattern, test in patterns if is_of_bound(pattern) == bool(folder)]
    gone = [pattern for pattern, test in looked_for if not any(test(line) for line in differences)]
    steps = [
        report(f"{calls} official calls are known", [] if calls > 80 else ["too few of them were read"]),
        report(f"{len(differences)} differences are listed", unlisted),
        report(f"{len(looked_for)} lines of the list still say something", gone),
    ]
    print(f"{sum(steps)} passed, {len(steps) - sum(steps)} failed")
    sys.exit(not all(steps))


main()
