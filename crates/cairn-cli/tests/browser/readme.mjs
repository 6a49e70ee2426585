// Makes the pictures of the README: the tree of a session, and what each stage of an agent was told in one turn.
// Arguments: the browser, the program, the folder for the pictures.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { small } from "./png.mjs";

const [, , executablePath, cairn, folder] = process.argv;
const WIDTH = 1280;
/** Everyone who opens the README loads them. */
const MOST_BYTES = 250_000;

const state = mkdtempSync(join(tmpdir(), "cairn-pictures-"));
const server = spawn(cairn, ["demo", "--serve", "--addr", "127.0.0.1:0"], {
  env: { ...process.env, CAIRN_STATE: state },
  stdio: ["ignore", "ignore", "pipe"],
});
const ended = new Promise((resolve) => server.once("exit", resolve));
try {
  let site;
  for await (const line of createInterface({ input: server.stderr })) {
    site = line.match(/^viewer\s+(\S+?)\/$/)?.[1];
    if (site) break;
  }
  if (!site) throw new Error("the server did not start");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-lcd-text", "--font-render-hinting=none"] });
  mkdirSync(folder, { recursive: true });
  // A window as high as the picture: a page that is drawn once is drawn the same every time.
  const take = async (name, path, height) => {
    const page = await browser.newPage({ viewport: { width: WIDTH, height }, deviceScaleFactor: 1.5, baseURL: site });
    await page.goto(path);
    await page.locator("#badge.verified").waitFor();
    const picture = small(await page.screenshot());
    await page.close();
    const file = join(folder, `${name}.png`);
    console.log(`${file}: ${picture.length} bytes`);
    if (picture.length > MOST_BYTES) throw new Error(`${file} would be larger than ${MOST_BYTES} bytes`);
    writeFileSync(file, picture);
  };
  await take("session", "/sessions/slow-checkout", 1120);
  await take("briefs", "/sessions/weekly-menu/turns/2", 1180);
  await browser.close();
} finally {
  server.kill();
  await ended;
  rmSync(state, { recursive: true, force: true });
}
