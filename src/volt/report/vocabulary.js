// The vocabulary: the table of its tokens, their lengths and frequencies, what differs from plain BPE.
"use strict";

const VoltVocabulary = (() => {
  const { chips, data, draw, find, make, percent, plural, say, shortNumber, whole } = VoltPage;
  const { ids, isText, packed, pool, rule, shown, size, tokens } = VoltTokens;
  const merges = rule.look_up === null;

  // ----------------------------------------------------------------------------------------- table

  const PAGE = 25;
  const COLUMNS = [
    ["id", "id", true], ["token", "shown", false], ["kind", "kind", false], ["length", "length", true],
    ["frequency", "frequency", true], ["made from", null, false], ["", null, false],
  ];
  const table = { sort: "frequency", down: true, page: 0, found: tokens };

  // The characters of byte-level text are bytes.
  const named = (kind) => (kind === "character" && rule.marks === "BYTES" ? "byte" : kind);
  function vocabularySection() {
    const count = (kind) => tokens.filter((token) => token.kind === kind).length;
    const kinds = ["special", "symbol", "byte", "character", "merged", "piece"].filter(count);
    const hidden = pool.length - packed.size;
    const unreachable = tokens.filter((token) => token.unreachable).length;
    const unused = data.unused;
    say("vocabulary-lead", (ids ? `${data.shortened} Of ${whole(size)} tokens there are listed: ` : "") + `${kinds.map((kind) => plural(count(kind), `${named(kind)} token`)).join(", ")}. ` +
      (data.scaffolds ? `${plural(data.scaffolds, "scaffold")}: not chosen, but others are made from them. ` : "") +
      (hidden ? `${whole(hidden)} more are hidden: merged on the way, never put out. ` : "") +
      (data.residues ? `${plural(data.residues, "token is a residue", "tokens are residues")}: made on the way to longer ones, never in the output. `
        : unused ? `The text never has ${whole(unused)} of them. ` : "") +
      (unreachable ? `${whole(unreachable)} are unreachable: their own text is cut otherwise. ` : "") +
      `Words are cut by ${rule.pretokenizer}, ${merges ? `tokens merge by the rule ${rule.merge_rule}` : `tokens are looked up (${rule.encoding})`}. ␣ is a space, ⏎ a line end.`);
    const select = find("kind");
    for (const kind of kinds) select.append(make("option", `${named(kind)} tokens`, { value: kind }));
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
      make("td", named(token.kind)),
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
      for (const [a, b] of [[1, 2], [2, 5], [5, 10]]) bins.push([shortNumber(low * a), low * a, low * b]);
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
  const bpe = data.bpe && { ...data.bpe, left: VoltPacked.unpack(data.bpe.left), right: VoltPacked.unpack(data.bpe.right) };
  function overlapSection() {
    const merged = tokens.filter((token) => token.kind === "merged");
    if (bpe ? bpe.shared === bpe.same : data.choices && data.choices.overlap_with_bpe === 1) {
      const number = ids ? "" : `${whole(merged.length)} `; // not all of them are here
      find("overlap-title").hidden = true; // there is nothing to set side by side
      say("overlap-lead", `The ${number}merged tokens are the first ${number}merges of plain BPE.`);
      return;
    }
    if (!bpe) {
      say("overlap-lead", data.shortened || (data.curve && data.corpus ? `The candidates are not those of BPE (${data.source.name}), so there is nothing to compare with.`
        : data.refitted ? "A refit learns no plain BPE to compare with." : "report.json is missing, so there is nothing to compare with."));
      return;
    }
    const plain = VoltEncoder.bpePool(bpe, bpe.same, []).filter((token) => token.kind === "merged");
    const theirs = new Set(plain.map((token) => token.text));
    const mine = new Set(merged.map((token) => token.text));
    const onlyHere = merged.filter((token) => !theirs.has(token.text)).sort((a, b) => b.frequency - a.frequency || a.id - b.id);
    const onlyThere = plain.filter((token) => !mine.has(token.text));
    const shared = merged.length - onlyHere.length;
    say("overlap-lead", `${whole(shared)} of ${whole(merged.length)} merged tokens (${percent(merged.length ? shared / merged.length : 1)}) are those of plain BPE with as many merges.`);
    const most = 300;
    const part = (title, list, note) => make("div", [
      make("h3", `${title}: ${whole(list.length)}`),
      list.length > most ? make("p", `The first ${most}, ${note}:`, { class: "mark" }) : "",
      chips(list.slice(0, most).map((token) => [shown(token), token.frequency === undefined ? "" : `${whole(token.frequency)} times`]), title),
    ]);
    find("overlap").append(part("Only here", onlyHere, "by frequency"), part("Only in BPE", onlyThere, "in the order of merges"));
  }

  return { bpe, draw: drawVocabulary, section: vocabularySection, table };
})();
