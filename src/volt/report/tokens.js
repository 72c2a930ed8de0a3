// The tokens as people read them, and a first look at them.
"use strict";

const VoltTokens = (() => {
  const { chips, data, find, make, plural, say, visible, whole } = VoltPage;
  const { byteOf, running, unpack } = VoltPacked;

  const packed = data.vocabulary, rule = VoltEncoder.ruleOf(packed.rule, data.pretokenizers);
  const pool = VoltEncoder.vocabularyPool(packed);
  const tokens = pool.slice(0, packed.size);
  unpack(packed.frequency).forEach((frequency, id) => { tokens[id].frequency = frequency / packed.unit; });
  running(unpack(packed.scaffolds)).forEach((id) => { if (tokens[id]) tokens[id].scaffold = true; });
  running(unpack(packed.unreachable)).forEach((id) => { tokens[id].unreachable = true; });
  const isText = (token) => ["character", "merged", "piece"].includes(token.kind);

  // What a token stands for, with spaces, line ends and what does not print made visible.
  function shown(token, { marks } = rule) {
    let text = token.text;
    if (isText(token)) {
      if (marks === "SPACE") text = text.replaceAll("▁", " ");
      else if (marks === "WORD_END") text = text.endsWith("</w>") ? `${text.slice(0, -4)} ` : text;
      else if (marks === "INNER") text = text.startsWith("##") ? text : ` ${text}`;
      else if (marks === "BYTES") text = fromBytes([...text].map((letter) => byteOf.get(letter)));
    }
    return visible(text);
  }
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  function fromBytes(bytes) {
    try {
      return decoder.decode(new Uint8Array(bytes));
    } catch {
      return bytes.map((b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : `\\x${b.toString(16).padStart(2, "0")}`)).join("");
    }
  }
  const shownText = (text) => shown({ text, kind: "merged" });

  // In characters of text, bytes if byte-level.
  function lengthOf(token) {
    if (!isText(token)) return 0;
    const marked = { WORD_END: /<\/w>$/, INNER: /^##(?=.)/ }[rule.marks];
    return [...(marked ? token.text.replace(marked, "") : token.text)].length;
  }
  // An excerpt of a very large vocabulary has ids of its own.
  const ids = packed.ids && running(unpack(packed.ids));
  const size = packed.all ?? packed.size;
  tokens.forEach((token, id) => {
    token.id = ids ? ids[id] : id;
    token.shown = shown(token);
    token.length = lengthOf(token);
  });

  // ------------------------------------------------------------------------------- a first look

  const SHOWN = 40;
  const times = (token) => `id ${token.id}, ${plural(token.frequency, "time")}`;
  const group = (title, list) => list.length > 0 && make("div", [make("h3", title), chips(list.map((token) => [token.shown, times(token)]), title)]);

  function section() {
    const texts = tokens.filter(isText);
    const seen = texts.filter((token) => token.frequency > 0);
    if (!seen.length) {
      find("look").hidden = true;
      return;
    }
    const long = texts.filter((token) => token.kind !== "character");
    const by = (list, ...keys) => [...list].sort((a, b) => keys.reduce((found, key) => found || key(a) - key(b), 0) || a.id - b.id).slice(0, SHOWN);
    const often = (token) => -token.frequency;
    const unseen = long.filter((token) => !token.frequency);
    const lineEnds = seen.filter((token) => token.shown.includes("⏎"));
    const named = Object.entries(data.typical || {}).map(([name, list]) =>
      group(visible(name).replaceAll("␣", " "), list.map((id) => tokens[ids ? ids.indexOf(id) : id]).filter((token) => token)));
    say("look-lead", `␣ is a space, ⏎ a line end, ⇥ a tab. Point at a token for its id and how often the text has it.` +
      (data.residues ? ` ${plural(data.residues, "token is a residue", "tokens are residues")}: made on the way to longer ones, never in the output.`
        : unseen.length ? ` The text never has ${whole(unseen.length)} of ${whole(long.length)} longer tokens.` : ""));
    find("look-lists").append(...[
      group("Commonest", by(seen, often)),
      group("Longest", by(long, (token) => -token.length, often)),
      group("Rarest in the text", by(seen.filter((token) => token.kind !== "character"), (token) => token.frequency, (token) => -token.id)),
      group("Commonest with a line end", by(lineEnds, often)),
    ].filter((one) => one));
    find("look-named").hidden = named.length < 2;
    find("look-named").append(make("h3", data.choices && data.choices.languages ? "Typical of each language" : "Typical of each file"),
      make("p", "What one has far more often than the others.", { class: "mark" }), make("div", named.filter((one) => one), { class: "pair small" }));
  }
  return { ids, isText, packed, pool, rule, section, shown, shownText, size, tokens };
})();
