// Keeps a page up to date: reloads its content when the server says that something was recorded.
(() => {
  "use strict";
  const watched = document.body.dataset.live;
  if (!watched || !("EventSource" in window)) return;
  const session = document.body.dataset.session;
  // One request at a time, however much is recorded, and after a slow one a longer pause: pages that are open must not
  // keep the server from its work. What is told meanwhile is looked at afterwards.
  let [waiting, asking, again, pause] = [false, false, false, 200];

  async function refresh() {
    [waiting, asking, again] = [false, true, false];
    const began = Date.now();
    try {
      const reply = await fetch(location.href, { headers: { accept: "text/html" }, credentials: "same-origin" });
      if (reply.ok) show(new DOMParser().parseFromString(await reply.text(), "text/html"));
    } catch {
      // Whoever cannot be reached is asked again when the stream opens again.
    }
    asking = false;
    pause = Math.max(200, 4 * (Date.now() - began));
    if (again) soon();
  }

  function show(page) {
    const [badge, fresh] = [document.getElementById("badge"), page.getElementById("badge")];
    if (badge && fresh && badge.outerHTML !== fresh.outerHTML) exchange(badge, fresh);
    for (const part of document.querySelectorAll("[data-part]")) replacePart(part, page);
  }

  // Puts one element in the place of another; whoever works by keyboard stays where they were.
  function exchange(old, fresh) {
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    old.replaceWith(fresh);
    if (focused) twin(focused, fresh)?.focus({ preventScroll: true });
  }

  // What the reader would take for the same element: the one with its id, the fold of the same part, the same link.
  function twin(element, fresh) {
    if (element.id) return document.getElementById(element.id);
    if (element.matches("summary")) return document.getElementById(element.parentElement.id)?.querySelector("summary");
    const href = element.getAttribute("href");
    return href && fresh.querySelector(`a[href="${CSS.escape(href)}"]`);
  }

  // A part keeps what the reader has opened in it.
  function replacePart(part, page) {
    const fresh = page.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
    if (!fresh || fresh.innerHTML === part.innerHTML) return;
    const open = new Set([...part.querySelectorAll("details[open][id]")].map((d) => d.id));
    const closed = new Set([...part.querySelectorAll("details:not([open])[id]")].map((d) => d.id));
    for (const details of fresh.querySelectorAll("details[id]")) {
      if (open.has(details.id)) details.open = true;
      if (closed.has(details.id)) details.open = false;
    }
    exchange(part, fresh);
    fresh.dispatchEvent(new CustomEvent("refreshed", { bubbles: true }));
  }

  function soon() {
    again = asking;
    if (waiting || asking) return;
    waiting = true;
    setTimeout(refresh, pause);
  }

  const events = new EventSource("/events");
  // What was recorded between the page and the stream is caught by looking once when the stream opens.
  events.addEventListener("open", soon);
  events.addEventListener("missed", soon);
  events.addEventListener("verified", soon);
  events.addEventListener("grew", (event) => {
    const told = JSON.parse(event.data);
    if (watched === "log" || !told.whole || told.sessions.includes(session)) soon();
  });
})();
