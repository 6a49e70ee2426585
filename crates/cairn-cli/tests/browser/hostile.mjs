// Whatever is recorded or asked for is shown as text: it becomes no element, runs nothing, leads nowhere else, and
// neither hides nor reorders what stands beside it.

import assert from "node:assert/strict";
import { claim, encode, known, session, told, twin, visit } from "./harness.mjs";

/** Runs in the page: signs that something recorded became more than text. */
export function signsOfAttack() {
  const found = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  if (window.owned !== undefined) found.push("a script ran");
  for (const element of all(".owned, #owned")) found.push(`an element was made: ${element.outerHTML.slice(0, 100)}`);
  for (const script of all("script")) {
    if (!/^\/assets\/[a-z]+\.js$/.test(script.getAttribute("src") ?? "") || script.textContent) found.push("a script that is not ours");
  }
  for (const image of all("img")) if (!image.getAttribute("src").startsWith("/assets/")) found.push(`an image: ${image.outerHTML}`);
  for (const svg of all("svg")) if (!svg.matches(".picture > svg.cairn-plan")) found.push(`an svg: ${svg.outerHTML.slice(0, 100)}`);
  for (const element of all("iframe, object, embed, base, style, form[action^='http'], meta[http-equiv], foreignObject, use, animate, set")) {
    found.push(`an element that no page has: ${element.outerHTML.slice(0, 100)}`);
  }
  for (const element of all("*")) {
    for (const { name } of element.attributes) {
      if (name.startsWith("on") || name === "style" || name === "srcdoc") found.push(`${element.tagName} has ${name}`);
    }
  }
  for (const link of all("[href], [action], [src]")) {
    for (const name of ["href", "action", "src"]) {
      if (!link.hasAttribute(name)) continue;
      const address = new URL(link.getAttribute(name), document.baseURI);
      if (!/^https?:$/.test(address.protocol) || address.host !== location.host) found.push(`leads away: ${link.getAttribute(name)}`);
    }
  }
  // What a person reads, or a program reads to them.
  const read = [document.title, document.documentElement.textContent];
  for (const element of all("[title], [aria-label], [placeholder], [alt], input")) {
    read.push(...["title", "aria-label", "placeholder", "alt"].map((name) => element.getAttribute(name) ?? ""), element.value ?? "");
  }
  const acting = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;
  for (const text of read) {
    const hit = acting.exec(text);
    if (hit) found.push(`U+${hit[0].codePointAt(0).toString(16)} in: ${text.slice(Math.max(0, hit.index - 30), hit.index + 20)}`);
  }
  return [...new Set(found)];
}

claim("a label is shown to the letter, its hidden characters as signs", async ({ open }) => {
  const page = await open(session(known.hostile));
  const heading = await page.getByRole("heading", { level: 1 }).innerText();
  assert.equal(heading, known.hostile.replaceAll("\u202e", "⟨U+202E⟩"));
});

claim("an id that looks like an address is a page of this server", async ({ open }) => {
  const page = await open("/");
  const sessions = [];
  for (let path = "/"; path; ) {
    const data = await twin(path);
    sessions.push(...data.sessions.map((one) => one.session_id));
    path = data.next ? `/?before=${data.next}` : null;
  }
  for (const id of known.hostile_markup) assert.ok(sessions.includes(id), id);
  for (const id of known.hostile_markup.filter((id) => /^(javascript|data):|"/.test(id))) {
    await visit(page, session(id));
    assert.equal(new URL(page.url()).origin, told.site);
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), id);
  }
  // Thoughts that were brought along with ids of their own.
  const { tree } = await twin(session(`${known.hostile}.json`));
  const ids = tree.steps.map((step) => step.id);
  assert.ok(ids.some((id) => id.startsWith("javascript:")), ids.join());
  for (const id of ids.filter((id) => /^(javascript|data):|<img/.test(id))) {
    await visit(page, `/thoughts/${encode(id)}`);
    assert.deepEqual(await page.evaluate(signsOfAttack), []);
    await page.locator("#proof .verdict.good").waitFor();
  }
});

claim("every reply tells the browser to run nothing that stands in a page", async () => {
  for (const path of ["/", session(known.hostile), "/index.json", "/nowhere", "/assets/style.css", "/healthz"]) {
    const { headers } = await fetch(told.site + path, { headers: { accept: "text/html" } });
    const policy = Object.fromEntries(headers.get("content-security-policy").split("; ").map((rule) => [rule.split(" ")[0], rule]));
    assert.equal(policy["default-src"], "default-src 'none'", path);
    assert.equal(policy["script-src"], "script-src 'self'", path);
    assert.equal(policy["style-src"], "style-src 'self'", path);
    assert.equal(policy["base-uri"], "base-uri 'none'", path);
    assert.equal(policy["frame-ancestors"], "frame-ancestors 'none'", path);
    assert.ok(!/unsafe|data:|\*/.test(JSON.stringify(policy)), path);
    assert.equal(headers.get("x-content-type-options"), "nosniff", path);
  }
});
