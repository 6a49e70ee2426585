// Everything can be reached without a mouse.

import assert from "node:assert/strict";
import { claim, known, session } from "./harness.mjs";

const focused = (page) =>
  page.evaluate(() => {
    const at = document.activeElement;
    const place = ["header nav", "header [role=search]", "header", "main", "footer"].find((area) => at.closest(area)) ?? "";
    return { place, words: (at.getAttribute("aria-label") ?? at.textContent).trim(), href: at.getAttribute("href") };
  });

claim("tab goes from the way past everything over pages, search and badge to the content", async ({ open }) => {
  const page = await open(session(known.demo));
  const order = [];
  for (let at = 0; at < 12; at += 1) {
    await page.keyboard.press("Tab");
    order.push(await focused(page));
  }
  assert.equal(order[0].href, "#main", "the first is not the way past");
  const at = (place) => order.findIndex((one) => one.place === place);
  assert.ok(at("header nav") > 0 && at("header nav") < at("header [role=search]"), JSON.stringify(order));
  assert.ok(at("header [role=search]") < at("main"), JSON.stringify(order));
  assert.ok(order.some((one) => one.href === "/integrity"), "the badge is not reached");
});

claim("the way past the top is seen when it has the focus, and works", async ({ open }) => {
  const page = await open("/");
  const skip = page.locator("a.skip").first();
  await page.keyboard.press("Tab");
  const box = await skip.boundingBox();
  assert.ok(box.x >= 0 && box.y >= 0, "it is not on the screen");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.keyboard.press("Tab");
  assert.equal((await focused(page)).place, "main");
});

claim("a folded path opens by keyboard", async ({ open }) => {
  const page = await open(session(known.demo));
  const summary = page.locator("details.abandoned summary").first();
  await summary.focus();
  const before = await page.locator("details.abandoned").first().evaluate((details) => details.open);
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("details.abandoned").first().evaluate((details) => details.open), !before);
});
