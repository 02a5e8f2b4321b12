"""How is a model of all rows had built, and what is told of it?"""
import json
import time

BUILD_S, AGAIN_S = 600, 10


def told(connection, index, model):
    """What /admin/recommend tells of the model of an index; empty when there is none."""
    found = connection.call("GET", "/admin/recommend")["models"]
    return next((it for it in found if (it["index"], it["model"]) == (index, model)), {})


def built(connection, index, model, rows, most_s=BUILD_S, after=None):
    """The same once it was built of so many rows, which is asked for, and not at the time `after`."""
    until, asked, found = time.monotonic() + most_s, -AGAIN_S, None
    while time.monotonic() < until:
        found = told(connection, index, model)
        if found.get("rows") == rows and found["builtAt"] != after:
            return found
        if time.monotonic() - asked > AGAIN_S:
            connection.call("POST", f"/admin/recommend/{index}/{model}/build")
            asked = time.monotonic()
        time.sleep(0.2)
    raise RuntimeError(f"no {model} of {rows} rows in {most_s} s: {json.dumps(found)[:2_000]}")
