// Works with Cairn through the official TypeScript clients. Arguments: `sdk` (version 1), `client` or
// `client-legacy` (version 2, newest revision or with a handshake), then the server's command line or address.
// The token for an address, if one is needed, is in CAIRN_TEST_TOKEN.

import assert from "node:assert/strict";

const TOOLS = [
  "brief_build", "brief_compare", "brief_get", "brief_verify", "context_compare", "context_create",
  "context_drift", "context_ensure", "context_get", "context_history", "context_latest", "context_search",
  "context_verify", "entity_apply", "entity_get", "log_checkpoint", "log_prove", "log_verify", "roadmap_get", "roadmap_list", "roadmap_register",
  "roadmap_validate", "session_list", "session_open", "session_state", "summary_apply", "thought_analysis",
  "thought_decision", "thought_for_action", "thought_get", "thought_plan", "thought_reasoning_trail",
  "thought_record", "thought_record_list", "thought_reflection", "thought_search", "thought_trail",
  "thought_tree", "thought_verify", "thought_verify_chain", "turn_begin", "turn_end", "turn_note", "turn_step",
];

const [which, command, ...args] = process.argv.slice(2);
const overHttp = command.startsWith("http");
const token = process.env.CAIRN_TEST_TOKEN;
const requestInit = token ? { headers: { Authorization: `Bearer ${token}` } } : undefined;
const client = await connect();

async function connect() {
  const info = { name: `ts-${which}`, version: "1.0.0" };
  if (which === "sdk") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(info);
    await client.connect(transport(StdioClientTransport, StreamableHTTPClientTransport));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = which === "client-legacy" ? "legacy" : "auto";
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(transport(StdioClientTransport, StreamableHTTPClientTransport));
  return client;
}

function transport(Stdio, Http) {
  return overHttp ? new Http(new URL(command), { requestInit }) : new Stdio({ command, args });
}

async function call(name, args, isError = false) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(Boolean(result.isError), isError, JSON.stringify(result));
  const envelope = result.structuredContent;
  assert.equal(envelope.ok, !isError);
  assert.deepEqual(JSON.parse(result.content[0].text), envelope);
  return isError ? envelope.error : envelope.data;
}

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), TOOLS);
assert.ok(tools.every((tool) => tool.outputSchema && tool.annotations.openWorldHint === false));

const plan = await call("thought_plan", { planDescription: "measure the import", sessionId: "s" });
assert.equal(plan.agent_id, `ts-${which}`);
const decision = await call("thought_decision", {
  decision: "batch the inserts: 🚀", session_id: "s", parent_id: plan.id, action_id: "commit-1",
  metadata: { files: ["a.ts"], ratio: 0.5 },
});
assert.equal(decision.prev_hash, plan.hash);

assert.deepEqual((await call("thought_record_list", { session_id: "s" })).records, [plan, decision]);
assert.equal((await call("thought_tree", { session_id: "s" })).tree[0].children[0].id, decision.id);
const verdict = await call("thought_verify", {});
assert.deepEqual([verdict.valid, verdict.records], [true, 2]);
const found = await call("thought_search", { query: "batch" });
assert.equal(found.results[0].snippet, "**batch** the inserts: 🚀");

const error = await call("thought_record", { type: "idea", content: "x", session_id: "s" }, true);
assert.equal(error.code, "INVALID_PARAMS");
assert.equal(error.details.issues[0].path, "type");
assert.match(error.details.issues[0].message, /plan, analysis, decision, reflection/);
// JavaScript can send half a character; nobody can store it.
const half = await call("thought_plan", { plan_description: "a\ud800", session_id: "s" }, true);
assert.equal(half.details.issues[0].path, "plan_description");
// Refused before it reaches the tool; the client must accept that answer as well.
const tooLong = { plan_description: "x".repeat(17 << 20), session_id: "s" };
if (overHttp) {
  await assert.rejects(client.callTool({ name: "thought_plan", arguments: tooLong }), /413|longer than/);
} else {
  const long = await call("thought_plan", tooLong, true);
  assert.deepEqual([long.code, long.details.limit], ["TOO_LARGE", 16 << 20]);
}
await assert.rejects(client.callTool({ name: "thought_plam", arguments: {} }), /did you mean `thought_plan`/);

const { prompts } = await client.listPrompts();
assert.deepEqual(prompts.map((prompt) => prompt.name), ["understand", "think", "act", "reply", "record-decision"]);
await call("session_open", { session_id: "s" });
await call("turn_begin", { session_id: "s", message: "What was decided?" });
const prompt = await client.getPrompt({ name: "think", arguments: { session_id: "s" } });
assert.match(prompt.messages[0].content.text, /What was decided\?/);
const { resources } = await client.listResources();
const tree = await client.readResource({ uri: resources[0].uri });
assert.equal(JSON.parse(tree.contents[0].text).session_id, "s");
assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 7);
const { completion } = await client.complete({
  ref: { type: "ref/resource", uri: "cairn://session/{id}/brief/{node}" }, argument: { name: "node", value: "th" },
});
assert.deepEqual(completion.values, ["think"]);

await client.close();
console.log("fine");
