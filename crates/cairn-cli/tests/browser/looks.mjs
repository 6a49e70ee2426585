// Light and dark, wide and narrow, with and without scripts, and for those who listen to a page.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, claim, visit } from "./harness.mjs";
import { pages } from "./pages.mjs";

/** Runs in the page: texts whose contrast to what is behind them is below what WCAG 2.2 asks for (AA). */
function faintTexts() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (value) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = value;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return { r, g, b, a: a / 255 };
  };
  const over = (top, below) => {
    const mix = (name) => top[name] * top.a + below[name] * (1 - top.a);
    return { r: mix("r"), g: mix("g"), b: mix("b"), a: 1 };
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const layer = colour(getComputedStyle(at).backgroundColor);
      layers.push(layer);
      if (layer.a === 1) break;
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((below, top) => over(top, below), dark ? { r: 18, g: 18, b: 18, a: 1 } : { r: 255, g: 255, b: 255, a: 1 });
  };
  const light = ({ r, g, b }) => {
    const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let looked = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest("svg, .visually-hidden, .skip, option")) continue;
    const style = getComputedStyle(element);
    let back = behind(element);
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const ink = colour(style.color);
    const front = over({ ...ink, a: ink.a * opacity }, back);
    const [high, low] = [light(front), light(back)].sort((one, other) => other - one);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    looked += 1;
    if (ratio < (large ? 3 : 4.5)) {
      const name = `${element.tagName.toLowerCase()}.${[...element.classList].join(".")}`;
      found.push(`${ratio.toFixed(2)} ${name} in ${element.parentElement.className}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
    }
  }
  // The words in a picture stand on the boxes that are drawn before them.
  for (const node of document.querySelectorAll("svg.cairn-plan .node")) {
    const box = colour(getComputedStyle(node.querySelector("rect")).fill);
    const paper = behind(node.closest("svg").parentElement);
    for (const text of node.querySelectorAll("text.label, text.id")) {
      const [high, low] = [light(colour(getComputedStyle(text).fill)), light(over(box, paper))].sort((one, other) => other - one);
      looked += 1;
      if ((high + 0.05) / (low + 0.05) < 4.5) found.push(`${((high + 0.05) / (low + 0.05)).toFixed(2)} in the picture: ${text.textContent}`);
    }
  }
  return { looked, found: [...new Set(found)] };
}

/** Runs in the page: what a screen reader would stumble over. */
function stumbles() {
  const found = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const name = (element) => {
    const named = element.getAttribute("aria-labelledby")?.split(" ").map((id) => document.getElementById(id)?.textContent).join(" ");
    const inside = [...element.querySelectorAll("img[alt], svg[aria-label]")].map((image) => image.alt ?? image.getAttribute("aria-label")).join(" ");
    return (element.getAttribute("aria-label") ?? named ?? `${element.textContent} ${inside} ${element.title ?? ""}`).trim();
  };
  if (document.documentElement.lang !== "en") found.push("the page's language is not named");
  if (!document.querySelector("meta[name=viewport][content*='width=device-width']")) found.push("no width for phones");
  if (!document.title.endsWith("· Cairn") || document.title.length < 9) found.push(`title: ${document.title}`);
  if (all("h1").length !== 1) found.push(`${all("h1").length} headings of the first level`);
  if (!all("h1")[0]?.textContent.trim()) found.push("the first heading is empty");
  for (const landmark of ["header", "main", "footer", "nav", "[role=search]"]) {
    if (all(landmark).length === 0) found.push(`no ${landmark}`);
  }
  if (all("main").length !== 1) found.push("not one main");
  const navs = all("nav").map((nav) => nav.getAttribute("aria-label"));
  if (navs.some((label) => !label)) found.push("a nav without a name");
  let level = 0;
  for (const heading of all("main h1, main h2, main h3, main h4, main h5")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) found.push(`heading "${heading.textContent.slice(0, 30)}" skips from level ${level} to ${next}`);
    level = next;
  }
  for (const input of all("input:not([type=hidden]), select, textarea")) {
    const label = input.getAttribute("aria-label") ?? [...(input.labels ?? [])].map((label) => label.textContent).join(" ");
    if (!label.trim()) found.push(`${input.name}: an input without a label`);
  }
  for (const image of all("img")) if (image.getAttribute("alt") === null) found.push(`${image.src}: no alt`);
  for (const svg of all("svg")) {
    if (!svg.getAttribute("aria-label") && svg.getAttribute("aria-hidden") !== "true") found.push("a picture without a name");
  }
  for (const link of all("a[href], button, summary")) if (!name(link)) found.push(`${link.outerHTML.slice(0, 80)}: no words`);
  const ids = all("[id]").map((element) => element.id);
  for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) found.push(`the id ${id} stands twice`);
  for (const list of all("ul > *, ol > *")) if (list.tagName !== "LI") found.push(`${list.tagName} in a list`);
  for (const row of all("table")) if (!row.querySelector("th")) found.push("a table without headings");
  for (const scrolls of all("main pre, main .scroll, main .picture")) {
    if (scrolls.scrollWidth > scrolls.clientWidth && scrolls.tabIndex < 0) found.push(`${scrolls.className} scrolls, but not by keyboard`);
  }
  return found;
}

/** Runs in the page: whether it is wider than the screen, and through what. */
function tooWide() {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return [];
  const beyond = [...document.querySelectorAll("body *")].filter(
    (element) => element.getBoundingClientRect().right > room + 1 && !element.closest(".picture, .scroll, pre, .skip"),
  );
  return beyond.slice(0, 4).map((element) => `${element.tagName.toLowerCase()}.${element.className} of ${element.parentElement.className}`);
}

/** Runs in the page, after a key was pressed: what has the focus and does not show it. */
function unseenFocus() {
  const look = (element) => {
    const { outlineStyle, outlineWidth, stroke, strokeWidth } = getComputedStyle(element);
    return [outlineStyle === "none" ? 0 : outlineWidth, stroke, strokeWidth].join();
  };
  const found = [];
  for (const element of [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")].slice(0, 80)) {
    if (!element.checkVisibility()) continue;
    const shows = element.matches("svg a") ? element.querySelector("rect") : element;
    document.activeElement.blur();
    const before = look(shows);
    element.focus();
    if (document.activeElement !== element) found.push(`cannot have the focus: ${element.outerHTML.slice(0, 80)}`);
    else if (look(shows) === before) found.push(`does not show the focus: ${element.outerHTML.slice(0, 80)}`);
  }
  return [...new Set(found)];
}

/** Runs in the page. */
function brightness() {
  const [r, g, b] = getComputedStyle(document.documentElement).backgroundColor.match(/[\d.]+/g).map(Number);
  return (r + g + b) / 3;
}

claim("every page can be read in light and dark, fits a phone, can be heard, and shows where the focus is", async ({ open }) => {
  const page = await open("/");
  const found = [];
  for (const { name, path } of pages) {
    await visit(page, path);
    const note = (what) => found.push(`${name}: ${what}`);
    (await page.evaluate(stumbles)).forEach(note);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const paper = await page.evaluate(brightness);
      if (colorScheme === "dark" ? paper > 60 : paper < 200) note(`in ${colorScheme} colours its brightness is ${paper}`);
      const { looked, found: faint } = await page.evaluate(faintTexts);
      if (looked < 5) note(`only ${looked} texts were looked at`);
      faint.forEach((text) => note(`in ${colorScheme} colours too faint: ${text}`));
    }
    await page.keyboard.press("Tab");
    (await page.evaluate(unseenFocus)).forEach(note);
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(PHONE);
    (await page.evaluate(tooWide)).forEach((what) => note(`wider than a phone: ${what}`));
    await page.setViewportSize(DESKTOP);
  }
  assert.deepEqual(found, []);
});

claim("without scripts every page shows the same", { javaScriptEnabled: false }, async ({ open }) => {
  const page = await open("/");
  for (const { name, path } of pages) {
    await visit(page, path);
    const said = await page.locator("main").innerText();
    assert.ok(said.length > 60, `${name}: ${said}`);
    assert.ok(await page.locator("#badge").isVisible(), name);
  }
  await visit(page, pages.find(({ name }) => name === "thought").path);
  assert.match(await page.locator("#proof").innerText(), /cairn prove/);
});
