// Somebody changes the database behind the server's back.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { claim, told, until, visit } from "./harness.mjs";
import { take } from "./pictures.mjs";

// As an attacker with the file would do it: the triggers that refuse it are dropped and put back.
const EDIT = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30)
triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
for name, _ in triggers:
    db.execute(f'DROP TRIGGER "{name}"')
changed = db.execute("UPDATE thought SET content = replace(content, '0.8 s', '0.2 s') WHERE content LIKE '%4.1 s to 0.8 s%'").rowcount
for _, sql in triggers:
    db.execute(sql)
db.commit()
print(changed)
`;

claim("a change behind the server's back turns the badge red and is named", { baseURL: told.attacked }, async ({ open }) => {
  const page = await open("/integrity");
  const badge = page.locator("#badge");
  const state = async (word) => (await badge.getAttribute("class")).split(" ").includes(word);
  await until(() => state("verified"), "verified before");
  const home = await open("/");
  assert.equal(execFileSync("python3", ["-c", EDIT, told.attacked_database], { encoding: "utf8" }).trim(), "1");
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
  await visit(page, records[0]);
  assert.match(await page.locator("#content").innerText(), /0\.2 s/);
  await page.locator("#proof .verdict").waitFor();
  assert.equal(await page.locator("#proof .verdict").innerText(), "This proof does not hold.");
  await take(page, "thought-changed-light");
});
