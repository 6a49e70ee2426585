// Adds a button to everything that is meant to be copied.
(() => {
  "use strict";
  if (!navigator.clipboard) return;

  function add() {
    for (const figure of document.querySelectorAll(".copyable:not(:has(button))")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet copy";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(figure.querySelector("pre").textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      figure.append(button);
    }
  }

  add();
  document.addEventListener("refreshed", add);
})();
