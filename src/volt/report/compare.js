// Fills the page of `volt compare`. Text goes in as text.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const counted = (n, one) => `${whole(n)} ${n === 1 ? one : `${one}s`}`;
  const find = (id) => document.getElementById(id);
  const cell = (tag, text, number) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (number) element.className = "number";
    if (tag === "th") element.scope = "col";
    return element;
  };
  const fixed = (digits) => (n) => n.toFixed(digits);
  const percent = (digits) => (n) => `${(n * 100).toFixed(digits)}%`;
  const whole = (n) => n.toLocaleString("en-US");
  const COLUMNS = [
    ["size", "size", whole], ["tokens", "tokens", whole], ["tokens per word", "tokens_per_word", fixed(3)], ["bytes per token", "bytes_per_token", fixed(3)],
    ["bits per byte", "bits_per_byte", fixed(4)], ["Rényi efficiency", "renyi_efficiency", fixed(4)], ["entropy per character", "entropy_per_character", fixed(4)],
    ["single-token words", "single_token_words", percent(1)], ["unknown", "unknown", percent(3)], ["parts of a character", "partial", percent(3)],
    ["unused", "unused", percent(1)], ["residues", "residues", whole], ["overlap with the first", "overlap", percent(1)],
    ["parity", "parity", fixed(3)], ["Gini", "gini", fixed(4)],
  ].filter(([, key]) => data.rows.some((row) => row[key] !== null));
  const KIND_COLUMNS = [
    ["tokens", "tokens", whole], ["bytes per token", "bytes_per_token", fixed(3)], ["bits per byte", "bits_per_byte", fixed(4)],
    ["unknown", "unknown", percent(3)], ["parts of a character", "partial", percent(3)], ["parity", "parity", fixed(3)],
  ];
  find("lead").textContent = `On ${counted(data.documents, "document")}, ${counted(data.lines, "line")}, ${data.words ? `${whole(data.words)} words between spaces, ` : ""}${whole(data.characters)} characters.`;
  // A row per figure: a few vocabularies fit a narrow window side by side.
  find("rows").tHead.rows[0].append(cell("td", ""), ...data.rows.map((row) => cell("th", row.name, true)));
  for (const [title, key, show] of [...COLUMNS, ["encoded by", "encoded_by", (name) => name]]) {
    const head = cell("th", title);
    head.scope = "row";
    find("rows").tBodies[0].insertRow().append(head, ...data.rows.map((row) => cell("td", row[key] === null ? "-" : show(row[key]), true)));
  }
  const note = (text) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    find("notes").append(paragraph);
  };
  data.messages.forEach(note);
  if (data.rows.some((row) => row.bits_per_byte !== null)) note(`${data.bits_note[0].toUpperCase()}${data.bits_note.slice(1)}.`);
  for (const row of data.rows) row.messages.forEach((message) => note(`${row.name}: ${message}`));
  if (data.rows[0].kinds.length) {
    find("kinds").hidden = false;
    find("kind-rows").tHead.rows[0].append(cell("th", "text"), cell("th", "vocabulary"), ...KIND_COLUMNS.map(([title]) => cell("th", title, true)));
    data.rows[0].kinds.forEach((kind, i) => {
      for (const row of data.rows) {
        const line = find("kind-rows").tBodies[0].insertRow();
        const shown = KIND_COLUMNS.map(([, key, show]) => cell("td", row.kinds[i][key] === null ? "-" : show(row.kinds[i][key]), true));
        line.append(cell("td", kind.name), cell("td", row.name), ...shown);
      }
    });
  }
  const draw = async (id, key, title) => {
    // Text without spaces between words has no figures per word.
    find(id).parentElement.hidden = data.rows.every((row) => row[key] === null);
    if (find(id).parentElement.hidden) return;
    const spec = VoltCharts.files(data.rows.map((row, i) => ({
      label: data.rows.findIndex((one) => one.name === row.name) === i ? row.name : `${row.name} (${i + 1})`,
      value: row[key] ?? 0,
      tip: `${row.name}: ${row[key] ?? "-"}`,
    })), title);
    await vegaEmbed(find(id), spec, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: false, config: VoltCharts.config(),
    });
    VoltCharts.describe(find(id), spec);
  };
  const drawAll = () => Promise.all([
    draw("chart-words", "tokens_per_word", "tokens per word"),
    draw("chart-entropy", "entropy_per_character", "nats per character"),
    draw("chart-renyi", "renyi_efficiency", "efficiency"),
    draw("chart-single", "single_token_words", "share of words"),
  ]);
  find("footer").textContent = `Made by volt ${data.version}. This page is one file, works without a network and sends nothing.`;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  window.voltReport = { data, ready: drawAll() };
})();
