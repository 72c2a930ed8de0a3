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
  const SHOWN = {
    size: whole, tokens: whole, residues: whole, tokens_per_word: fixed(3), bytes_per_token: fixed(3), parity: fixed(3),
    bits_per_byte: fixed(4), renyi_efficiency: fixed(4), entropy_per_character: fixed(4), gini: fixed(4),
    single_token_words: percent(1), unused: percent(1), overlap: percent(1), unknown: percent(3), in_bytes: percent(3), partial: percent(3),
  };
  const used = (rows) => data.columns.filter(({ key }) => rows.some((row) => (row[key] ?? null) !== null));
  const columns = used(data.rows);
  const figure = (row, key) => row[key] === null ? "-" : SHOWN[key](row[key]);
  find("headline").textContent = `${data.headline}.`;
  find("lead").textContent = `On ${counted(data.documents, "document")}, ${counted(data.lines, "line")}, ${data.words ? `${whole(data.words)} words between spaces, ` : ""}${whole(data.characters)} characters.`;
  // A row per figure: a few vocabularies fit a narrow window side by side.
  find("rows").tHead.rows[0].append(cell("td", ""), ...data.rows.map((row) => cell("th", row.name, true)));
  const add = (title, cells) => {
    const head = cell("th", title);
    head.scope = "row";
    find("rows").tBodies[0].insertRow().append(head, ...cells.map((text) => cell("td", text, true)));
  };
  for (const { key, name } of columns) add(name, data.rows.map((row) => figure(row, key)));
  add("encoded by", data.rows.map((row) => row.encoded_by));
  for (const { name, meaning } of columns) {
    const term = document.createElement("dt"), definition = document.createElement("dd");
    term.textContent = name;
    definition.textContent = meaning;
    find("meanings").append(term, definition);
  }
  const note = (text) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    find("notes").append(paragraph);
  };
  data.messages.forEach(note);
  if (data.bits_note) note(`${data.bits_note[0].toUpperCase()}${data.bits_note.slice(1)}.`);
  for (const row of data.rows) row.messages.forEach((message) => note(`${row.name}: ${message}`));
  if (data.rows[0].kinds.length) {
    find("kinds").hidden = false;
    const ofKinds = used(data.rows.flatMap((row) => row.kinds));
    find("kind-rows").tHead.rows[0].append(cell("th", "text"), cell("th", "vocabulary"), ...ofKinds.map(({ name }) => cell("th", name, true)));
    data.rows[0].kinds.forEach((kind, i) => {
      for (const row of data.rows) {
        const line = find("kind-rows").tBodies[0].insertRow();
        line.append(cell("td", kind.name), cell("td", row.name), ...ofKinds.map(({ key }) => cell("td", figure(row.kinds[i], key), true)));
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
