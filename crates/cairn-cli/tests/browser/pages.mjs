// Every kind of page, with something on it.

import { encode, known, session, thought, twin } from "./harness.mjs";

const [from, to] = known.contexts;

/** Name and path of each; `main` are those that are looked at in every way. */
export const pages = [
  { name: "home", path: "/", main: true },
  { name: "connect", path: "/connect" },
  { name: "session", path: session(known.demo), main: true },
  { name: "session-long", path: session(known.long) },
  { name: "session-decisions", path: `${session(known.long)}?type=decision` },
  { name: "session-memory", path: session(known.memory) },
  { name: "thought", path: thought(known.decision), main: true },
  { name: "thought-redacted", path: thought(known.redacted) },
  { name: "thought-deep", path: thought(known.long_last) },
  { name: "action", path: `/actions/${known.demo_action}` },
  { name: "search", path: "/search?q=prices", main: true },
  { name: "search-nothing", path: "/search?q=zanzibar" },
  { name: "search-refused", path: "/search?q=%22%22" },
  { name: "roadmaps", path: "/roadmaps", main: true },
  { name: "roadmap", path: "/roadmaps/dinner", main: true },
  { name: "context", path: `/contexts/${from}` },
  { name: "compare", path: `/compare?from=${from}&to=${to}`, main: true },
  { name: "turns", path: `${session(known.memory)}/turns`, main: true },
  { name: "turn", path: `${session(known.memory)}/turns/2`, main: true },
  { name: "turn-budget", path: `${session(known.memory)}/turns/3?budget=150` },
  { name: "brief", path: `/briefs/${known.brief}`, main: true },
  { name: "log", path: "/log", main: true },
  { name: "log-entry", path: "/log/5" },
  { name: "integrity", path: "/integrity", main: true },
];

/** Pages that show what is hostile. */
export async function hostilePages() {
  const roadmap = known.hostile_roadmap;
  const { contexts } = await twin(`/roadmaps/${roadmap}`);
  const ids = contexts.map((context) => context.context_id);
  const here = session(known.hostile);
  const { list } = await twin(`${here}?type=analysis`);
  const acted = list.thoughts.filter((one) => one.action_id !== null).slice(0, 2);
  const briefed = list.thoughts.filter((one) => one.brief_id !== null).slice(0, 2);
  const { thought: one } = await twin(thought(briefed[0].id));
  const asked = (markup) => `/search?q=${encodeURIComponent(`"${markup}`)}&session=${encodeURIComponent(markup)}`;
  return [
    here, `${here}?type=plan`, `${here}/turns`, `${here}/turns/1`, `${here}/turns/3`,
    session(`${known.hostile}.json`), ...known.hostile_markup.map(session),
    ...[...acted, ...briefed].map(({ id }) => thought(id)),
    ...acted.map(({ action_id }) => `/actions/${encode(action_id)}`),
    ...briefed.map(({ brief_id }) => `/briefs/${brief_id}`),
    // The thought, its brief, and what came before them in the memory.
    ...[0, 1, 2].map((back) => `/log/${one.seq - back}`),
    `/roadmaps/${roadmap}`, ...ids.map((id) => `/contexts/${id}`),
    `/compare?from=${Math.min(...ids)}&to=${Math.max(...ids)}`,
    ...known.hostile_markup.map(asked), "/search?q=owned", "/search?q=%E2%80%AEnimda%0D%1B",
  ];
}
