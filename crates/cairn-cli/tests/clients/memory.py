"""Keeps a session's memory through the official Python client: tools, prompts, resources, completion, changes.

Arguments: protocol mode, then the server's command line or address.
"""

import asyncio
import json
import sys
import warnings

from mcp.client import Client
from mcp_types import PromptReference, ResourceTemplateReference, ResourceUpdatedNotification

from place import is_address, server

NODES = ["understand", "think", "act", "reply"]
TREE = "cairn://session/s/tree"
THINK = "cairn://session/s/brief/think"


async def work(client, modern, told, over_http):
    async def call(tool, is_error=False, **arguments):
        result = await client.call_tool(tool, arguments)
        envelope = result.structured_content
        assert bool(result.is_error) == is_error, result
        assert envelope["ok"] is not is_error, envelope
        return envelope["error"] if is_error else envelope["data"]

    error = await call("turn_begin", is_error=True, session_id="s", message="Hello")
    assert error["code"] == "NOT_FOUND" and "session_open" in error["message"], error
    assert (await call("session_open", session_id="s", types=["recipe"]))["created"]
    begun = await call("turn_begin", session_id="s", message="What can I cook?")
    ops = [
        {"op": "read", "type": "recipe", "id": 7, "label": "Soup"},
        {"op": "generate", "type": "recipe", "body": {"title": "Stew"}},
    ]
    changed = await call("entity_apply", session_id="s", ops=ops, expected_seq=begun["seq"])
    assert [result["ref"] for result in changed["results"]] == ["recipe_1", "gen_recipe_1"], changed
    error = await call("entity_apply", is_error=True, session_id="s", ops=ops, expected_seq=begun["seq"])
    assert error["code"] == "CONFLICT" and str(changed["seq"]) in error["message"], error
    await call("turn_step", session_id="s", step={"step_num": 1, "type": "read", "description": "look for soups"})
    await call("turn_note", session_id="s", decision="propose", goal="dinner")
    brief = await call("brief_build", session_id="s", node="think", depth=5, counter=0.3, store=True)
    await call("thought_decision", decision="propose the soup", session_id="s", brief_id=brief["brief_id"])
    assert (await call("brief_verify", brief_id=brief["brief_id"]))["valid"]
    error = await call("brief_build", is_error=True, session_id="s", node="think", budget=2)
    assert error["code"] == "BUDGET_TOO_SMALL" and error["details"]["item"], error
    await call("turn_end", session_id="s", reply="How about soup?")

    prompts = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == NODES + ["record-decision"], prompts
    built = await call("brief_build", session_id="s", node="reply", task="Answer.", budget=4000)
    prompt = await client.get_prompt("reply", {"session_id": "s", "task": "Answer.", "budget": "4000"})
    assert prompt.messages[0].role == "user" and prompt.messages[0].content.text == built["text"], prompt
    assert prompt.meta["hash"] == built["hash"], prompt
    guide = await client.get_prompt("record-decision", {"session_id": "s"})
    assert "thought_decision" in guide.messages[0].content.text, guide
    try:
        await client.get_prompt("think", {"session_id": "nowhere"})
        raise AssertionError("an unknown session was accepted")
    except Exception as error:
        assert "no session `nowhere`" in str(error), error

    templates = (await client.list_resource_templates()).resource_templates
    assert len(templates) == 7, templates
    resources = (await client.list_resources()).resources
    assert resources[0].uri == TREE, resources
    tree = json.loads((await client.read_resource(TREE)).contents[0].text)
    assert tree["tree"][0]["content"] == "propose the soup", tree
    text = (await client.read_resource(THINK)).contents[0]
    assert text.mime_type == "text/markdown" and "Soup" in text.text, text
    kept = json.loads((await client.read_resource(f"cairn://brief/{brief['brief_id']}")).contents[0].text)
    assert kept["hash"] == brief["hash"], kept

    async def complete(reference, name, value, **context):
        argument = {"name": name, "value": value}
        return (await client.complete(reference, argument, context or None)).completion.values

    think = PromptReference(name="think")
    assert await complete(think, "session_id", "") == ["s"]
    assert await complete(think, "turn", "", session_id="s") == ["1"]
    node = ResourceTemplateReference(uri="cairn://session/{id}/brief/{node}")
    assert await complete(node, "node", "") == NODES

    record = {"analysis": "soup takes an hour", "session_id": "s"}
    if modern:
        async with client.listen(resource_subscriptions=[TREE]) as changes:
            await call("thought_analysis", **record)
            event = await asyncio.wait_for(anext(aiter(changes)), 60)
            assert event.uri == TREE, event
    elif over_http:
        assert not client.server_capabilities.resources.subscribe
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await client.subscribe_resource(TREE)
            await call("thought_analysis", **record)
            assert await asyncio.wait_for(told.get(), 60) == TREE
            await client.unsubscribe_resource(TREE)


async def main():
    mode, *place = sys.argv[1:]
    told = asyncio.Queue()

    async def note(message):
        if isinstance(message, ResourceUpdatedNotification):
            await told.put(message.params.uri)

    async with Client(server(place), mode=mode, message_handler=note) as client:
        await work(client, mode != "legacy", told, is_address(place))
    print("fine")


asyncio.run(main())
