// Opening, searching, expanding, and following a record to its proof and to its brief.

import assert from "node:assert/strict";
import { claim, encode, known, session, thought, twin, until, visit } from "./harness.mjs";

claim("the first page lists the sessions and leads to each", async ({ open }) => {
  const page = await open("/");
  const listed = () => page.locator("li.session h3 a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  // Others record meanwhile, and the page follows.
  await until(async () => {
    const { sessions } = await twin("/");
    return String(await listed()) === String(sessions.map((one) => session(one.session_id)));
  }, "the page lists what there is");
  assert.ok((await listed()).length >= 16);
  await page.locator("li.session h3").getByRole("link", { name: known.demo, exact: true }).click();
  await page.getByRole("heading", { level: 1, name: known.demo }).waitFor();
});

claim("the badge says that everything verifies", async ({ open }) => {
  const page = await open("/");
  await until(async () => (await page.locator("#badge").getAttribute("class")).includes("verified"), "a green badge");
  const { status } = await twin("/");
  assert.match(await page.locator("#badge").innerText(), /Verified [\d,  ]+ entries/);
  assert.ok(status.entries > 2000);
});

claim("a search finds what was recorded, and marks the words in it", async ({ open }) => {
  const page = await open("/");
  await page.getByRole("searchbox", { name: "Search what was recorded" }).fill("needle7x42");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/search?q=needle7x42");
  const hits = page.locator("main ul.list > li");
  assert.equal(await hits.count(), 1);
  assert.deepEqual(await hits.locator("mark").allInnerTexts(), ["needle7x42"]);
  await hits.locator("a.words").click();
  await page.waitForURL("**/thoughts/*");
  assert.equal(await page.locator("#content").innerText(), "branch 7, step 42: needle7x42");
});

claim("a search can be narrowed to a type and a session, and says when there is nothing", async ({ open }) => {
  const page = await open("/search?q=step");
  await page.locator("main").getByLabel("Type").selectOption("decision");
  await page.locator("main").getByLabel("Session").fill(known.long);
  await page.locator("main").getByRole("button", { name: "Search" }).click();
  await page.waitForURL("**type=decision**");
  const kinds = await page.locator("main ul.list .kind").allInnerTexts();
  assert.ok(kinds.length > 0 && kinds.every((kind) => kind === "decision"), kinds.join());
  await visit(page, "/search?q=zanzibar");
  assert.match(await page.locator("main").innerText(), /Nothing matches/);
});

claim("a session shows its tree, in which a path that was given up can be folded away", async ({ open }) => {
  const page = await open(session(known.demo));
  const steps = page.locator("[data-part=tree] li.step");
  assert.equal(await steps.count(), 9);
  const path = page.locator("details.abandoned");
  const inside = path.getByText("Option A: cache prices");
  assert.ok(await inside.isVisible());
  await path.locator("summary").click();
  assert.ok(!(await inside.isVisible()));
});

claim("what is too long for one page is opened where it was cut, down to the last thought", async ({ open }) => {
  const page = await open(session(known.long));
  const seen = new Set();
  const note = async () => {
    const shown = await page.locator("[data-part=tree] a.words").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    shown.forEach((one) => seen.add(one));
    return seen.size;
  };
  const first = await note();
  assert.ok(first < known.long_count, "the whole session came at once");
  const cut = page.locator("[data-part=tree] .elsewhere a", { hasText: /more thoughts? →/ }).first();
  const [, more] = (await cut.innerText()).match(/^([\d,]+) more/);
  await cut.click();
  await page.waitForURL(/[?&](from|after)=/);
  assert.ok((await note()) > first, "nothing new was shown");
  assert.ok(Number(more.replace(/\D/g, "")) > 0);
  // The newest are one step away, however long the session is.
  await visit(page, session(known.long));
  await page.getByRole("link", { name: "To the newest thoughts" }).click();
  await page.waitForURL(/[?&](from|after)=/);
  const hrefs = await page.locator("[data-part=tree] a.words").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.ok(hrefs.includes(thought(known.long_last)), "the newest thought is not there");
});

claim("a record leads to its proof, which the browser itself checks", async ({ open }) => {
  const page = await open(session(known.demo));
  await page.locator("[data-part=tree] a.words", { hasText: "Take B: one query" }).click();
  await page.waitForURL("**/thoughts/*");
  const proof = page.locator("#proof");
  await proof.locator(".verdict").waitFor();
  assert.equal(await proof.locator(".verdict").innerText(), "Checked by this browser: all of it holds.");
  const signs = await proof.locator(".checks li").allInnerTexts();
  assert.ok(signs.length >= 7 && signs.every((sign) => sign.startsWith("✓")), signs.join("\n"));
});

// Each changes one thing that the server says about a record, as a server that lies would.
const lies = {
  "the text": (data) => (data.thought.content += "!"),
  "the author": (data) => (data.thought.agent_id = "someone-else"),
  "the time": (data) => (data.thought.timestamp = data.thought.timestamp.replace(/^2/, "1")),
  "the plan it names": (data) => (data.thought.context_id = 2),
  "the entry": (data) => (data.proof.leaf = data.proof.leaf.replace("decision", "analysis")),
  "the path": (data) => (data.proof.proof[0] = "00".repeat(32)),
  "a shorter path": (data) => data.proof.proof.pop(),
  "the checkpoint": (data) =>
    (data.proof.checkpoint.note = data.proof.checkpoint.note.replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 1}\n`)),
  "the signature": (data) => (data.proof.checkpoint.note = data.proof.checkpoint.note.replace(/.{6}\n$/, "AAAA==\n")),
};

claim("a proof in which anything was changed does not hold", async ({ open }) => {
  const demo = await twin(session(known.demo));
  const decision = demo.decisions.at(-1).id;
  const page = await open(thought(decision));
  for (const [what, lie] of Object.entries(lies)) {
    await page.route(`**/thoughts/${encode(decision)}.json`, async (route) => {
      const reply = await route.fetch();
      const data = await reply.json();
      const before = JSON.stringify(data);
      lie(data);
      assert.notEqual(JSON.stringify(data), before, `nothing was changed in ${what}`);
      await route.fulfill({ response: reply, json: data });
    });
    await page.reload();
    await page.locator("#proof .verdict").waitFor();
    assert.equal(await page.locator("#proof .verdict").innerText(), "This proof does not hold.", what);
    assert.ok((await page.locator("#proof .checks li.bad", { hasText: "✗" }).count()) > 0, what);
    await page.unroute(`**/thoughts/${encode(decision)}.json`);
  }
});

claim("a record leads to its brief: what did it see?", async ({ open }) => {
  const page = await open(thought(known.decision));
  const saw = page.locator("section", { has: page.getByRole("heading", { name: "What did it see?" }) });
  await saw.getByText("Show the brief").click();
  const text = saw.locator("pre");
  assert.match(await text.innerText(), /Nora does not eat dairy/);
  assert.doesNotMatch(await text.innerText(), /Save it, and tell me/, "it saw what came later");
  await saw.getByRole("link", { name: /^brief/ }).click();
  await page.waitForURL(`**/briefs/${known.brief}`);
  const said = await page.locator("main").innerText();
  assert.match(said, /It verifies/);
  assert.match(said, /Nora does not eat dairy/);
  await page.locator("main .thoughts a").first().click();
  await page.waitForURL(`**${thought(known.decision)}`);
});

claim("an action leads to the reasons for it", async ({ open }) => {
  const page = await open(session(known.demo));
  await page.getByRole("link", { name: `→ ${known.demo_action}` }).first().click();
  await page.waitForURL(`**/actions/${encode(known.demo_action)}`);
  const said = await page.locator("main").innerText();
  for (const words of ["find the cause first", "212 queries", "Option B", "Take B"]) assert.ok(said.includes(words), words);
  assert.ok(!said.includes("Option A"), "a path that did not lead there is shown");
});

claim("a redacted text is gone, and by whom and why is shown", async ({ open }) => {
  const page = await open(thought(known.redacted));
  const said = await page.locator("main").innerText();
  assert.match(said, /Redacted by ada/);
  assert.match(said, /asked for by the customer/);
  assert.ok(!(await page.content()).includes("Jane Doe"));
});

claim("what does not exist is a page that says so", { expected: [/404/] }, async ({ open }) => {
  for (const path of ["/nowhere", session("no such session"), thought("none"), "/contexts/99999", "/briefs/none"]) {
    const page = await open(path, 404);
    assert.ok((await page.getByRole("heading", { level: 1 }).innerText()).length > 0);
    assert.ok((await page.locator(".hint").count()) > 0, `${path}: no hint`);
    await page.close();
  }
});
