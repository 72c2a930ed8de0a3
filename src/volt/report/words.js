// Text -> words, as volt.reference.words cuts it. Byte-level text is cut by the regular expressions
// that other toolkits use, with volt's own tables in place of \p{L} and the like: the browser's may
// be of another Unicode version.
"use strict";

const VoltWords = (() => {
  // The classes of tools/page_unicode.py.
  const OTHER = 0, LETTER = 1, MARK = 2, NUMBER = 3, SPACE = 4, UPPER = 5, LOWER = 6, SIGN = 7;
  const LETTERS = [LETTER, UPPER, LOWER];
  const NAMED = {
    "\\p{L}": LETTERS, "\\p{N}": [NUMBER], "\\p{M}": [MARK], "\\s": [SPACE], "\\p{P}\\p{S}": [SIGN],
    "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}": [UPPER, LETTER], "\\p{Ll}\\p{Lm}\\p{Lo}": [LOWER, LETTER],
  };

  // `numbers`: where the class changes, as differences, and to what.
  function classTable(numbers) {
    const starts = VoltPacked.running(numbers.filter((_, i) => i % 2 === 0));
    const classes = numbers.filter((_, i) => i % 2 === 1);
    const of = (codePoint) => {
      let low = 0, high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (starts[middle] <= codePoint) low = middle; else high = middle - 1;
      }
      return classes[low];
    };
    // All characters of some classes, for the brackets of a regular expression.
    const escaped = (codePoint) => `\\u{${codePoint.toString(16)}}`;
    const ranges = (wanted) => classes.map((one, i) =>
      (wanted.includes(one) ? `${escaped(starts[i])}-${escaped((starts[i + 1] ?? 0x110000) - 1)}` : "")).join("");
    return { of, ranges };
  }

  // A regular expression of other toolkits as one of the browser. What the tables do not have is
  // left to the browser. An error if it is not a regular expression there.
  function compiled(pattern, table) {
    const plain = pattern.replaceAll("++", "+").replace(/\(\?i:([^()]*)\)/g, (_, inner) =>
      `(?:${inner.replace(/[a-z]/g, (c) => `[${c}${c.toUpperCase()}${c === "s" ? "ſ" : ""}]`)})`);
    const named = Object.keys(NAMED).sort((a, b) => b.length - a.length);
    let found = "", inside = false;
    for (let i = 0; i < plain.length;) {
      const name = named.find((one) => plain.startsWith(one, i));
      const part = name ?? (plain[i] === "\\" ? plain.slice(i, i + 2) : plain[i]);
      i += part.length;
      if (part === "[") inside = true;
      if (part === "]") inside = false;
      if (part === "\\S" && !inside) found += `[^${table.ranges([SPACE])}]`;
      else if (name) found += inside ? table.ranges(NAMED[name]) : `[${table.ranges(NAMED[name])}]`;
      // Escapes that the browser does not allow, such as \# and \<, stand for the character itself.
      else found += /^\\[^\w^$\\.*+?()[\]{}|/-]$/.test(part) ? part[1] : part;
    }
    return new RegExp(found, "gu");
  }

  // What a pattern matches is a word, and so is what is between two matches.
  function* matches(text, pattern) {
    let end = 0;
    for (const match of text.matchAll(pattern)) {
      if (match.index > end) yield text.slice(end, match.index);
      if (match[0]) yield match[0];
      end = match.index + match[0].length;
    }
    if (end < text.length) yield text.slice(end);
  }
  // Each pattern cuts what the one before has left.
  const byPatterns = (text, patterns) =>
    patterns.reduce((parts, pattern) => parts.flatMap((part) => [...matches(part, pattern)]), text ? [text] : []);

  const whitespace = (line) => line.split(/[ \t\r\n]+/).filter((word) => word);

  // Metaspace: words end where letters, numbers and other characters meet.
  function metaspace(line, table) {
    const found = [];
    let before = null;
    for (const character of line ? " " + line : "") {
      const kind = table.of(character.codePointAt(0));
      const group = LETTERS.includes(kind) || kind === MARK ? LETTER : kind === NUMBER ? NUMBER : OTHER;
      if (character === " ") {
        found.push("▁");
        before = SPACE;
      } else if (before === group || before === SPACE) {
        found[found.length - 1] += character;
        before = group;
      } else {
        found.push(character);
        before = group;
      }
    }
    return found;
  }
  // Metaspace for vocabularies whose words end at spaces only, or at runs of them.
  const spaced = (line, runs) => (line ? ` ${line}` : "").split(runs ? /(?<! )(?= )/ : /(?= )/).filter((word) => word)
    .map((word) => word.replaceAll(" ", "▁"));

  return { byPatterns, classTable, compiled, metaspace, spaced, whitespace };
})();
