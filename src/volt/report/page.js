// Fills the page from its data, section by section.
"use strict";

(() => {
  const { data, say, views } = VoltPage;
  const sections = [VoltAnswer, VoltSizes, VoltTokens, VoltVocabulary, VoltFiles, VoltPlayground, VoltOther, VoltPaper];
  async function drawAll() {
    for (const one of sections) if (one.draw) await one.draw();
  }
  for (const one of sections) one.section();
  say("footer", `Made by volt ${data.version}. This page is one file, works without a network and sends nothing.`);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const { choice, moveMarker, rows } = VoltSizes;
  const { table } = VoltVocabulary;
  const { tokens } = VoltTokens;
  window.voltReport = { choice, data, encoders: VoltPlayground.encoders, other: VoltOther, moveMarker, rows, table, tokens, views, ready: drawAll() };
})();
