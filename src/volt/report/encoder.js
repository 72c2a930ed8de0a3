// The encoder of volt.reference, in the browser: same words, same merges, same tokens.
"use strict";

const VoltEncoder = (() => {
  const OTHER = 0, LETTER = 1, MARK = 2, NUMBER = 3, SPACE = 4;
  const CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];

  // What volt.report.compact.packed wrote. Multiplication, since numbers may pass 32 bits.
  function unpack(text) {
    const data = atob(text);
    const numbers = [];
    let value = 0, factor = 1;
    for (let i = 0; i < data.length; i++) {
      const byte = data.charCodeAt(i);
      value += (byte & 127) * factor;
      if (byte & 128) {
        factor *= 128;
      } else {
        numbers.push(value);
        value = 0;
        factor = 1;
      }
    }
    return numbers;
  }

  const unpackSigned = (text) =>
    unpack(text).map((n) => (n % 2 ? -(n + 1) / 2 : n / 2));

  function running(differences) {
    let sum = 0;
    return differences.map((difference) => (sum += difference));
  }

  // volt's own table of character classes; the browser's may be of another Unicode version.
  function classTable(packed) {
    const numbers = unpack(packed);
    const starts = running(numbers.filter((_, i) => i % 2 === 0));
    const classes = numbers.filter((_, i) => i % 2 === 1);
    return (codePoint) => {
      let low = 0, high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (starts[middle] <= codePoint) low = middle; else high = middle - 1;
      }
      return classes[low];
    };
  }

  // GPT-2's letter of every byte, and back.
  const byteLetters = (() => {
    const letters = [];
    let next = 0x100;
    for (let byte = 0; byte < 256; byte++) {
      const prints = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      letters.push(String.fromCodePoint(prints ? byte : next++));
    }
    return letters;
  })();
  const letterBytes = new Map(byteLetters.map((letter, byte) => [letter, byte]));

  const utf8 = (text) => [...new TextEncoder().encode(text)];
  const byteName = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

  // ------------------------------------------------------------------------------- text -> words

  const whitespaceWords = (line) => line.split(/[ \t\r\n]+/).filter((word) => word);

  function metaspaceWords(line, classOf) {
    const found = [];
    let before = null;
    for (const character of line ? " " + line : "") {
      const kind = { [LETTER]: "letter", [MARK]: "letter", [NUMBER]: "number" }[
        classOf(character.codePointAt(0))] ?? "other";
      if (character === " ") {
        found.push("▁");
        before = "space";
      } else if (character === "▁") {
        before = null;
      } else if (before === kind || before === "space") {
        found[found.length - 1] += character;
        before = kind;
      } else {
        found.push(character);
        before = kind;
      }
    }
    return found;
  }

  function byteLevelWords(text, classOf) {
    const line = [...text];
    const kind = (i) => {
      const found = classOf(line[i].codePointAt(0));
      return found === MARK ? OTHER : found;
    };
    const runEnd = (start) => {
      let end = start;
      while (end < line.length && kind(end) === kind(start)) end++;
      return end;
    };
    const found = [];
    let start = 0;
    while (start < line.length) {
      const next = line.slice(start, start + 3).join("");
      const contraction = CONTRACTIONS.find((c) => next.startsWith(c));
      const body = line[start] === " " ? start + 1 : start;
      let end;
      if (contraction) {
        end = start + contraction.length;
      } else if (body < line.length && kind(body) !== SPACE) {
        end = runEnd(body);
      } else {
        end = runEnd(start);
        if (end < line.length && end - start > 1) end--;
      }
      found.push(line.slice(start, end).join(""));
      start = end;
    }
    return found;
  }

  // ------------------------------------------------------------------------------- the vocabulary

  // `pool`: {text, kind, parents} by id; merged tokens have their place in the order of merges.
  // The first `size` are the vocabulary, the others hidden.
  class Encoder {
    constructor({ pool, size, pretokenizer, mergeRule, unknown, unknownToken, normalize }, classOf) {
      Object.assign(this, { pool, size, pretokenizer, mergeRule, unknown, normalize, classOf });
      this.characters = new Map();
      this.names = new Map();
      this.bytes = [];
      this.merges = new Map();
      this.cache = new Map();
      pool.forEach((token, id) => {
        if (token.kind === "character") this.characters.set(token.text, id);
        else if (token.kind === "symbol") this.names.set(token.text, id);
        else if (token.kind === "byte") this.bytes[parseInt(token.text.slice(3, 5), 16)] = id;
        else if (token.kind === "merged") {
          const key = mergeRule === "pairs" ? token.left * 0x2000000 + token.right : token.text;
          this.merges.set(key, id);
        }
      });
      this.unknownId = pool.findIndex((token) => token.kind === "special" && token.text === unknownToken);
    }

    // The ids of one line, as Tokenizer.encode gives them. Names of special tokens are text.
    encode(text) {
      if (this.normalize !== "none") text = text.normalize(this.normalize.toUpperCase());
      const ids = [];
      this.pieces(text).forEach(({ piece, name }, i) => {
        if (name !== undefined) {
          ids.push(name);
          return;
        }
        for (const word of this.words(piece, i === 0)) {
          for (const id of this.encodeWord(word)) ids.push(id);
        }
      });
      return ids;
    }

    // Symbols wherever they stand, the longest first, and the text between them.
    pieces(text) {
      if (!this.names.size) return [{ piece: text }];
      const longest = [...this.names.keys()].sort((a, b) => [...b].length - [...a].length);
      const found = [];
      let start = 0, i = 0;
      while (i < text.length) {
        const name = longest.find((one) => text.startsWith(one, i));
        if (name === undefined) {
          i++;
          continue;
        }
        found.push({ piece: text.slice(start, i) }, { name: this.names.get(name) });
        start = i += name.length;
      }
      found.push({ piece: text.slice(start) });
      return found;
    }

    // Words to merge: {text} of known rules, or {literal} for a `▁` that is in the text itself.
    words(piece, atStart) {
      if (this.pretokenizer === "whitespace") return whitespaceWords(piece).map((text) => ({ text }));
      if (this.pretokenizer === "byte-level") {
        return byteLevelWords(piece, this.classOf).map((text) => ({ text }));
      }
      const found = [];
      piece.split("▁").forEach((part, i) => {
        if (i > 0) found.push({ literal: true });
        let cut = metaspaceWords(part, this.classOf);
        if (part && (i > 0 || !atStart)) cut[0] = cut[0].slice(1);
        if (i === 0 && atStart && !part && piece) cut = ["▁"];
        for (const text of cut) if (text) found.push({ text });
      });
      return found;
    }

    encodeWord(word) {
      if (word.literal) return this.spellUnknown("▁").map((node) => node.id);
      let ids = this.cache.get(word.text);
      if (ids === undefined) {
        ids = [];
        for (const node of this.merge(this.spell(word.text))) this.split(node, ids);
        this.cache.set(word.text, ids);
      }
      return ids;
    }

    spell(word) {
      if (this.pretokenizer === "byte-level") {
        return utf8(word).map((byte) => ({ id: this.characters.get(byteLetters[byte]) }));
      }
      const letters = [...word];
      return letters.flatMap((letter, i) => {
        const final = this.pretokenizer === "whitespace" && i === letters.length - 1;
        const id = this.characters.get(final ? letter + "</w>" : letter);
        if (id !== undefined) return [{ id }];
        const space = this.pretokenizer === "metaspace" && letter === "▁";
        return this.spellUnknown(space ? " " : letter);
      });
    }

    spellUnknown(character) {
      if (this.unknown === "unk") return [{ id: this.unknownId, alone: true }];
      return utf8(character).map((byte) => ({ id: this.bytes[byte], alone: true }));
    }

    // What two neighbours merge into; undefined if nothing.
    merged(left, right) {
      if (left.alone || right.alone) return undefined;
      return this.merges.get(
        this.mergeRule === "pairs"
          ? left.id * 0x2000000 + right.id
          : this.pool[left.id].text + this.pool[right.id].text);
    }

    // Merge neighbours while any may merge: the earliest merge first, leftmost on a tie.
    merge(nodes) {
      const possible = nodes.slice(1).map((right, i) => this.merged(nodes[i], right));
      for (;;) {
        let best = -1, rank = Infinity;
        for (let i = 0; i < possible.length; i++) {
          const id = possible[i];
          if (id !== undefined && this.pool[id].order < rank) {
            rank = this.pool[id].order;
            best = i;
          }
        }
        if (best < 0) return nodes;
        const [left, right] = nodes.slice(best, best + 2);
        nodes.splice(best, 2, { id: possible[best], left, right });
        possible.splice(best, 1);
        if (best > 0) possible[best - 1] = this.merged(nodes[best - 1], nodes[best]);
        if (best < possible.length) possible[best] = this.merged(nodes[best], nodes[best + 1]);
      }
    }

    // Break a hidden token into those it was merged from.
    split(node, ids) {
      if (node.id < this.size || !node.left) {
        ids.push(node.id);
        return;
      }
      this.split(node.left, ids);
      this.split(node.right, ids);
    }
  }

  // The pool of the vocabulary, from what volt.report.compact.packed_vocabulary wrote.
  function vocabularyPool(packed) {
    const left = unpack(packed.left), right = unpack(packed.right);
    const order = running(unpackSigned(packed.order)).map((place) => place - 1);
    const pool = [];
    let text = 0, merge = 0, byte = 0;
    for (const [kind, count] of packed.kinds) {
      for (let i = 0; i < count; i++) {
        if (kind === "merged") {
          pool.push({ text: null, kind, left: left[merge], right: right[merge], order: order[merge] });
          merge++;
        } else {
          pool.push({ text: kind === "byte" ? byteName(byte++) : packed.texts[text++], kind });
        }
      }
    }
    fillTexts(pool);
    return pool;
  }

  // Parents come before children in the order of merges, not always by id.
  function fillTexts(pool) {
    const merged = pool.filter((token) => token.kind === "merged");
    merged.sort((a, b) => a.order - b.order);
    for (const token of merged) token.text = pool[token.left].text + pool[token.right].text;
  }

  // Plain BPE of `merges` merges, with the names, bytes and rules of the vocabulary.
  function bpePool(bpe, merges, vocabulary) {
    const pool = vocabulary.filter((token) => ["special", "symbol", "byte"].includes(token.kind));
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

  return { Encoder, bpePool, classTable, letterBytes, running, unpack, vocabularyPool };
})();
