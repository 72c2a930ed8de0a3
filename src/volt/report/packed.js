// What volt.report.compact wrote, and bytes as text.
"use strict";

const VoltPacked = (() => {
  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

  // Whole numbers from 0 on. Multiplication, since they may pass 32 bits.
  function unpack(text) {
    const numbers = [];
    let value = 0, factor = 1;
    for (const byte of bytesOf(text)) {
      value += (byte & 127) * factor;
      factor *= 128;
      if (byte < 128) {
        numbers.push(value);
        [value, factor] = [0, 1];
      }
    }
    return numbers;
  }
  const unpackSigned = (text) => unpack(text).map((n) => (n % 2 ? -(n + 1) / 2 : n / 2));
  const unpackReals = (text) => [...new Float64Array(bytesOf(text).buffer)];

  function running(differences) {
    let sum = 0;
    return differences.map((difference) => (sum += difference));
  }

  // GPT-2's letter of every byte, and back.
  const letters = [];
  for (let byte = 0, next = 0x100; byte < 256; byte++) {
    const prints = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    letters.push(String.fromCodePoint(prints ? byte : next++));
  }
  const byteOf = new Map(letters.map((letter, byte) => [letter, byte]));
  const utf8 = (text) => [...new TextEncoder().encode(text)];
  const byteName = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

  return { byteName, byteOf, bytesOf, letters, running, unpack, unpackReals, unpackSigned, utf8 };
})();
