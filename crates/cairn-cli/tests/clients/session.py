"""Works with Cairn through the official Python client. Arguments: protocol mode, then the server's command line
or address."""

import asyncio
import sys

from mcp import MCPError
from mcp.client import Client

from place import is_address, server

TOOLS = {
    "thought_record", "thought_plan", "thought_analysis", "thought_decision", "thought_reflection", "thought_get",
    "thought_record_list", "thought_tree", "thought_trail", "thought_for_action", "thought_reasoning_trail",
    "thought_verify", "thought_verify_chain", "thought_search", "roadmap_list", "roadmap_get", "roadmap_register",
    "roadmap_validate", "context_create", "context_get", "context_latest", "context_history", "context_verify",
    "context_ensure", "context_compare", "context_search", "context_drift", "session_open", "turn_begin",
    "entity_apply", "turn_step", "turn_note", "turn_end", "summary_apply", "brief_build", "brief_get", "brief_verify",
    "brief_compare", "session_list", "session_state", "entity_get", "log_checkpoint", "log_prove", "log_verify",
}


async def work(client, over_http):
    async def call(tool, is_error=False, **arguments):
        result = await client.call_tool(tool, arguments)
        envelope = result.structured_content
        assert bool(result.is_error) == is_error, result
        assert envelope["ok"] is not is_error, envelope
        return envelope["error"] if is_error else envelope["data"]

    listed = await client.list_tools()
    assert {tool.name for tool in listed.tools} == TOOLS, listed
    assert all(tool.output_schema and tool.annotations.open_world_hint is False for tool in listed.tools)

    plan = await call("thought_plan", plan_description="measure the import", session_id="s", agent_id="py")
    decision = await call(
        "thought_decision", decision="batch the inserts: 🚀", session_id="s", agent_id="py",
        parent_id=plan["id"], action_id="commit-1", metadata={"files": ["a.py"], "ratio": 0.5},
    )
    assert decision["prev_hash"] == plan["hash"]
    unnamed = await call("thought_analysis", analysis="who am I?", session_id="other")
    assert unnamed["agent_id"], unnamed

    records = (await call("thought_record_list", session_id="s"))["records"]
    assert records == [plan, decision], records
    tree = await call("thought_tree", session_id="s")
    assert tree["tree"][0]["children"][0]["id"] == decision["id"], tree
    verdict = await call("thought_verify")
    assert verdict["valid"] and verdict["records"] == 3, verdict
    found = await call("thought_search", query="batch")
    assert found["results"][0]["snippet"] == "**batch** the inserts: 🚀", found

    error = await call("thought_record", is_error=True, type="idea", content="x", session_id="s")
    assert error["code"] == "INVALID_PARAMS", error
    assert error["details"]["issues"][0]["path"] == "type", error
    assert "plan, analysis, decision, reflection" in error["details"]["issues"][0]["message"], error
    # Refused before it reaches the tool; the client must accept that answer as well.
    error = await call("thought_plan", is_error=True, plan_description="x", session_id="s", metadata={"n": 2**60})
    assert error["details"]["issues"][0]["path"] == "metadata.n", error
    long = {"plan_description": "x" * (17 << 20), "session_id": "s"}
    if over_http:
        try:
            await client.call_tool("thought_plan", long)
            raise AssertionError("17 MiB were taken")
        except MCPError as error:
            assert "longer than" in str(error), error
    else:
        error = await call("thought_plan", is_error=True, **long)
        assert error["code"] == "TOO_LARGE" and error["details"]["limit"] == 16 << 20, error


async def main():
    mode, *place = sys.argv[1:]
    async with Client(server(place), mode=mode) as client:
        await work(client, is_address(place))
    print("fine")


asyncio.run(main())
