// Checks a proof in the browser.
export {};
