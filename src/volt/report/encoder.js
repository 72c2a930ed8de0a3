// The encoder of volt.reference, in the browser: same words, same tokens, same offsets.
"use strict";

const VoltEncoder = (() => {
  const { byteName, byteOf, letters, running, unpack, unpackReals, unpackSigned, utf8 } = VoltPacked;
  const LITERAL = "\ud800"; // a `▁` of the text where `▁` means a space; no token contains it
  const isName = (token) => token.kind === "special" || token.kind === "symbol";

  // How text becomes words and words become tokens: the head of a volt.json with the patterns and
  // marks of its pre-tokenizer. `known` is the table of pre-tokenizers.
  function ruleOf(head, known) {
    const custom = /^custom:([^]*)$/.exec(head.pretokenizer);
    const found = custom ? { patterns: [custom[1]], marks: "BYTES" } : known[head.pretokenizer];
    if (!found) throw new Error(`unknown pre-tokenizer ${head.pretokenizer}`);
    const { encoding, fuse_unknown = false, look_up = null, merge_rule, normalize, normalizer = null, pretokenizer, reads = "line",
      space_first = true, unknown, unknown_token = "<unk>", whole_words = false, word_ends = "kinds" } = head;
    return { encoding, fuse_unknown, look_up, merge_rule, normalize, normalizer, pretokenizer, reads, space_first, unknown, unknown_token, whole_words,
      word_ends, patterns: found.patterns, marks: look_up && look_up.mark ? "INNER" : found.marks };
  }

  // `pool`: {text, kind, ...} by id; merged tokens have parents and their place in the order of
  // merges, looked-up tokens a score. The first `size` are the vocabulary, the others hidden.
  // `rule` is made by ruleOf.
  class Encoder {
    constructor(pool, size, rule, table) {
      Object.assign(this, { pool, size, rule, table });
      this.characters = new Map();
      this.names = new Map();
      this.bytes = [];
      this.merges = new Map();
      this.known = new Map();
      this.cache = new Map();
      this.longest = 1;
      pool.forEach((token, id) => this.place(token, id));
      this.unknownId = rule.unknown === "unk" ? pool.findIndex((token) => token.kind === "special" && token.text === rule.unknown_token) : -1;
      this.patterns = rule.patterns.map((pattern) => VoltWords.compiled(pattern, table));
    }
    place(token, id) {
      if (token.kind === "symbol") this.names.set(token.text, id);
      else if (token.kind === "byte") this.bytes[parseInt(token.text.slice(3, 5), 16)] = id;
      else if (token.kind === "merged") this.merges.set(this.rule.merge_rule === "pairs" ? token.left * 0x2000000 + token.right : token.text, id);
      else if (token.kind === "character") this.characters.set(token.text, id);
      if (id < this.size && ["character", "merged", "piece"].includes(token.kind)) {
        this.known.set(token.text, id);
        this.longest = Math.max(this.longest, [...token.text].length);
      }
    }
    get byteLevel() { return this.rule.marks === "BYTES"; }
    get looksUp() { return this.rule.look_up !== null; }

    normalized(text) {
      return this.rule.normalize === "none" ? text : text.normalize(this.rule.normalize.toUpperCase());
    }

    // The tokens of one text, as Tokenizer.encode_with_offsets gives them: {id, start, end}, in
    // characters of the normalized text. Names of special tokens are text.
    encode(text) {
      const made = this.normalized(text), ids = [];
      let total = 0;
      this.pieces(made).forEach(({ piece, name }, i) => {
        if (name !== undefined) {
          ids.push(name);
          if (this.looksUp) total = this.add(total, this.add(utf8(this.pool[name].text).length * this.best, -0.1));
          return;
        }
        for (const word of this.words(piece, i === 0)) {
          if (this.rule.look_up?.restart === "space" && (word.text?.startsWith("▁") || this.rule.marks !== "SPACE")) total = 0;
          const found = this.word(word, total);
          total = found.total;
          ids.push(...found.ids);
        }
      });
      return this.fused(this.spans(made, ids));
    }

    // Symbols wherever they stand, the longest first, and the text between them.
    pieces(text) {
      const found = [];
      const longest = [...this.names.keys()].sort((a, b) => [...b].length - [...a].length);
      let start = 0;
      for (let i = 0; longest.length && i < text.length;) {
        const name = longest.find((one) => text.startsWith(one, i));
        if (name === undefined) {
          i++;
          continue;
        }
        found.push({ piece: text.slice(start, i) }, { name: this.names.get(name) });
        start = i += name.length;
      }
      return [...found, { piece: text.slice(start) }];
    }

    // Words: {text}, or {literal} for a `▁` that is in the text itself.
    words(piece, atStart) {
      const { look_up, marks, pretokenizer, space_first, word_ends } = this.rule;
      atStart &&= space_first;
      if (pretokenizer === "whitespace") return VoltWords.whitespace(piece).map((text) => ({ text }));
      if (marks === "BYTES") return VoltWords.byPatterns(piece, this.patterns).map((text) => ({ text }));
      const found = [];
      piece.split("▁").forEach((part, i) => {
        if (i > 0) found.push({ literal: true });
        let cut = word_ends === "kinds" && !look_up ? VoltWords.metaspace(part, this.table)
          : VoltWords.spaced(part, word_ends === "runs");
        if (part && (i > 0 || !atStart)) cut[0] = cut[0].slice(1);
        if (i === 0 && atStart && !part && piece) cut = ["▁"];
        for (const text of cut) if (text) found.push({ text });
      });
      return found;
    }

    word(word, total) {
      if (this.looksUp) return this.lookUp(word.literal ? [LITERAL] : this.spelled(word.text), total);
      if (word.literal) return { ids: this.unknownIds("▁"), total };
      let ids = this.cache.get(word.text);
      if (ids === undefined) {
        const nodes = this.nodes(word.text);
        const whole = this.rule.whole_words ? this.known.get(nodes.map((node) => this.pool[node.id].text).join("")) : undefined;
        ids = whole === undefined ? this.merge(nodes).flatMap((node) => this.split(node)) : [whole];
        this.cache.set(word.text, ids);
      }
      return { ids, total };
    }

    // The characters of a word, written as in the tokens.
    spelled(word) {
      if (this.byteLevel) return utf8(word).map((byte) => letters[byte]);
      const found = [...word];
      if (this.rule.marks === "WORD_END") found[found.length - 1] += "</w>";
      return found;
    }
    unknownIds(character) {
      return this.unknownId >= 0 ? [this.unknownId] : utf8(character).map((byte) => this.bytes[byte]);
    }

    // -------------------------------------------------------------------------------------- merges

    nodes(word) {
      return this.spelled(word).flatMap((symbol) => {
        const id = this.characters.get(symbol);
        if (id !== undefined) return [{ id }];
        const character = this.rule.marks === "SPACE" && symbol === "▁" ? " " : symbol.replace(/<\/w>$/, "");
        return this.unknownIds(character).map((one) => ({ id: one, alone: true }));
      });
    }

    // What two neighbours merge into; undefined if nothing.
    merged(left, right) {
      if (left.alone || right.alone) return undefined;
      return this.merges.get(this.rule.merge_rule === "pairs"
        ? left.id * 0x2000000 + right.id : this.pool[left.id].text + this.pool[right.id].text);
    }

    // Merge neighbours while any may merge: the earliest merge first, leftmost on a tie.
    merge(nodes) {
      const possible = nodes.slice(1).map((right, i) => this.merged(nodes[i], right));
      for (;;) {
        let best = -1, rank = Infinity;
        possible.forEach((id, i) => {
          if (id !== undefined && this.pool[id].order < rank) [rank, best] = [this.pool[id].order, i];
        });
        if (best < 0) return nodes;
        const [left, right] = nodes.slice(best, best + 2);
        nodes.splice(best, 2, { id: possible[best], left, right });
        possible.splice(best, 1);
        if (best > 0) possible[best - 1] = this.merged(nodes[best - 1], nodes[best]);
        if (best < possible.length) possible[best] = this.merged(nodes[best], nodes[best + 1]);
      }
    }

    // Break a hidden token into those it was merged from.
    split(node) {
      return node.id < this.size || !node.left ? [node.id] : [...this.split(node.left), ...this.split(node.right)];
    }

    // ------------------------------------------------------------------------------------- look-up

    lookUp(symbols, total) {
      if (this.rule.encoding === "unigram") return this.unigram(symbols, total);
      const found = this.takeLongest(symbols);
      if (this.unknownId >= 0 && found.some((one) => typeof one === "string")) return { ids: [this.unknownId], total };
      return { ids: this.idsOf(found), total };
    }
    // Ids, and the symbols that have none.
    idsOf(found) {
      return found.flatMap((one) => (typeof one === "string" ? this.unknownIds(one.replace("▁", " ").replace(LITERAL, "▁").replace(/<\/w>$/, "")) : [one]));
    }

    // The longest token, again and again.
    takeLongest(symbols) {
      const { longest_word, mark } = this.rule.look_up;
      if (longest_word && symbols.length > longest_word) return [""];
      const found = [];
      for (let start = 0; start < symbols.length;) {
        let end = Math.min(symbols.length, start + this.longest), id;
        for (; end > start; end--) {
          id = this.known.get((start ? mark : "") + symbols.slice(start, end).join(""));
          if (id !== undefined) break;
        }
        found.push(id ?? symbols[start]);
        start = Math.max(end, start + 1);
      }
      return found;
    }

    get best() {
      this.highest ??= [...this.known.values()].reduce((most, id) => Math.max(most, this.pool[id].score ?? 0), -Infinity);
      return this.highest;
    }
    add(a, b) {
      return this.rule.look_up?.arithmetic === "float32" ? Math.fround(Math.fround(a) + Math.fround(b)) : a + b;
    }
    // The tokens with the highest sum of scores. Of equal sums the one whose last token starts first.
    unigram(symbols, total) {
      const best = [{ sum: total }];
      for (let start = 0; start < symbols.length; start++) {
        let text = "";
        for (let end = start + 1; end <= Math.min(symbols.length, start + this.longest); end++) {
          text += symbols[end - 1];
          const id = this.known.get(text);
          if (id === undefined && end > start + 1) continue;
          const sum = this.add(id === undefined ? this.rule.look_up.unknown_score : this.pool[id].score, best[start].sum);
          if (!best[end] || sum > best[end].sum) best[end] = { sum, start, token: id ?? text };
        }
      }
      const found = [];
      for (let end = symbols.length; end > 0; end = best[end].start) found.unshift(best[end].token);
      return { ids: this.idsOf(found), total: best[symbols.length].sum };
    }

    // ------------------------------------------------------------------------------------- offsets

    // The bytes of text that a token stands for.
    bytesOf(token) {
      if (token.kind === "byte") return [parseInt(token.text.slice(3, 5), 16)];
      if (isName(token)) return utf8(token.text);
      if (this.byteLevel) return [...token.text].map((letter) => byteOf.get(letter));
      return utf8(this.plain(token.text));
    }
    plain(text) {
      const { marks } = this.rule;
      if (marks === "SPACE") return text.replaceAll("▁", " ");
      if (marks === "WORD_END") return text.replace(/<\/w>$/, "");
      return marks === "INNER" && text.startsWith("##") && text !== "##" ? text.slice(2) : text;
    }

    // As volt.tokenizing.offsets does it.
    spans(text, ids) {
      const characters = [...text];
      if (this.byteLevel) return this.byteSpans(characters, ids);
      const spaceBefore = this.rule.marks === "SPACE";
      // The space that is added before the text is at -1.
      let position = spaceBefore && this.rule.space_first && ids.length && !isName(this.pool[ids[0]]) ? -1 : 0;
      let left = 0; // bytes of a character that is spelled in byte tokens
      return ids.map((id) => {
        const token = this.pool[id];
        while (!spaceBefore && " \t\r\n".includes(characters[position] ?? "x")) position++;
        let length = 1;
        if (token.kind === "symbol") length = [...token.text].length;
        else if (token.kind === "special") {
          if (this.rule.encoding === "longest") length = this.wordLength(characters, position);
        } else if (token.kind === "byte") {
          left = (left || (position >= 0 ? utf8(characters[position]).length : 1)) - 1;
          length = left ? 0 : 1;
        } else length = [...this.plain(token.text)].length;
        const span = { id, start: Math.max(position, 0), end: Math.max(position + length, 0) + (length ? 0 : 1) };
        position += length;
        return span;
      });
    }
    byteSpans(characters, ids) {
      const owner = characters.flatMap((character, i) => utf8(character).map(() => i));
      let end = 0;
      return ids.map((id) => {
        const start = end;
        end += this.bytesOf(this.pool[id]).length;
        return { id, start: owner[start], end: owner[end - 1] + 1 };
      });
    }
    // `longest` takes a whole word for unknown.
    wordLength(characters, position) {
      const start = Math.max(position, 0);
      if (this.rule.marks === "SPACE" && characters[start] === "▁") return 1;
      const stops = this.rule.marks === "SPACE" ? " ▁" : " \t\r\n";
      let end = start + (this.rule.marks === "SPACE" && position === start ? 1 : 0);
      while (end < characters.length && !stops.includes(characters[end])) end++;
      return end - position;
    }
    // A run of unknown tokens is one, if the vocabulary says so.
    fused(found) {
      if (!this.rule.fuse_unknown) return found;
      return found.reduce((kept, one) => {
        const last = kept[kept.length - 1];
        if (last && one.id === this.unknownId && last.id === one.id && last.end === one.start) last.end = one.end;
        else kept.push(one);
        return kept;
      }, []);
    }
  }

  // The pool of the vocabulary, from what volt.report.compact.packed_vocabulary wrote.
  function vocabularyPool(packed) {
    const left = unpack(packed.left), right = unpack(packed.right);
    const order = running(unpackSigned(packed.order)).map((place) => place - 1);
    const scores = packed.scores ? unpackReals(packed.scores) : [];
    const pool = [];
    let text = 0, merge = 0, byte = 0, score = 0;
    for (const [kind, count] of packed.kinds) {
      for (let i = 0; i < count; i++) {
        if (kind === "merged") {
          pool.push({ text: null, kind, left: left[merge], right: right[merge], order: order[merge] });
          merge++;
        } else {
          pool.push({ text: kind === "byte" ? byteName(byte++) : packed.texts[text++], kind });
          if (kind === "character" || kind === "piece") pool[pool.length - 1].score = scores[score++];
        }
      }
    }
    fillTexts(pool);
    return pool;
  }

  // The text of a merged token is that of its parents, which may come after it.
  function fillTexts(pool) {
    const spell = (token) => (token.text ??= spell(pool[token.left]) + spell(pool[token.right]));
    pool.forEach(spell);
  }

  // Plain BPE of `merges` merges, with the names, bytes and rules of the vocabulary.
  function bpePool(bpe, merges, vocabulary) {
    const pool = vocabulary.filter((token) => isName(token) || token.kind === "byte");
    const shift = pool.length;
    bpe.alphabet.forEach((text, i) => {
      pool.push({ text, kind: i === bpe.unknown ? "none" : "character" });
    });
    for (let i = 0; i < merges; i++) {
      pool.push({ text: null, kind: "merged", left: bpe.left[i] + shift, right: bpe.right[i] + shift, order: i });
    }
    fillTexts(pool);
    return pool;
  }

  return { Encoder, bpePool, ruleOf, vocabularyPool };
})();
