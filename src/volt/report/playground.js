// A text of the reader, cut by this vocabulary, by plain BPE of other sizes and by vocabularies that
// were dropped on the page: tokens, ids, offsets and bytes.
"use strict";

const VoltPlayground = (() => {
  const { data, find, fixed, make, plural, say, whole } = VoltPage;
  const { ids, packed, pool, rule, shown, tokens } = VoltTokens;
  const { bpe } = VoltVocabulary;
  const { Encoder, bpePool } = VoltEncoder;
  const ROWS = 300;
  // Scripts without spaces between words: tokens per word would say little.
  const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u;

  const table = VoltWords.classTable(VoltPacked.unpack(data.classes[1]));
  const encoders = [];
  let own = null;

  // The encoder of this vocabulary, if it cuts the texts of the self-test as volt did.
  function ownEncoder() {
    const made = new Encoder(pool, packed.size, rule, table);
    const agrees = packed.selfTest.every(([text, expected]) =>
      JSON.stringify(made.encode(text).map((one) => one.id)) === JSON.stringify(expected));
    return agrees ? made : null;
  }
  // Why there is no playground; empty if there is one.
  function refusal() {
    if (ids) return data.shortened;
    if (rule.normalizer) return `This vocabulary changes text before it cuts it (${rule.normalizer}), which this page does not do.`;
    try {
      own = ownEncoder();
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
    return own ? "" : "This browser reads the pattern of this vocabulary otherwise than volt does.";
  }

  // A vocabulary that was dropped on the page, in place of the one before.
  function setOther(name, encoder) {
    const kept = encoders.filter((one) => !one.other);
    encoders.splice(0, encoders.length, ...kept, ...(encoder ? [{ name, encoder, other: true }] : []));
    if (own) cutText();
  }

  const text = () => (find("text").value.toWellFormed ? find("text").value.toWellFormed() : find("text").value);
  const hex = (bytes) => bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

  // The tokens of the text; offsets count characters from the start of the text.
  function cut(encoder) {
    const texts = encoder.rule.reads === "document" ? [text()] : text().split("\n");
    let before = 0;
    return texts.map((one) => {
      const characters = [...encoder.normalized(one)];
      const found = encoder.encode(one).map(({ id, start, end }) => {
        const token = encoder.pool[id];
        const unknown = id === encoder.unknownId;
        return { id, token, start: start + before, end: end + before, strange: unknown || token.kind === "byte",
          bytes: unknown ? VoltPacked.utf8(characters.slice(start, end).join("")) : encoder.bytesOf(token) };
      });
      before += characters.length + 1;
      return found;
    });
  }

  function panel({ name, encoder }) {
    let place = 0;
    const lines = cut(encoder), words = UNSPACED.test(text()) ? 0 : text().split(/\s+/).filter((word) => word).length;
    const all = lines.flat();
    const span = (one) => make("span", shown(one.token, encoder.rule), {
      class: `t${place++ % 5}${one.strange ? " unknown" : ""}`, title: `id ${one.id}, characters ${one.start} to ${one.end}, bytes ${hex(one.bytes)}`,
    });
    return make("div", [
      make("h3", name),
      make("p", `${plural(all.length, "token")}${words ? `, ${fixed(all.length / words)} per word` : ""} · vocabulary of ${whole(encoder.size)}`),
      make("div", lines.map((line) => make("span", line.map(span), { class: "line" })), { class: "cut" }),
    ], { class: "cut-panel" });
  }

  // Ids, offsets and bytes of this vocabulary's tokens.
  function details() {
    const all = cut(own).flat();
    say("text-ids", `[${all.map((one) => one.id).join(", ")}]`);
    find("text-tokens").tBodies[0].replaceChildren(...all.slice(0, ROWS).map((one, i) => make("tr", [
      make("td", String(i), { class: "number" }),
      make("td", make("code", shown(one.token))),
      make("td", String(one.id), { class: "number" }),
      make("td", `${one.start}–${one.end}`, { class: "number" }),
      make("td", make("code", hex(one.bytes))),
    ])));
    say("text-more", all.length > ROWS ? `The first ${ROWS} of ${whole(all.length)} tokens.` : "");
  }

  function cutText() {
    if (own) details();
    find("cuts").replaceChildren(...encoders.map(panel));
  }

  const sample = () => {
    const words = tokens.filter((token) => token.kind !== "character" && token.length > 3 && /^␣?\p{L}+␣?$/u.test(token.shown))
      .sort((a, b) => b.frequency - a.frequency).slice(0, 40).filter((_, i) => i % 4 === 0).map((token) => token.shown.replaceAll("␣", ""));
    // Its own words are listed: no sentence can be made of them, and a row of words looked like a broken one.
    return `The vocabulary that fits your text: naïve, 2026 🙂\n${words.join(", ")}`;
  };

  function section() {
    const refused = refusal();
    if (refused) {
      say("playground-lead", `${refused} volt encode has no such limit.`);
      find("playground-body").hidden = true;
      return;
    }
    encoders.push({ name: "this vocabulary", encoder: own });
    for (const merges of bpe && rule.look_up === null ? bpe.sizes : []) {
      const others = bpePool(bpe, merges, tokens);
      encoders.push({ name: `BPE, ${whole(merges)} merges`, encoder: new Encoder(others, others.length, { ...rule, whole_words: false }, table) });
    }
    say("playground-lead", `Type, and see it cut as volt encode would, ${rule.reads === "document" ? "line ends included" : "line by line"}` + (encoders.length > 1 ? ", and beside it by plain BPE of other sizes from the same text. " : ". ") +
      (bpe && data.shortened ? `${data.shortened} ` : "") +
      (rule.normalize !== "none" ? `Text is normalized first (${rule.normalize.toUpperCase()}, by the browser's own Unicode tables); offsets are those of the normalized text. ` : "") +
      "A dashed frame is a character that the vocabulary lacks.");
    find("text").value = sample();
    find("text").addEventListener("input", cutText);
    cutText();
  }

  return { cut, encoders, section, setOther, table };
})();
