// Roadmaps, their snapshots, and two of them compared.

import assert from "node:assert/strict";
import { claim, known } from "./harness.mjs";

const [from, to] = known.contexts;

claim("two snapshots are compared as a picture and in words", async ({ open }) => {
  const page = await open("/roadmaps");
  await page.getByRole("link", { name: "Dinner for five" }).click();
  await page.waitForURL("**/roadmaps/dinner");
  await page.locator("select[name=from]").selectOption(String(from));
  await page.locator("select[name=to]").selectOption(String(to));
  await page.getByRole("button", { name: "Compare" }).click();
  await page.waitForURL(`**/compare?from=${from}&to=${to}`);

  const drawn = (mark) => page.locator(`svg.cairn-plan a .node.${mark}`);
  assert.match(await drawn("added").locator("title").textContent(), /^salad: Make a salad/);
  assert.match(await drawn("removed").locator("title").textContent(), /^bread: Bake bread/);
  assert.match((await drawn("changed").locator("title").allTextContents()).join(), /shop: Buy vegetables and bread/);
  // Not by colour alone.
  assert.equal(await drawn("added").locator(".sign").textContent(), "+");
  assert.equal(await drawn("removed").locator(".sign").textContent(), "−");

  const told = (mark) => page.locator(`.differences > li.${mark}`);
  assert.match(await told("added").first().innerText(), /Make a salad/);
  assert.match(await told("removed").first().innerText(), /Bake bread/);
  const label = told("modified").filter({ hasText: "Buy vegetables" });
  assert.match(await label.locator("del").innerText(), /Buy vegetables$/);
  assert.match(await label.locator("ins").innerText(), /Buy vegetables and bread$/);
  assert.match(await page.locator("main").innerText(), /Dinner for four[\s\S]*Dinner for five/);
});

claim("a node of the picture leads to its description", async ({ open }) => {
  const page = await open("/roadmaps/dinner");
  await page.locator("svg.cairn-plan a", { has: page.locator("title", { hasText: /^salad/ }) }).click();
  await page.waitForURL(/\/contexts\/\d+#node-\d+$/);
  const place = page.locator(`[id="${new URL(page.url()).hash.slice(1)}"]`);
  assert.match(await place.innerText(), /Make a salad/);
});

claim("a decision on a plan that changed since is named on the plan's page", async ({ open }) => {
  const page = await open("/roadmaps/dinner");
  const drift = page.locator("#drift");
  assert.match(await drift.innerText(), /rests on snapshot/);
  assert.equal(await drift.locator(`a[href="/thoughts/${known.decision}"]`).count(), 1);
});
