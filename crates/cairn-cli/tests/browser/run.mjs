// Looks at every claim about the viewer. The only argument: where it is, and what is recorded, as JSON.

import { lookAtAll } from "./harness.mjs";

// Those that take longest first, so that none is left alone at the end.
const about = ["looks", "crawl", "attack", "reading", "plans", "memory", "live", "sign_in", "keyboard", "hostile", "pictures"];
for (const name of about) await import(`./${name}.mjs`);
if (await lookAtAll()) console.log("fine");
else process.exitCode = 1;
