// Fills the page from its data. Text goes in as text: no HTML is ever made from it.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { Encoder, bpePool, classTable, letterBytes, running, unpack, vocabularyPool } = VoltEncoder;
  const find = (id) => document.getElementById(id);

  // ------------------------------------------------------------------------------ words and figures

  function make(tag, content, attributes = {}) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") element.className = value;
      else if (value !== undefined) element.setAttribute(name, value);
    }
    for (const part of Array.isArray(content) ? content : [content]) {
      if (part !== undefined && part !== null && part !== "") element.append(part);
    }
    return element;
  }
  const whole = (n) => Math.round(n).toLocaleString("en-US");
  const fixed = (n, digits = 2) =>
    n.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const percent = (share) => {
    if (share === 0) return "0%";
    return share < 0.0001 ? `${(share * 100).toExponential(1)}%` : `${fixed(share * 100, share < 0.01 ? 3 : 1)}%`;
  };
  const short = (n) => {
    if (n === null || n === undefined) return "-";
    return n !== 0 && (Math.abs(n) < 1e-3 || Math.abs(n) >= 1e6) ? n.toExponential(3) : String(Number(n.toPrecision(4)));
  };
  const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;
  const figures = (list, entries) => list.replaceChildren(
    ...entries.filter((entry) => entry).map(([name, value, more]) =>
      make("div", [make("dt", name), make("dd", more ? [`${value} `, make("small", more)] : value)])));
  const say = (id, text) => { find(id).textContent = text; };

  // ---------------------------------------------------------------------------------- the vocabulary

  const packed = data.vocabulary;
  const pool = vocabularyPool(packed);
  const tokens = pool.slice(0, packed.size);
  const unit = packed.unit;
  unpack(packed.frequency).forEach((frequency, id) => { tokens[id].frequency = frequency / unit; });
  running(unpack(packed.scaffolds)).forEach((id) => { if (tokens[id]) tokens[id].scaffold = true; });
  running(unpack(packed.unreachable)).forEach((id) => { tokens[id].unreachable = true; });
  const merges = packed.encoding === "merge" || packed.encoding === "split";
  const isText = (token) => ["character", "merged", "piece"].includes(token.kind);
  const decoder = new TextDecoder("utf-8", { fatal: true });

  // What a token stands for, with spaces and what does not print made visible.
  function shown(token) {
    let text = token.text;
    if (isText(token)) {
      if (packed.pretokenizer === "metaspace") text = text.replaceAll("▁", " ");
      else if (packed.mark) text = text.startsWith(packed.mark) ? text : ` ${text}`;
      else if (packed.pretokenizer === "whitespace") text = text.endsWith("</w>") ? text.slice(0, -4) + " " : text;
      else text = fromBytes([...text].map((letter) => letterBytes.get(letter)));
    }
    return visible(text);
  }
  function fromBytes(bytes) {
    try {
      return decoder.decode(new Uint8Array(bytes));
    } catch {
      return bytes.map((b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : `\\x${b.toString(16).padStart(2, "0")}`)).join("");
    }
  }
  const visible = (text) => text.replaceAll(" ", "␣")
    .replace(/[\p{C}\p{Zl}\p{Zp}\p{Zs}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16).toUpperCase()}}`);
  const shownText = (text) => shown({ text, kind: "merged" });

  function lengthOf(token) {
    if (!isText(token)) return 0;
    let text = token.text;
    if (packed.mark) text = text.startsWith(packed.mark) ? text.slice(packed.mark.length) : text;
    else if (packed.pretokenizer === "whitespace" && text.endsWith("</w>")) text = text.slice(0, -4);
    return [...text].length;
  }
  // An excerpt of a very large vocabulary has ids of its own.
  const ids = packed.ids && running(unpack(packed.ids));
  const size = packed.all ?? packed.size;
  tokens.forEach((token, id) => {
    token.id = ids ? ids[id] : id;
    token.shown = shown(token);
    token.length = lengthOf(token);
  });

  // ------------------------------------------------------------------------------------ 1. the answer

  const { corpus, curve, choices: learned } = data;

  function answer() {
    find("answer-title").append(whole(size), " ", make("small", "tokens"));
    const lead = [];
    const chosen = learned && learned.choices.find((one) => one.criterion === learned.criterion);
    if (!learned) {
      lead.push("This vocabulary was not learned here: the folder has no choices.json, so there is nothing to say about its size.");
    } else if (chosen) {
      lead.push(`The criterion ${chosen.criterion} chose ${whole(learned.size)} tokens: ${chosen.meaning}.`);
    } else {
      lead.push(`The size was fixed at ${whole(learned.size)} tokens.`);
    }
    say("answer-lead", lead.join(" "));
    if (chosen && chosen.doubts.length) {
      find("doubts").append(make("div", [
        make("p", make("strong", "The data did not decide this size.")),
        ...chosen.doubts.map((doubt) => make("p", `${doubt[0].toUpperCase()}${doubt.slice(1)}.`)),
      ], { class: "doubt", role: "note" }));
    }
    const kept = tokens.filter((token) => isText(token) && !token.scaffold).length;
    figures(find("figures"), [
      ["learned from the text", whole(kept), data.scaffolds ? `and ${plural(data.scaffolds, "scaffold")}` : ""],
      corpus && ["tokens per word", fixed(corpus.tokens / corpus.spaced_words)],
      corpus && ["bytes per token", fixed(corpus.bytes / corpus.tokens)],
      corpus && ["unknown characters", percent(corpus.unknown_characters / corpus.characters)],
      corpus && corpus.lines > 0 && ["text", plural(corpus.lines, "line"), plural(corpus.words, "word")],
    ]);
    const body = find("criteria").tBodies[0];
    for (const one of learned ? learned.choices : []) {
      const row = make("tr", [
        make("td", one.criterion),
        make("td", one.size === null ? "-" : whole(one.size), { class: "number" }),
        make("td", short(one.value), { class: "number" }),
        make("td", [one.meaning, " ", one.doubts.length ? make("span", "in doubt", { class: "doubted", title: one.doubts.join("; ") }) : ""]),
      ], { class: one.criterion === learned.criterion ? "chosen" : "" });
      body.append(row);
    }
    if (!learned) find("criteria").hidden = true;
    for (const use of data.uses) {
      find("uses").append(make("div", [
        make("strong", use.name), make("code", use.command),
        use.refused ? make("span", use.refused, { class: "refused" }) : make("code", use.then, { class: "then" }),
      ], { class: "use" }));
    }
    say("signature", data.signature || "none");
  }

  // ------------------------------------------------------------------------------------- the charts

  const tip = make("div", "", { id: "tip", hidden: "" });
  document.body.append(tip);
  function showTip(_, event, item, value) {
    if (value === null || value === undefined || value === "") {
      tip.hidden = true;
      return;
    }
    tip.textContent = String(value);
    tip.hidden = false;
    const { innerWidth, innerHeight } = window;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8))}px`;
  }

  const views = {};
  async function draw(id, spec) {
    // `ast`: expressions are interpreted, so that the page needs no eval.
    const result = await vegaEmbed(find(id), spec, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false,
      tooltip: showTip, config: VoltCharts.config(),
    });
    if (views[id]) views[id].finalize();
    views[id] = result.view;
    return result.view;
  }

  // -------------------------------------------------------------------------------------- 2. curve

  const perLine = corpus && corpus.lines > 0;
  const rows = !curve ? [] : curve.size.map((size, i) => {
    const length = perLine ? curve.tokens[i] / unit / corpus.lines : curve.tokens[i] / unit;
    const row = { size, entropy: curve.entropy[i], length };
    row.tip = [`${data.source.name}, ${whole(size)} tokens`, `H ${row.entropy.toFixed(5)}`,
      perLine ? `${fixed(length)} tokens per line` : `${whole(length)} tokens of text`].join("\n");
    return row;
  });

  function curveInput(size) {
    const same = (learned ? learned.steps : []).filter((step) => step.size === learned.size && step.muv !== null);
    const best = same.reduce((a, b) => (a && a.muv >= b.muv ? a : b), undefined);
    const steps = (learned ? learned.steps : []).map((step) => ({
      size: step.size, entropy: step.entropy,
      muv: step.muv === null ? null : step.muv * 1e6,
      chosen: step === best,
      tip: [`S = ${whole(step.s)}, a vocabulary of ${whole(step.size)} tokens`, `H after transport ${step.entropy.toFixed(5)}`,
        step.muv === null ? "no MUV: nothing before it" : `MUV ${step.muv.toExponential(4)}`].join("\n"),
    }));
    const chosenRow = () => {
      const row = rows[nearestRow(learned.size)];
      return { ...row, tip: `chosen: ${whole(learned.size)}\n${row.tip}` };
    };
    const chosen = !learned ? [] : steps.some((s) => s.chosen) ? steps.filter((s) => s.chosen) : [chosenRow()];
    const choices = (learned ? learned.choices : []).filter((one) => one.size !== null).map((one) => ({
      criterion: one.criterion, size: one.size, tip: `${one.criterion}: ${whole(one.size)}\n${one.meaning}`,
    }));
    const criteria = (learned ? learned.choices : []).map((one) => one.criterion);
    const last = Math.max(rows[rows.length - 1].size, ...steps.map((step) => step.size));
    return { rows, steps, choices, criteria, chosen, size, domain: [rows[0].size, last] };
  }

  function nearestRow(size) {
    let best = 0;
    rows.forEach((row, i) => {
      if (Math.abs(Math.log(row.size / size)) < Math.abs(Math.log(rows[best].size / size))) best = i;
    });
    return best;
  }

  function legend() {
    const colors = VoltCharts.colors();
    const svg = (draw) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      element.setAttribute("aria-hidden", "true");
      const shape = document.createElementNS("http://www.w3.org/2000/svg", draw.tag);
      for (const [name, value] of Object.entries(draw)) if (name !== "tag") shape.setAttribute(name, value);
      element.append(shape);
      return element;
    };
    const line = (color, dash = "") => svg({ tag: "line", x1: 0, y1: 6, x2: 26, y2: 6, stroke: color, "stroke-width": 2.4, "stroke-dasharray": dash });
    const items = [
      make("span", [line(colors.accent), `H of ${data.source.name}`]),
      make("span", [svg({ tag: "circle", cx: 13, cy: 6, r: 4, fill: colors.second }), "H at S, after transport"]),
      make("span", [svg({ tag: "path", transform: "translate(13 6) scale(8)", fill: colors.second, d: "M0,-1L0.235,-0.324L0.951,-0.309L0.38,0.124L0.588,0.809L0,0.4L-0.588,0.809L-0.38,0.124L-0.951,-0.309L-0.235,-0.324Z" }), "the choice"]),
    ];
    (learned ? learned.choices : []).forEach((one, place) => {
      if (one.size === null) return;
      const { color, dash } = VoltCharts.style(place);
      items.push(make("span", [line(color, place ? dash.join(" ") : ""), `${one.criterion} ${whole(one.size)}`]));
    });
    find("curve-legend").replaceChildren(...items);
  }

  const CURVE_CHARTS = ["chart-entropy", "chart-muv", "chart-length"];
  async function drawCurve() {
    const input = curveInput(rows[Number(find("marker").value)].size);
    legend();
    await draw("chart-entropy", VoltCharts.entropy(input));
    if (input.steps.some((step) => step.muv !== null)) await draw("chart-muv", VoltCharts.muv(input));
    await draw("chart-length", VoltCharts.length({ ...input, title: perLine ? "tokens per line" : "tokens" }));
  }

  function moveMarker(index) {
    const slider = find("marker");
    const i = Math.max(0, Math.min(rows.length - 1, index));
    slider.value = i;
    slider.setAttribute("aria-valuetext", `${whole(rows[i].size)} tokens`);
    for (const id of CURVE_CHARTS) if (views[id]) views[id].signal("marker", rows[i].size).runAsync();
    const width = Number(find("width").value) || 0;
    const words = corpus ? corpus.spaced_words : 0;
    const used = curve.tokens[i] / unit;
    figures(find("marker-figures"), [
      ["size in tokens", whole(rows[i].size)],
      ["entropy H", rows[i].entropy.toFixed(4), "nats"],
      [perLine ? "tokens per sentence" : "tokens", perLine ? fixed(rows[i].length) : whole(used), perLine ? "line" : ""],
      words > 0 && ["tokens per word", fixed(used / words)],
      ["embedding parameters", (rows[i].size * width / 1e6).toLocaleString("en-US", { maximumFractionDigits: 3 }), "million"],
      curve.one_token_words && ["coverage: words that are one token", percent(curve.one_token_words[i])],
      curve.frequent && ["seen 100 times or more", percent(curve.frequent[i] / rows[i].size), "of the vocabulary"],
    ]);
  }

  function dragging() {
    for (const id of CURVE_CHARTS) {
      const element = find(id);
      const move = (event) => {
        const view = views[id], svg = element.querySelector("svg");
        if (!view || !svg) return;
        const x = event.clientX - svg.getBoundingClientRect().left - view.origin()[0];
        const scale = view.scale("x");
        moveMarker(nearestRow(scale.invert(Math.max(0, Math.min(view.width(), x)))));
      };
      element.addEventListener("pointerdown", (event) => {
        move(event);
        element.setPointerCapture(event.pointerId);
        element.addEventListener("pointermove", move);
      });
      const stop = () => element.removeEventListener("pointermove", move);
      element.addEventListener("pointerup", stop);
      element.addEventListener("pointercancel", stop);
    }
  }

  function curveSection() {
    if (!rows.length) {
      find("curve-body").hidden = true;
      say("curve-lead", "This folder has no curve: the vocabulary was not learned here.");
      return;
    }
    say("curve-lead", `H is the entropy of the tokens over their mean length (${data.length === "types" ? "of the token types, as in the paper" : "in the text"}): lower is more certain text per character. ` +
      "MUV is how much of it each added token of S saves, and the paper takes the size where that is most: the tallest bar. " +
      (data.source.exact ? `Every size of ${data.source.name === "BPE" ? "plain BPE" : data.source.name} is known exactly. ` : `Candidates without parents are measured at ${rows.length} sizes; between them nothing is known. `) +
      "The circles are the token sets that transport was solved for.");
    const slider = find("marker");
    slider.max = rows.length - 1;
    const start = learned ? learned.size : rows[rows.length - 1].size;
    slider.addEventListener("input", () => moveMarker(Number(slider.value)));
    find("width").addEventListener("input", () => moveMarker(Number(slider.value)));
    slider.value = nearestRow(start);
    moveMarker(Number(slider.value));
    dragging();
  }

  // ----------------------------------------------------------------------------------- 3. transport

  const transport = data.transport;
  function transportSection() {
    if (!transport) {
      say("transport-lead", "This folder has no plan: report.json is missing, or the vocabulary was not learned here.");
      find("chart-transport").hidden = true;
      return;
    }
    say("transport-lead", `At S = ${whole(transport.s)}, a vocabulary of ${whole(transport.size)} tokens: ${whole(transport.tokens_in_use)} tokens in use ask for as many characters as their occurrences spell. ` +
      `The plan gives every character away in full and every token what it asks for within ${percent(transport.epsilon)}; ${percent(transport.moved)} of all characters went to another token than asked. ` +
      `The map has the ${transport.characters.length} most frequent characters and the ${transport.tokens.length} tokens that ask for most; an empty cell is a character that is not in the token.`);
    const dropped = find("dropped");
    if (!transport.dropped) {
      dropped.append(make("p", "No token was dropped: each got at least the share that the threshold asks for."));
    } else {
      dropped.append(make("h3", `${plural(transport.dropped, "token")} dropped`),
        make("p", "They got less than the threshold of what they ask for." + (transport.dropped > transport.dropped_tokens.length ? ` The first ${transport.dropped_tokens.length} by what they ask for:` : "")),
        chips(transport.dropped_tokens.map((token) => [shownText(token.text), `asked ${short(token.asked)}, got ${short(token.got)}`])));
    }
  }
  const chips = (list) => make("div", list.map(([text, title]) => make("span", text, { class: "token", title })), { class: "chips", tabindex: "0" });

  // Labels must differ to be two rows of a chart.
  function labels(texts) {
    const seen = new Map();
    return texts.map((text) => {
      const count = (seen.get(text) || 0) + 1;
      seen.set(text, count);
      return count === 1 ? text : `${text} (${count})`;
    });
  }

  async function drawTransport() {
    if (!transport) return;
    const tokenLabels = labels(transport.tokens.map((token) => shownText(token.text)));
    const characterLabels = labels(transport.characters.map((one) => shownText(one.text)));
    const cells = transport.plan.map(([t, c, mass]) => ({
      token: tokenLabels[t], character: characterLabels[c], mass,
      tip: `${characterLabels[c]} into ${tokenLabels[t]}\ntransported ${short(mass)}\nthe token asked for ${short(transport.tokens[t].asked)}, got ${short(transport.tokens[t].got)}`,
    }));
    const width = find("chart-transport").clientWidth - 70;
    await draw("chart-transport", VoltCharts.transport({ cells, tokens: tokenLabels, characters: characterLabels, width }));
  }

  // ----------------------------------------------------------------------------------- 4. vocabulary

  const PAGE = 25;
  const COLUMNS = [
    ["id", "id", true], ["token", "shown", false], ["kind", "kind", false], ["length", "length", true],
    ["frequency", "frequency", true], ["made from", null, false], ["", null, false],
  ];
  const table = { sort: "frequency", down: true, page: 0, found: tokens };

  function vocabularySection() {
    const count = (kind) => tokens.filter((token) => token.kind === kind).length;
    const kinds = ["special", "symbol", "byte", "character", "merged", "piece"].filter(count);
    const hidden = pool.length - packed.size;
    const unreachable = tokens.filter((token) => token.unreachable).length;
    const unused = tokens.filter((token) => isText(token) && !token.frequency).length;
    say("vocabulary-lead", (ids ? `${data.shortened} Of ${whole(size)} tokens there are listed: ` : "") + `${kinds.map((kind) => plural(count(kind), `${kind} token`)).join(", ")}. ` +
      `${plural(data.scaffolds, "scaffold")}: not chosen, but others are made from them. ` +
      (hidden ? `${whole(hidden)} more are hidden: merged on the way, never put out. ` : "") +
      (unused ? `${whole(unused)} do not occur in the corpus. ` : "") +
      (unreachable ? `${whole(unreachable)} are unreachable: their own text is cut otherwise. ` : "") +
      `Words are cut by ${packed.pretokenizer}, ${merges ? `tokens merge by the rule ${packed.mergeRule}` : `tokens are looked up (${packed.encoding})`}. ␣ is a space.`);
    const select = find("kind");
    for (const kind of kinds) select.append(make("option", `${kind} tokens`, { value: kind }));
    if (data.scaffolds) select.append(make("option", "scaffolds", { value: "scaffold" }));
    if (unreachable) select.append(make("option", "unreachable", { value: "unreachable" }));
    const head = find("tokens").tHead.rows[0];
    for (const [title, key, number] of COLUMNS) {
      const cell = make("th", "", { scope: "col", class: number ? "number" : "" });
      if (key) {
        const button = make("button", title, { type: "button" });
        button.addEventListener("click", () => sortBy(key));
        cell.append(button);
        cell.dataset.key = key;
      } else {
        cell.append(title);
      }
      head.append(cell);
    }
    find("search").addEventListener("input", filter);
    select.addEventListener("change", filter);
    find("previous").addEventListener("click", () => { table.page--; fillTable(); });
    find("next").addEventListener("click", () => { table.page++; fillTable(); });
    filter();
    overlapSection();
  }

  function sortBy(key) {
    table.down = table.sort === key ? !table.down : key === "frequency" || key === "length";
    table.sort = key;
    filter();
  }

  function filter() {
    const query = find("search").value.replaceAll(" ", "␣");
    const kind = find("kind").value;
    const folded = query.toLowerCase();
    table.found = tokens.filter((token) =>
      (!kind || token.kind === kind || token[kind] === true) &&
      (!query || token.shown.toLowerCase().includes(folded) || token.text.includes(query) || String(token.id) === query));
    const direction = table.down ? -1 : 1;
    if (table.sort !== "id" || table.down) {
      const key = table.sort;
      table.found.sort((a, b) => (a[key] < b[key] ? -direction : a[key] > b[key] ? direction : a.id - b.id));
    }
    table.page = 0;
    fillTable();
  }

  function fillTable() {
    const pages = Math.max(1, Math.ceil(table.found.length / PAGE));
    table.page = Math.max(0, Math.min(table.page, pages - 1));
    const from = table.page * PAGE;
    const body = find("tokens").tBodies[0];
    body.replaceChildren(...table.found.slice(from, from + PAGE).map((token) => make("tr", [
      make("td", String(token.id), { class: "number" }),
      make("td", make("code", token.shown)),
      make("td", token.kind),
      make("td", isText(token) ? String(token.length) : "", { class: "number" }),
      make("td", token.frequency.toLocaleString("en-US"), { class: "number" }),
      make("td", token.left === undefined ? "" : [make("code", shown(pool[token.left])), " + ", make("code", shown(pool[token.right]))]),
      make("td", [token.scaffold ? "scaffold" : "", token.unreachable ? " unreachable" : ""], { class: "mark" }),
    ])));
    for (const cell of find("tokens").tHead.rows[0].cells) {
      if (cell.dataset.key === table.sort) cell.setAttribute("aria-sort", table.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    say("found", plural(table.found.length, "token"));
    say("place", `page ${whole(table.page + 1)} of ${whole(pages)}`);
    find("previous").disabled = table.page === 0;
    find("next").disabled = table.page === pages - 1;
  }

  async function drawVocabulary() {
    const texts = tokens.filter(isText);
    const byLength = new Map();
    for (const token of texts) byLength.set(token.length, (byLength.get(token.length) || 0) + 1);
    const longest = texts.reduce((most, token) => Math.max(most, token.length), 1);
    const cap = Math.min(longest, 24);
    const lengths = [];
    for (let length = 1; length <= cap; length++) {
      let count = byLength.get(length) || 0;
      const last = length === cap && longest > cap;
      if (last) for (const [more, n] of byLength) if (more > cap) count += n;
      const label = last ? `${cap}+` : String(length);
      lengths.push({ length: label, count, tip: `length ${label}: ${plural(count, "token")}` });
    }
    await draw("chart-lengths", VoltCharts.lengths(lengths));
    const bins = [["0", 0, 1]];
    for (let low = 1; bins.length < 24; low *= 10) {
      for (const [a, b] of [[1, 2], [2, 5], [5, 10]]) bins.push([short10(low * a), low * a, low * b]);
      if (!texts.some((token) => token.frequency >= low * 10)) break;
    }
    const frequencies = bins.map(([range, low, high]) => {
      const count = texts.filter((token) => token.frequency >= low && token.frequency < high).length;
      return { range, count, tip: `${whole(low)} to below ${whole(high)}: ${plural(count, "token")}` };
    });
    while (frequencies.length > 1 && !frequencies[frequencies.length - 1].count) frequencies.pop();
    await draw("chart-frequencies", VoltCharts.frequencies(frequencies));
    const sorted = tokens.map((token) => token.frequency).filter((f) => f > 0).sort((a, b) => b - a);
    const ranks = [];
    for (let rank = 1; rank <= sorted.length; rank = Math.max(rank + 1, Math.ceil(rank * 1.02))) {
      ranks.push({ rank, frequency: sorted[rank - 1], tip: `rank ${whole(rank)}: ${whole(sorted[rank - 1])} times` });
    }
    if (ranks.length > 1) await draw("chart-ranks", VoltCharts.ranks(ranks));
  }
  const short10 = (n) => (n >= 1e9 ? `${n / 1e9}G` : n >= 1e6 ? `${n / 1e6}M` : n >= 1e3 ? `${n / 1e3}k` : String(n));

  const bpe = data.bpe && { ...data.bpe, left: unpack(data.bpe.left), right: unpack(data.bpe.right) };
  function overlapSection() {
    if (!bpe) {
      say("overlap-lead", data.shortened || (data.curve && data.corpus ? `The candidates are not those of BPE (${data.source.name}), so there is nothing to compare with.` : "report.json is missing, so there is nothing to compare with."));
      return;
    }
    const plain = bpePool(bpe, bpe.same, []).filter((token) => token.kind === "merged");
    const theirs = new Set(plain.map((token) => token.text));
    const merged = tokens.filter((token) => token.kind === "merged");
    const mine = new Set(merged.map((token) => token.text));
    const onlyHere = merged.filter((token) => !theirs.has(token.text)).sort((a, b) => b.frequency - a.frequency || a.id - b.id);
    const onlyThere = plain.filter((token) => !mine.has(token.text));
    const shared = merged.length - onlyHere.length;
    say("overlap-lead", `${whole(shared)} of ${whole(merged.length)} merged tokens (${percent(merged.length ? shared / merged.length : 1)}) are those of plain BPE with as many merges.`);
    const most = 300;
    const part = (title, list, note) => make("div", [
      make("h3", `${title}: ${whole(list.length)}`),
      list.length > most ? make("p", `The first ${most}, ${note}:`, { class: "mark" }) : "",
      chips(list.slice(0, most).map((token) => [shown(token), token.frequency === undefined ? "" : `${whole(token.frequency)} times`])),
    ]);
    find("overlap").append(part("Only here", onlyHere, "by frequency"), part("Only in BPE", onlyThere, "in the order of merges"));
  }

  // --------------------------------------------------------------------------------------- 5. files

  const files = data.files || [];
  function filesSection() {
    if (!files.length) {
      find("file-table").hidden = true;
      find("chart-files").hidden = true;
      say("files-lead", "Nothing is known of single files: the words were counted before, or the vocabulary was not learned here.");
      return;
    }
    const parallel = files.length > 1 && files[0].parallel;
    say("files-lead", "Measured on the first lines of each file" +
      (files.every((one) => one.sampled_lines === one.lines) ? ", which are all of them. " : ` (${files.map((one) => whole(one.sampled_lines)).filter((n, i, all) => all.indexOf(n) === i).slice(0, 4).join(", ")} lines). `) +
      "Words are what stands between spaces. " +
      (files.length > 1 ? (parallel ? "Parity is how many tokens a file takes against the first one, on the same lines." : "Parity is tokens per line against the first file; the files differ in their number of lines, so they may not say the same.") : ""));
    const body = find("file-table").tBodies[0];
    for (const one of files) {
      body.append(make("tr", [
        make("td", make("code", one.name)),
        make("td", whole(one.lines), { class: "number" }),
        make("td", one.words ? fixed(one.tokens / one.words) : "-", { class: "number" }),
        make("td", one.sampled_lines ? fixed(one.tokens / one.sampled_lines) : "-", { class: "number" }),
        make("td", one.words ? percent(one.single_token_words / one.words) : "-", { class: "number" }),
        make("td", one.tokens ? fixed(one.characters / one.tokens) : "-", { class: "number" }),
        make("td", one.parity === null ? "-" : fixed(one.parity), { class: "number" }),
      ]));
    }
  }
  async function drawFiles() {
    if (files.length < 2) {
      find("chart-files").hidden = true;
      return;
    }
    const names = labels(files.map((one) => visible(one.name).replaceAll("␣", " ")));
    // On the same lines parity says more: words are not the same thing in all languages.
    const [title, value] = files[0].parallel
      ? ["parity: tokens against the first file", (one) => one.parity ?? 0]
      : ["tokens per word", (one) => (one.words ? one.tokens / one.words : 0)];
    await draw("chart-files", VoltCharts.files(files.map((one, i) => ({
      label: names[i], value: value(one), tip: `${names[i]}\n${title} ${fixed(value(one))}`,
    })), title));
  }

  // ---------------------------------------------------------------------------------- 6. playground

  const classOf = classTable(data.classes[1]);
  const encoders = ids || !merges || packed.fuseUnknown || packed.foreign ? [] : [{ name: "this vocabulary", encoder: new Encoder({ ...packed, pool }, classOf) }];
  for (const merges of bpe ? bpe.sizes : []) {
    const others = bpePool(bpe, merges, tokens);
    encoders.push({ name: `BPE, ${whole(merges)} merges`,
      encoder: new Encoder({ ...packed, pool: others, size: others.length }, classOf) });
  }
  function cutText() {
    const text = find("text").value.toWellFormed ? find("text").value.toWellFormed() : find("text").value;
    const lines = text.split("\n");
    const words = text.split(/\s+/).filter((word) => word).length;
    find("cuts").replaceChildren(...encoders.map(({ name, encoder }) => {
      let count = 0;
      const cut = make("div", lines.map((line) => make("span", encoder.encode(line).map((id) => {
        const token = encoder.pool[id];
        const strange = token.kind === "byte" || id === encoder.unknownId;
        const known = id < packed.size && encoder === encoders[0].encoder ? `id ${id}` : `token ${token.text}`;
        return make("span", shown(token), { class: `t${count++ % 5}${strange ? " unknown" : ""}`, title: known });
      }), { class: "line" })), { class: "cut" });
      return make("div", [
        make("h3", name),
        make("p", `${plural(count, "token")}${words ? `, ${fixed(count / words)} per word` : ""} · vocabulary of ${whole(encoder.size)}`),
        cut,
      ], { class: "cut-panel" });
    }));
  }
  function playgroundSection() {
    if (!encoders.length) {
      say("playground-lead", `${ids ? data.shortened : packed.foreign ? "The playground does not do to text what the toolkit does that this vocabulary comes from." : merges ? "The playground has one unknown token for each unknown character, this vocabulary one for a run of them." : `The playground merges tokens; it does not know the encoding ${packed.encoding}.`} volt encode has no such limit.`);
      for (const one of find("playground").querySelectorAll("label, textarea")) one.hidden = true;
      return;
    }
    say("playground-lead", "Type, and see it cut as volt encode would, line by line" + (bpe ? ", and beside it by plain BPE of other sizes from the same text. " : ". ") +
      (bpe && data.shortened ? `${data.shortened} ` : "") +
      (packed.normalize !== "none" ? `Text is normalised first (${packed.normalize.toUpperCase()}, by the browser's own Unicode tables). ` : "") +
      "A dashed frame is a character that the vocabulary lacks.");
    const words = tokens.filter((token) => token.kind === "merged" && token.length > 3 && /^␣?\p{L}+␣?$/u.test(token.shown))
      .sort((a, b) => b.frequency - a.frequency).slice(0, 40).filter((_, i) => i % 4 === 0).map((token) => token.shown.replaceAll("␣", ""));
    find("text").value = `The vocabulary that fits your text. ${words.join(" ")}`;
    find("text").addEventListener("input", cutText);
    cutText();
  }

  // ------------------------------------------------------------------------------------ all of it

  async function drawAll() {
    if (rows.length) await drawCurve();
    await drawTransport();
    await drawVocabulary();
    await drawFiles();
  }
  answer();
  curveSection();
  transportSection();
  vocabularySection();
  filesSection();
  playgroundSection();
  say("footer", `Made by volt ${data.version}. This page is one file, works without a network and sends nothing.`);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  window.voltReport = { data, encoders, tokens, views, table, moveMarker, ready: drawAll() };
})();
