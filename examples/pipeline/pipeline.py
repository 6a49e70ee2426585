"""A pipeline of four nodes that keeps its working memory in Cairn, over MCP.

Arguments: the server's command line, such as `cairn --db dinner.db mcp`. Needs the package `mcp`.

No model takes part. Where one would be asked, each node gets its brief and looks for a word in the message; what
matters here is who records what, and who is told what. `crates/cairn/examples/pipeline.rs` does the same embedded.
"""

import asyncio
import sys

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

SESSION = "dinner"

# What the toy domain has in storage: id, name, minutes, whether it is vegetarian.
RECIPES = [
    ("r1", "Lentil soup", 35, True),
    ("r2", "Shakshuka", 25, True),
    ("r3", "Roast chicken", 80, False),
    ("r4", "Mushroom risotto", 40, True),
]

MESSAGES = [
    "Something vegetarian for tonight, please",
    "A milder soup would be nice. Keep the shakshuka for Sunday",
    "Good, save it",
]


class Pipeline:
    def __init__(self, client):
        self.client = client
        self.briefs = []  # what each node was told in the newest turn
        self.decision = None  # the newest one, whole

    async def call(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        envelope = result.structured_content
        if not envelope["ok"]:
            raise RuntimeError(f"{tool}: {envelope['error']['message']}")
        return envelope["data"]

    async def in_session(self, tool, **arguments):
        return await self.call(tool, session_id=SESSION, **arguments)

    async def turn(self, message):
        self.briefs.clear()
        await self.in_session("turn_begin", message=message)
        intent = await self.understand(message)
        goal = await self.think(intent)
        outcome = await self.act(intent, goal)
        await self.reply(intent, outcome)

    async def understand(self, message):
        """Decides what the user means, and what must be kept in mind."""
        await self.brief("understand")
        if "vegetarian" in message:
            await self.in_session("turn_note", constraints=[{"key": "diet", "value": "vegetarian"}])
        if "Keep the shakshuka" in message:
            ops = [{"op": "retain", "ref": "recipe_2", "reason": "for Sunday"}]
            await self.in_session("entity_apply", ops=ops)
        if "save" in message:
            return "save"
        return "draft" if "milder" in message else "find"

    async def think(self, intent):
        """Plans, and records the plan as a decision that names the brief it was based on."""
        brief = await self.brief("think", store=True)
        goal, phase = {
            "find": ("Find vegetarian recipes", "exploring"),
            "draft": ("Draft a milder lentil soup", "narrowing"),
            "save": ("Save the draft that the user approved", "executing"),
        }[intent]
        await self.in_session("turn_note", decision="plan_direct", goal=goal, phase=phase)
        self.decision = await self.in_session(
            "thought_decision", decision=goal, agent_id="pipeline", brief_id=brief["brief_id"]
        )
        return goal

    async def act(self, intent, goal):
        """Does it, and records what it touched and what came of it."""
        await self.brief("act")
        if intent == "find":
            found = [recipe for recipe in RECIPES if recipe[3]]
            kind, refs = "read", ["recipe_1", "recipe_2", "recipe_3"]
            ops = [
                {"op": "read", "type": "recipe", "id": id, "label": name, "detail": "full",
                 "body": {"name": name, "minutes": minutes}}
                for id, name, minutes, _ in found
            ]
            outcome = "found " + ", ".join(recipe[1] for recipe in found)
        elif intent == "draft":
            kind, refs = "generate", ["recipe_1", "gen_recipe_1"]
            body = {"name": "Mild lentil soup", "minutes": 35, "without": ["chili"]}
            ops = [{"op": "touch", "ref": "recipe_1"}, {"op": "generate", "type": "recipe", "body": body}]
            outcome = "drafted Mild lentil soup"
        else:
            kind, refs = "write", ["gen_recipe_1"]
            ops = [{"op": "create", "type": "recipe", "id": "r5", "from": "gen_recipe_1"}]
            outcome = "saved Mild lentil soup as r5"
        await self.in_session("entity_apply", ops=ops)
        step = {"step_num": 1, "type": kind, "subdomain": "recipes", "description": goal, "outcome": outcome,
                "entities_involved": refs}
        await self.in_session("turn_step", step=step)
        return outcome

    async def reply(self, intent, outcome):
        """Answers."""
        if intent == "draft":
            pending = {"type": "propose", "context": "Save the mild lentil soup?"}
            await self.in_session("turn_note", pending=pending)
        await self.brief("reply")
        await self.in_session("turn_end", reply=f"I {outcome}.")

    async def brief(self, node, store=False):
        """Builds the brief for a node: what a model would be sent."""
        built = await self.in_session("brief_build", node=node, store=store)
        self.briefs.append((node, built["text"]))
        return built

    async def verify(self):
        """Shows that the newest decision rests on a brief that anyone can build again."""
        verdict = await self.call("brief_verify", brief_id=self.decision["brief_id"])
        report = await self.call("thought_verify")
        print("=== verify")
        print(f"the brief behind the newest decision: {verdict['message']}")
        print(f"everything: {'nothing was changed' if report['valid'] else 'something was changed'}")
        return verdict["valid"] and report["valid"]


async def main():
    command, *args = sys.argv[1:]
    async with Client(StdioServerParameters(command=command, args=args)) as client:
        pipeline = Pipeline(client)
        await pipeline.in_session("session_open", types=["recipe"])
        for message in MESSAGES:
            await pipeline.turn(message)
        for node, text in pipeline.briefs:
            print(f"=== {node}\n{text}")
        return await pipeline.verify()


sys.exit(0 if asyncio.run(main()) else 1)
