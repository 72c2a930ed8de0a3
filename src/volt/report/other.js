// Another vocabulary, from a file that was dropped on the page or chosen: what both have, and how it
// cuts the text of the playground. The file is read in the browser and sent nowhere.
"use strict";

const VoltOther = (() => {
  const { chips, data, figures, find, fixed, make, percent, say, whole } = VoltPage;
  const { byteName, byteOf, letters, utf8 } = VoltPacked;
  const { isText, rule, shown, tokens } = VoltTokens;
  const { Encoder, ruleOf } = VoltEncoder;
  const MOST = 200, MOST_BYTES = 2e8;
  const NAME = /^(<[^<>\s]+>|\[[A-Z0-9_-]+\]|<\|[^]*\|>)$/;

  // ---------------------------------------------------------------------------- file -> vocabulary
  // A reader returns {pool, size, marks} and, where this page can encode with it, its rule.

  const kindOf = (text) => (/^<0x[0-9A-F]{2}>$/.test(text) ? "byte" : NAME.test(text) ? "special" : "piece");
  const list = (texts) => {
    const pool = texts.map((text) => ({ text, kind: kindOf(text) }));
    return { pool, size: pool.length, marks: marksOf(texts) };
  };
  // For files that do not say how their tokens are marked.
  function marksOf(texts) {
    const count = (test) => texts.reduce((sum, text) => sum + (test(text) ? 1 : 0), 0);
    const found = [["SPACE", count((t) => t.startsWith("▁"))], ["BYTES", count((t) => t.startsWith("Ġ"))],
      ["INNER", count((t) => t.startsWith("##"))], ["WORD_END", count((t) => t.endsWith("</w>"))]];
    return found.reduce((a, b) => (b[1] > a[1] ? b : a), ["UNMARKED", 0])[0];
  }

  function voltJson(head) {
    const found = ruleOf(head, data.pretokenizers);
    const pool = [...head.tokens, ...head.hidden].map(({ text, kind, parents, rank, score }) =>
      ({ text, kind, score, order: rank, left: parents && parents[0], right: parents && parents[1] }));
    return { pool, size: head.size, marks: found.marks, rule: found };
  }

  function tokenizerJson(file) {
    const { added_tokens: added = [], model } = file;
    const scored = Array.isArray(model.vocab);
    const texts = [];
    (scored ? model.vocab.map(([text], id) => [text, id]) : Object.entries(model.vocab)).forEach(([text, id]) => { texts[id] = text; });
    const special = new Set(added.map((one) => one.content));
    for (const one of added) texts[one.id] ??= one.content;
    const around = JSON.stringify([file.pre_tokenizer, file.decoder]);
    const marks = around.includes('"ByteLevel"') ? "BYTES" : model.type === "WordPiece" ? "INNER"
      : model.end_of_word_suffix === "</w>" ? "WORD_END" : marksOf(texts.filter((text) => text !== undefined));
    const pool = Array.from(texts, (text = "") => ({ text, kind: special.has(text) ? "special" : kindOf(text) }));
    const found = { pool, size: pool.length, marks };
    const patterns = marks === "BYTES" && model.type === "BPE" && !file.normalizer && !model.dropout ? patternsOf(file.pre_tokenizer) : null;
    return patterns ? { ...found, rule: byteMerges(pool, model, patterns) } : found;
  }
  // The regular expressions by which a byte-level pre-tokenizer of Hugging Face cuts; null for others.
  function patternsOf(part) {
    const steps = part && (part.type === "Sequence" ? part.pretokenizers : [part]);
    const found = [];
    for (const step of steps || []) {
      const pattern = step.pattern && step.pattern.Regex;
      if (step.type === "Split" && pattern && step.behavior === "Isolated" && !step.invert) found.push(pattern);
      else if (step.type === "Digits" && step.individual_digits) found.push("\\p{N}");
      else if (step.type === "ByteLevel" && !step.add_prefix_space) found.push(...(step.use_regex === false ? [] : data.pretokenizers["byte-level"].patterns));
      else return null;
    }
    return found.length ? found : null;
  }
  const byteRule = (patterns, rest) => ({
    encoding: "merge", fuse_unknown: false, look_up: null, merge_rule: "pairs", normalize: "none", normalizer: null, pretokenizer: "custom",
    reads: "document", unknown: "byte", unknown_token: "", whole_words: false, word_ends: "kinds", patterns, marks: "BYTES", ...rest,
  });
  function byteMerges(pool, model, patterns) {
    const ids = new Map(pool.map((token, id) => [token.text, id]));
    for (const token of pool) if (token.kind === "piece" && byteOf.has(token.text)) token.kind = "character";
    model.merges.forEach((pair, order) => {
      const [left, right] = Array.isArray(pair) ? pair : pair.split(" ");
      const token = pool[ids.get(left + right)];
      if (token && token.order === undefined) Object.assign(token, { kind: "merged", left: ids.get(left), right: ids.get(right), order });
    });
    return byteRule(patterns, { whole_words: Boolean(model.ignore_merges) });
  }

  // tiktoken: a token in base64 and its rank on each line. The file does not say how text is cut.
  function ranks(lines) {
    const pool = [];
    for (const line of lines) {
      const [text, rank] = line.split(" ");
      const spelled = [...VoltPacked.bytesOf(text)].map((byte) => letters[byte]).join("");
      pool[Number(rank)] = { text: spelled, kind: [...spelled].length === 1 ? "character" : "merged", order: Number(rank) };
    }
    const filled = Array.from(pool, (token) => token ?? { text: "", kind: "special" });
    const found = { pool: filled, size: filled.length, marks: "BYTES" };
    return rule.marks === "BYTES" ? { ...found, rule: byteRule(rule.patterns, { merge_rule: "concat", whole_words: true }) } : found;
  }

  // A SentencePiece model: field 1 of the message is a piece, with its text (1), score (2), type (3).
  function sentencePiece(bytes) {
    const KINDS = { 2: "special", 3: "special", 4: "symbol", 5: "piece", 6: "byte" };
    const decoder = new TextDecoder();
    const pool = [];
    for (const [field, value] of fields(bytes)) {
      if (field !== 1) continue;
      const piece = new Map(fields(value));
      if (!(piece.get(1) instanceof Uint8Array)) throw new Error("not a SentencePiece model");
      pool.push({ text: decoder.decode(piece.get(1)), kind: KINDS[piece.get(3)] ?? "piece" });
    }
    return { pool, size: pool.length, marks: "SPACE" };
  }
  function* fields(bytes) {
    let at = 0;
    const number = () => {
      let value = 0, factor = 1;
      for (;;) {
        if (at >= bytes.length) throw new Error("it ends in the middle");
        const byte = bytes[at++];
        value += (byte & 127) * factor;
        factor *= 128;
        if (byte < 128) return value;
      }
    };
    const take = (length) => bytes.subarray(at, at += length);
    while (at < bytes.length) {
      const tag = number(), wire = tag % 8;
      if (![0, 1, 2, 5].includes(wire)) throw new Error("not a file of tokens that this page knows");
      yield [Math.floor(tag / 8), wire === 0 ? number() : take(wire === 1 ? 8 : wire === 5 ? 4 : number())];
    }
  }

  function parse(bytes) {
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      return sentencePiece(bytes);
    }
    if (text.includes("\0")) return sentencePiece(bytes);
    if (/^\s*(\{|\["|\[\s)/.test(text)) { // not [PAD], the first line of many lists
      const found = JSON.parse(text);
      if (found.tokens && found.pretokenizer) return voltJson(found);
      if (found.model && found.model.vocab) return tokenizerJson(found);
      if (Array.isArray(found)) return list(found.map(String));
      const byId = Object.entries(found).filter(([, id]) => Number.isInteger(id)).sort((a, b) => a[1] - b[1]);
      if (!byId.length) throw new Error("this JSON has no tokens");
      return list(byId.map(([name]) => name));
    }
    const lines = text.split(/\r?\n/).filter((line) => line && !line.startsWith("#version"));
    if (lines.every((line) => /^[A-Za-z0-9+/]+=* \d+$/.test(line))) return ranks(lines);
    if (lines.every((line) => /^\S+ \S+$/.test(line) && !/ \d+$/.test(line))) return list(lines.map((line) => line.replace(" ", ""))); // merges
    return list(lines.map((line) => line.split(/[\t ]/)[0]).filter((token) => token));
  }

  // --------------------------------------------------------------------------------- what both have

  // What a token stands for, as one string per token; with a space before it where it starts a word,
  // unless one of the two marks the ends of words.
  function keys(list, marks, plain) {
    const key = ({ text }) => {
      if (marks === "BYTES") text = String.fromCharCode(...[...text].map((letter) => byteOf.get(letter) ?? 63));
      else {
        if (marks === "SPACE") text = text.replaceAll("▁", " ");
        if (marks === "WORD_END") text = text.replace(/<\/w>$/, plain ? "" : "\n");
        if (marks === "INNER") text = text.startsWith("##") ? text.slice(2) : ` ${text}`;
        text = String.fromCharCode(...utf8(text));
      }
      return plain ? text.replace(/^ (?=.)/, "") : text;
    };
    return new Map(list.filter((token) => isText(token) && token.text).map((token) => [key(token), token]));
  }

  function compare(other) {
    const plain = other.marks !== rule.marks && [other.marks, rule.marks].some((marks) => marks === "WORD_END" || marks === "UNMARKED");
    const mine = keys(tokens, rule.marks, plain), theirs = keys(other.pool.slice(0, other.size), other.marks, plain);
    const onlyHere = [...mine].filter(([key]) => !theirs.has(key)).map(([, token]) => token).sort((a, b) => b.frequency - a.frequency || a.id - b.id);
    const onlyThere = [...theirs].filter(([key]) => !mine.has(key)).map(([, token]) => token);
    const mean = (found) => [...found.keys()].reduce((sum, key) => sum + key.length, 0) / Math.max(1, found.size);
    return { plain, onlyHere, onlyThere, mine: mine.size, theirs: theirs.size, shared: mine.size - onlyHere.length, lengths: [mean(mine), mean(theirs)] };
  }

  function show(name, other) {
    const found = compare(other);
    let encoder = null;
    try {
      if (other.rule && !other.rule.normalizer) encoder = new Encoder(other.pool, other.size, other.rule, VoltPlayground.table);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error; // a pattern that the browser does not know
    }
    VoltPlayground.setOther(name, encoder);
    const list = make("dl", "", { class: "figures" });
    figures(list, [
      ["tokens", whole(other.size), `${whole(tokens.length)} here`],
      ["in both", whole(found.shared), `${percent(found.shared / Math.max(1, found.mine))} of this one, ${percent(found.shared / Math.max(1, found.theirs))} of the other`],
      ["mean length in bytes", fixed(found.lengths[1]), `${fixed(found.lengths[0])} here`],
    ]);
    const part = (title, all, rules, note) => make("div", [make("h3", `${title}: ${whole(all.length)}`),
      all.length > MOST ? make("p", `The first ${MOST}, ${note}:`, { class: "mark" }) : "",
      chips(all.slice(0, MOST).map((token) => [shown(token, rules), ""]), title)]);
    find("other").replaceChildren(
      make("h3", name), list,
      make("p", (found.plain ? "The two mark the ends of words differently, so tokens are compared without marks. " : "") +
        (encoder ? "The playground cuts your text with it too." : `It is compared token by token; this page does not know how it cuts text. volt compare . ${name} --on FILE does.`)),
      make("div", [part("Only here", found.onlyHere, rule, "by frequency"), part("Only there", found.onlyThere, { marks: other.marks }, "by id")], { class: "pair" }));
    return found;
  }

  async function read(file) {
    try {
      if (file.size > MOST_BYTES) throw new Error("it is too large");
      return show(file.name, parse(new Uint8Array(await file.arrayBuffer())));
    } catch (error) {
      find("other").replaceChildren(make("p", `${file.name} cannot be read as a vocabulary: ${error.message}.`, { class: "doubt" }));
      VoltPlayground.setOther("", null);
      return null;
    }
  }

  function section() {
    const field = find("other-file");
    field.addEventListener("change", () => { if (field.files[0]) read(field.files[0]); });
    const over = (event, on) => {
      if (!event.dataTransfer || ![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      document.body.classList.toggle("dropping", on);
    };
    addEventListener("dragover", (event) => over(event, true));
    addEventListener("dragleave", (event) => over(event, false));
    addEventListener("drop", (event) => {
      over(event, false);
      const file = event.dataTransfer && event.dataTransfer.files[0];
      if (!file) return;
      find("other").scrollIntoView({ block: "nearest" });
      read(file);
    });
  }

  return { parse, section, show };
})();
