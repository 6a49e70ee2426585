// From the first page to everything it leads to: every link answers, everything shown is there for programs too, and
// nothing that is recorded becomes more than text.

import assert from "node:assert/strict";
import { claim, told } from "./harness.mjs";
import { signsOfAttack } from "./hostile.mjs";
import { hostilePages, pages } from "./pages.mjs";

/** Pages of one kind that are opened in the browser; all others are only asked whether they answer. */
const OF_A_KIND = 2;
/** The most that are asked. */
const MOST_ASKED = 400;

/** The pages that the server describes: pattern of the path, and what their twins hold. The longest pattern first. */
async function described() {
  const { paths } = await (await fetch(`${told.site}/openapi.json`)).json();
  const kinds = Object.entries(paths).filter(([path]) => path.endsWith(".json"));
  return kinds
    .map(([path, { get }]) => ({
      path,
      members: Object.keys(get.responses["200"].content["application/json"].schema.properties ?? {}),
      pattern: new RegExp(`^${path.replace(/\.json$/, "").replace(/^\/index$/, "/").replace(/\{\w+\}/g, "[^/]+")}$`),
    }))
    .sort((one, other) => other.path.length - one.path.length);
}

/** Runs in the page: where it leads. Whatever would react to a touch is touched. */
function leadsTo() {
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const element of document.querySelectorAll("main *")) element.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  const links = [...document.querySelectorAll("a[href]")];
  const addresses = links.map((link) => new URL(link.getAttribute("href"), document.baseURI));
  return {
    nowhere: links.map((link) => link.getAttribute("href")).filter((href) => href.startsWith("#") && !document.getElementById(href.slice(1))),
    links: addresses.map((address) => address.pathname + address.search),
    said: document.querySelector("main").innerText,
  };
}

async function twinIsWrong(path, { members }) {
  const [place, query] = path.split("?");
  const reply = await fetch(`${told.site}${place === "/" ? "/index" : place}.json${query ? `?${query}` : ""}`);
  if (reply.status !== 200 || reply.headers.get("content-type") !== "application/json") return [`its twin answers ${reply.status}`];
  const data = await reply.json();
  return members.filter((member) => !(member in data)).map((member) => `its twin has no ${member}`);
}

claim("every link answers, every page has its twin, and whatever is hostile stays text", async ({ open }) => {
  const page = await open("/");
  const kinds = await described();
  const kindOf = (path) => kinds.find(({ pattern }) => pattern.test(path.split("?")[0]));
  const hostile = new Set(await hostilePages());
  const waiting = ["/", ...pages.map(({ path }) => path), ...hostile];
  const found = new Set(waiting);
  const [opened, asked, wrong] = [new Map(), [], []];
  let shown = 0;
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const kind = kindOf(path);
    const times = opened.get(kind?.path) ?? 0;
    if (!kind || (times >= OF_A_KIND && !hostile.has(path))) {
      asked.push(path);
      continue;
    }
    opened.set(kind.path, times + 1);
    const note = (what) => wrong.push(`${path}: ${what}`);
    const reply = await page.goto(path, { waitUntil: "domcontentloaded" });
    if (reply.status() !== 200) note(reply.status());
    const { nowhere, links, said } = await page.evaluate(leadsTo);
    (await page.evaluate(signsOfAttack)).forEach(note);
    nowhere.forEach((anchor) => note(`${anchor} is not on the page`));
    for (const link of links.filter((link) => !found.has(link))) {
      found.add(link);
      waiting.push(link);
    }
    (await twinIsWrong(path, kind)).forEach(note);
    if (hostile.has(path) && /onerror|onload|window\.owned|javascript:/.test(said)) shown += 1;
  }
  const rest = asked.slice(0, MOST_ASKED);
  const total = [...opened.values()].reduce((sum, times) => sum + times, rest.length);
  const ask = async () => {
    for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
      const reply = await fetch(told.site + path, { headers: { accept: "text/html" } });
      await reply.arrayBuffer();
      if (reply.status !== 200) wrong.push(`${path}: ${reply.status}`);
    }
  };
  await Promise.all([ask(), ask()]);
  assert.deepEqual(wrong, []);
  for (const { path } of kinds) assert.ok(opened.has(path), `no link leads to ${path}`);
  assert.ok(total > 200, `only ${total} pages were found`);
  assert.ok(shown > hostile.size * 0.7, `only ${shown} of ${hostile.size} pages show anything hostile`);
});
