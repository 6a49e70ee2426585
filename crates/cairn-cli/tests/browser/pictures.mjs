// Pictures of the pages, for people to look at; only if they ask for them.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { PHONE, claim, told, visit } from "./harness.mjs";
import { pages } from "./pages.mjs";

/** Takes a picture of a page, if anybody asked for pictures. */
export async function take(page, name) {
  if (!told.pictures) return;
  const proof = page.locator("[data-proof]");
  if (await proof.count()) await proof.locator(".verdict").waitFor();
  // Of a long page its beginning: what is too long is not looked at.
  const { width } = page.viewportSize();
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  const clip = { x: 0, y: 0, width, height: Math.min(height, Math.max(2000, width * 1.6)) };
  await page.screenshot({ path: join(told.pictures, `${name}.png`), fullPage: true, clip });
}

if (told.pictures) {
  mkdirSync(told.pictures, { recursive: true });
  const ways = [
    { way: "light", settings: {}, which: pages },
    { way: "dark", settings: { colorScheme: "dark" }, which: pages.filter(({ main }) => main) },
    { way: "phone", settings: { viewport: PHONE, isMobile: true, deviceScaleFactor: 2 }, which: pages.filter(({ main }) => main) },
  ];
  for (const { way, settings, which } of ways) {
    claim(`pictures: ${way}`, settings, async ({ open }) => {
      const page = await open("/");
      for (const { name, path } of which) {
        await visit(page, path);
        await take(page, `${name}-${way}`);
      }
    });
  }
  claim("pictures: sign in", { baseURL: told.guarded, expected: [/401/] }, async ({ open }) => {
    const page = await open("/", 401);
    await take(page, "sign-in-light");
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await take(page, "sign-in-wrong-light");
  });
}
