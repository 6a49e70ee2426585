// A server that asks for a token.

import assert from "node:assert/strict";
import { claim, known, session, told, visit } from "./harness.mjs";

const guarded = { baseURL: told.guarded, expected: [/status of 401/] };

async function signIn(page, token) {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

claim("without a token nothing is shown but the form", guarded, async ({ open }) => {
  for (const path of ["/", session(known.demo), "/log", "/search?q=prices"]) {
    const page = await open(path, 401);
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    const whole = await page.content();
    assert.ok(!whole.includes("Checkout takes") && !whole.includes("prices always current"), path);
    assert.equal(await page.locator("#badge").count(), 0, "how the log stands is told to strangers");
    await page.close();
  }
  const reply = await fetch(`${told.guarded}/index.json`);
  assert.equal(reply.status, 401);
});

claim("a wrong token stays out and is told so", guarded, async ({ context, open }) => {
  const page = await open("/", 401);
  await signIn(page, "cairn_wrong");
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /token/i);
  assert.deepEqual(await context.cookies(), []);
  await visit(page, "/", 401);
});

claim("a token signs in, leads to the page that was asked for, and is kept where no script reads it", guarded, async ({ context, open }) => {
  const page = await open(session(known.demo), 401);
  await signIn(page, told.token);
  await page.getByRole("heading", { level: 1, name: known.demo }).waitFor();
  assert.equal(new URL(page.url()).pathname, session(known.demo));
  const [cookie, ...others] = await context.cookies();
  assert.equal(others.length, 0);
  assert.equal(cookie.httpOnly, true);
  assert.ok(["Lax", "Strict"].includes(cookie.sameSite), cookie.sameSite);
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  assert.deepEqual(await context.cookies(), []);
  await visit(page, session(known.demo), 401);
});
