// What another process records appears without reloading, and takes nothing away from the reader.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { claim, known, session, told } from "./harness.mjs";

/** Records thoughts through `cairn mcp` over stdio, in a process of its own. */
export async function recordElsewhere(thoughts, database = told.database) {
  const server = spawn(told.cairn, [...database.args, "mcp"], {
    env: { ...process.env, CAIRN_STATE: database.state },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const ask = async (method, params) => {
    server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
    return JSON.parse((await answers.next()).value);
  };
  await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "elsewhere", version: "1" } });
  server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const ids = [];
  for (const thought of thoughts) {
    const { result } = await ask("tools/call", { name: "thought_record", arguments: thought });
    assert.equal(result.structuredContent.ok, true, JSON.stringify(result.structuredContent));
    ids.push(result.structuredContent.data.id);
  }
  server.stdin.end();
  await new Promise((ended) => server.once("exit", ended));
  return ids;
}

claim("a thought that another process records over stdio appears while the page stays as it is", async ({ open }) => {
  const page = await open(session(known.live));
  await page.setViewportSize({ width: 800, height: 320 });
  await page.locator("details#legend summary").click();
  await page.evaluate(() => {
    window.sameDocument = true;
    window.scrollTo(0, 150);
  });
  assert.ok((await page.evaluate(() => window.scrollY)) > 50, "the page is too short to scroll");
  // Where the reader sees it: what stands above may change its height, and the browser makes up for that.
  const place = () => page.locator("h1").evaluate((heading) => Math.round(heading.getBoundingClientRect().top));
  const before = await place();
  const content = `recorded meanwhile ${Date.now()}`;
  await recordElsewhere([{ type: "decision", content, session_id: known.live, parent_id: known.live_first }]);
  await page.locator("[data-part=tree]").getByText(content).waitFor();
  assert.equal(await page.evaluate(() => window.sameDocument), true, "the page was reloaded");
  assert.equal(await page.locator("details#legend").evaluate((details) => details.open), true, "what was open was closed");
  assert.equal(await place(), before, "the page moved");
});

claim("a path that the reader folded away stays so", async ({ open }) => {
  const page = await open(session(known.given_up));
  const [path, summary] = [page.locator("details.abandoned"), page.locator("details.abandoned summary")];
  await summary.click();
  await summary.focus();
  const content = `afterthought ${Date.now()}`;
  await recordElsewhere([{ type: "reflection", content, session_id: known.given_up }]);
  await page.locator("[data-part=tree]").getByText(content).waitFor();
  assert.equal(await path.evaluate((details) => details.open), false);
  // And who works by keyboard is still there.
  await page.keyboard.press("Enter");
  assert.equal(await path.evaluate((details) => details.open), true, "the focus was lost");
});

claim("a link keeps the focus while the page follows what is recorded", async ({ open }) => {
  const page = await open(session(known.given_up));
  const link = page.locator("[data-part=tree] a.words", { hasText: "through the valley" });
  await link.focus();
  const content = `looking back ${Date.now()}`;
  await recordElsewhere([{ type: "reflection", content, session_id: known.given_up }]);
  await page.locator("[data-part=tree]").getByText(content).waitFor();
  assert.ok(await link.evaluate((element) => element === document.activeElement), "the focus was lost");
});

claim("a new session appears on the first page", async ({ open }) => {
  const page = await open("/");
  const name = `fresh-${Date.now()}`;
  await recordElsewhere([{ type: "plan", content: "begin", session_id: name }]);
  await page.locator("li.session h3").getByText(name).waitFor();
});

claim("an empty database says how to connect; the first record turns that into the list of sessions", { baseURL: told.empty }, async ({ open }) => {
  const page = await open("/");
  await page.getByRole("heading", { level: 1, name: "Nothing is recorded yet" }).waitFor();
  const said = await page.locator("main").innerText();
  assert.ok(said.includes(`${told.empty}/mcp`), said);
  assert.equal(await page.locator("li.session").count(), 0);
  await recordElsewhere([{ type: "plan", content: "begin", session_id: "first" }], told.empty_database);
  await page.locator("li.session h3").getByText("first").waitFor();
  assert.equal(await page.getByText("Nothing is recorded yet").count(), 0);
});
