// Somebody changes the database behind the server's back.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { claim, told, until, visit } from "./harness.mjs";
import { take } from "./pictures.mjs";

claim("a change behind the server's back turns the badge red and is named", { baseURL: told.attacked }, async ({ open }) => {
  const page = await open("/integrity");
  const badge = page.locator("#badge");
  const state = async (word) => (await badge.getAttribute("class")).split(" ").includes(word);
  await until(() => state("verified"), "verified before");
  const home = await open("/");
  const [program, ...args] = told.attacked_database.attack;
  assert.equal(execFileSync(program, args, { encoding: "utf8" }).trim(), "1");
  await page.getByRole("button", { name: /verify now/i }).click();
  await until(() => state("changed"), "the badge turns red");
  assert.match(await badge.innerText(), /Changed: \d+ finding/);
  // The other page learns it without being asked.
  await until(async () => (await home.locator("#badge").getAttribute("class")).includes("changed"), "the badge elsewhere");
  await visit(page, "/integrity");
  await take(page, "integrity-changed-light");
  const said = await page.locator("main").innerText();
  assert.match(said, /content_hash_mismatch/);
  const records = await page.locator('main a[href^="/thoughts/"]').evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.ok(records.length > 0, `no record is named: ${said}`);
  // The record is not shown: it is not what was recorded.
  const reply = await page.request.get(records[0]);
  assert.equal(reply.status(), 500, records[0]);
  const refused = await reply.text();
  assert.match(refused, /is damaged/);
  assert.doesNotMatch(refused, /0\.2 s/);
});
