"""How is a model of all rows had built, and what is told of it?"""
import json
import time

BUILD_S, AGAIN_S = 600, 10


def built(connection, index, model, rows, most_s=BUILD_S):
    """What /admin/recommend tells of the model of an index once it was built of so many rows, which is asked for."""
    until, asked, found = time.monotonic() + most_s, -AGAIN_S, None
    while time.monotonic() < until:
        found = connection.call("GET", "/admin/recommend")["models"]
        told = next((it for it in found if (it["index"], it["model"], it.get("rows")) == (index, model, rows)), None)
        if told:
            return told
        if time.monotonic() - asked > AGAIN_S:
            connection.call("POST", f"/admin/recommend/{index}/{model}/build")
            asked = time.monotonic()
        time.sleep(0.2)
    raise RuntimeError(f"no {model} of {rows} rows in {most_s} s: {json.dumps(found)[:2_000]}")
