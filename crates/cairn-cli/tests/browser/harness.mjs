// Claims about the viewer, each looked at in a browser of its own: fresh cookies, fresh cache, fresh pages. Whatever a
// claim is about, a page that complains (an error, a breach of the content policy, a dialog) breaks it.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

/** Where the servers are, and what is recorded: from the test that starts them. */
export const told = JSON.parse(process.argv[2]);
export const { known } = told;

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };
/** Machines that test are busy: long enough for them, and only waited for if something is wrong. */
export const PATIENCE = 60_000;
/** Claims that are looked at at once. */
const AT_ONCE = 3;

const claims = [];

/**
 * States a claim. `look` gets a page and a function that opens more of them. `settings` are those of a browser context,
 * and `expected`: patterns of complaints that belong to the claim.
 */
export function claim(name, settings, look) {
  claims.push(typeof settings === "function" ? { name, settings: {}, look: settings } : { name, settings, look });
}

/** Waits until `ask` gives something true. */
export async function until(ask, what, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) assert.fail(`did not happen: ${what}`);
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

export const session = (id) => `/sessions/${encode(id)}`;
export const thought = (id) => `/thoughts/${encode(id)}`;

/** As the server writes an id into a path: its dots, too, so that none is taken for that of a JSON twin. */
export function encode(id) {
  return encodeURIComponent(id).replace(/[!'()*.]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The JSON twin of a page. */
export async function twin(path, site = told.site) {
  const [place, query] = path.split("?");
  const address = `${site}${place === "/" ? "/index" : place}.json${query ? `?${query}` : ""}`;
  const reply = await fetch(address);
  assert.equal(reply.status, 200, address);
  return reply.json();
}

async function look(browser, { name, settings, look: looking }) {
  const { expected = [], ...options } = settings;
  const context = await browser.newContext({ viewport: DESKTOP, baseURL: told.site, ...options });
  context.setDefaultTimeout(PATIENCE);
  const complaints = [];
  const complain = (page, what) => {
    if (!expected.some((pattern) => pattern.test(what))) complaints.push(`${page.url()}: ${what}`);
  };
  await context.exposeBinding("breach", ({ page }, what) => complain(page, `content policy: ${what}`));
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      window.breach(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  context.on("page", (page) => {
    page.on("console", (message) => message.type() === "error" && complain(page, `console: ${message.text()}`));
    page.on("pageerror", (error) => complain(page, `script: ${error.message}`));
    page.on("dialog", (dialog) => {
      complain(page, `dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
  });
  try {
    const open = async (path, status = 200) => {
      const page = await context.newPage();
      await visit(page, path, status);
      return page;
    };
    await looking({ context, open });
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** Goes to a page that answers. */
export async function visit(page, path, status = 200) {
  const reply = await page.goto(path, { waitUntil: "load" });
  assert.equal(reply.status(), status, path);
  return reply;
}

/** Looks at every claim, says which do not hold, and returns whether all do. */
export async function lookAtAll() {
  const browser = await chromium.launch({ executablePath: told.chromium, args: FLAGS });
  const chosen = claims.filter(({ name }) => !told.only || told.only.split(",").some((part) => name.includes(part)));
  const waiting = [...chosen];
  let broken = 0;
  async function worker() {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const began = Date.now();
      try {
        await look(browser, next);
        console.log(`holds   ${next.name} (${Date.now() - began} ms)`);
      } catch (error) {
        broken += 1;
        console.log(`BROKEN  ${next.name} (${Date.now() - began} ms)\n${String(error.stack).replace(/^/gm, "        ")}`);
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  await browser.close();
  console.log(`${chosen.length - broken} of ${chosen.length} claims hold`);
  return broken === 0 && chosen.length > 0;
}
