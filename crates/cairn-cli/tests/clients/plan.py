"""Follows a plan that changes, through the official Python client.

Arguments: protocol mode, the folder of roadmaps, then the server's command line or address.
"""

import asyncio
import pathlib
import sys

from mcp.client import Client

from place import server

PLAN = """\
title: Import
nodes:
  - id: parse
    label: Parse the file
  - id: batch
    label: Batch the inserts
    dependencies: [parse]
"""


async def work(client, folder):
    async def call(tool, is_error=False, **arguments):
        result = await client.call_tool(tool, arguments)
        envelope = result.structured_content
        assert bool(result.is_error) == is_error, result
        assert envelope["ok"] is not is_error, envelope
        return envelope["error"] if is_error else envelope["data"]

    folder.mkdir(exist_ok=True)
    file = folder / "import.yaml"
    file.write_text(PLAN)
    assert [roadmap["id"] for roadmap in (await call("roadmap_list"))["roadmaps"]] == ["import"]
    assert (await call("context_latest", roadmap_id="import"))["context"] is None

    first = (await call("context_create", roadmap_id="import", metadata={"why": "start"}))["context"]
    decision = await call(
        "thought_decision", decision="one insert for each row in batch", session_id="s",
        context_id=first["context_id"],
    )
    assert decision["context_id"] == first["context_id"], decision
    assert (await call("context_drift"))["drifted"] == 0

    file.write_text(PLAN.replace("Batch the inserts", "Batch by a thousand"))
    ensured = await call("context_ensure", roadmap_id="import")
    second = ensured["context"]
    assert not ensured["is_existing"] and second["content_hash"] != first["content_hash"], ensured
    again = await call("context_ensure", roadmap_id="import")
    assert again["is_existing"] and again["context"] == second, again

    change = await call("context_compare", context_id1=first["context_id"])
    assert change["total_changes"] == 1, change
    modified = change["differences"]["nodes"]["modified"][0]
    assert modified["fields"]["label"] == {"old": "Batch the inserts", "new": "Batch by a thousand"}, modified

    drift = await call("context_drift", roadmap_id="import")
    assert [drift["decisions"], drift["drifted"]] == [1, 1], drift
    drifted = drift["results"][0]
    assert drifted["id"] == decision["id"] and drifted["nodes"][0]["id"] == "batch", drifted

    assert (await call("context_verify", context_id=first["context_id"]))["valid"]
    found = await call("context_search", query="thousand")
    assert found["results"][0]["id"] == "batch", found

    nodes = [{"id": "a", "label": "A"}, {"id": "b", "label": "B", "dependencies": ["a"]}]
    written = await call("roadmap_register", roadmap_id="next", title="Next", nodes=nodes)
    assert not written["replaced"] and (await call("roadmap_validate", roadmap_id="next"))["valid"], written
    error = await call("roadmap_register", is_error=True, roadmap_id="next", title="Next", nodes=nodes)
    assert error["code"] == "CONFLICT", error
    error = await call("roadmap_register", is_error=True, roadmap_id="../next", title="Next", nodes=nodes)
    assert error["details"]["issues"][0]["path"] == "roadmap_id", error
    error = await call("context_get", is_error=True, context_id=99)
    assert error["code"] == "NOT_FOUND", error


async def main():
    mode, folder, *place = sys.argv[1:]
    async with Client(server(place), mode=mode) as client:
        await work(client, pathlib.Path(folder))
    print("fine")


asyncio.run(main())
