// Turns, and what each node was told at each of them.

import assert from "node:assert/strict";
import { PHONE, claim, known, session } from "./harness.mjs";

const NODES = ["understand", "think", "act", "reply"];

async function places(page) {
  const columns = page.locator(".briefs > section");
  assert.equal(await columns.count(), NODES.length);
  const found = [];
  for (const node of NODES) found.push(await page.locator(`.briefs > section[aria-label="${node}"]`).boundingBox());
  return found;
}

claim("the briefs of a turn stand side by side", async ({ open }) => {
  const page = await open(session(known.memory));
  await page.getByRole("link", { name: "Turns and briefs" }).click();
  await page.waitForURL("**/turns");
  await page.locator("main").locator(`a[href="${session(known.memory)}/turns/2"]`).first().click();
  await page.waitForURL("**/turns/2");
  const columns = await places(page);
  for (const [left, right] of [[0, 1], [1, 2], [2, 3]]) {
    assert.equal(columns[left].y, columns[right].y, `${NODES[left]} and ${NODES[right]} do not begin at one height`);
    assert.ok(columns[left].x + columns[left].width <= columns[right].x, `${NODES[left]} reaches into ${NODES[right]}`);
  }
});

claim("on a phone they stand below each other", { viewport: PHONE }, async ({ open }) => {
  const page = await open(`${session(known.memory)}/turns/2`);
  const columns = await places(page);
  for (const [above, below] of [[0, 1], [1, 2], [2, 3]]) {
    assert.ok(columns[above].y + columns[above].height <= columns[below].y, `${NODES[below]} is not below`);
  }
});

claim("a turn shows what was known then, and nothing that came later", async ({ open }) => {
  const page = await open(`${session(known.memory)}/turns/2`);
  const said = await page.locator("main").innerText();
  assert.match(said, /Nora does not eat dairy/);
  assert.match(said, /no dairy/);
  assert.doesNotMatch(said, /Save it, and tell me what to buy/);
  await page.getByRole("link", { name: "Turn 3 →" }).first().click();
  await page.waitForURL("**/turns/3");
  assert.match(await page.locator("main").innerText(), /Save it, and tell me what to buy/);
});

claim("a budget leaves things out and says which", async ({ open }) => {
  const page = await open(`${session(known.memory)}/turns/3`);
  const long = (await page.locator('section[aria-label="understand"] .brief-text').innerText()).length;
  await page.getByLabel("Budget in tokens").fill("150");
  await page.getByRole("button", { name: "Build again" }).click();
  await page.waitForURL("**budget=150**");
  const understand = page.locator('section[aria-label="understand"]');
  assert.match(await understand.locator(".omitted summary").innerText(), /left out for the budget/);
  assert.ok((await understand.locator(".brief-text").innerText()).length < long);
});
