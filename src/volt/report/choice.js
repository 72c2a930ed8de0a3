// The cheapest size that costs no measurable quality, for any model: the same rule and the same sums
// as volt.choosing.cost, so that page and command line say the same size.
"use strict";

const VoltChoice = (() => {
  const FACTORS = { "": 1, K: 1e3, M: 1e6, B: 1e9, T: 1e12 };

  // A name from the table, or PARAMS:WIDTH such as 300M:1024; null for anything else.
  function parseModel(text, models) {
    const named = models.find((model) => model.name === text);
    if (named) return named;
    const found = /^\s*(\d+(?:\.\d+)?)([KMBT]?):(\d{1,6})\s*$/i.exec(text);
    if (!found) return null;
    const body = Math.round(Number(found[1]) * FACTORS[found[2].toUpperCase()]);
    const width = Number(found[3]);
    return body > 0 && body <= 1e15 && width > 0 ? { name: text.trim(), body, width } : null;
  }

  // The tokens of the corpus at every size from `first` on. Counts are in units of 1 / unit.
  function everySize({ size, tokens, runs, sizes }, unit) {
    if (!runs) return divided(interpolated(sizes, tokens), unit);
    const found = [tokens];
    for (const [saved, count] of runs) {
      for (let i = 0; i < count; i++) found.push(found[found.length - 1] - saved);
    }
    return divided({ first: size, tokens: found }, unit);
  }
  const divided = ({ first, tokens }, unit) => ({ first, tokens: tokens.map((one) => one / unit) });
  // Between measured sizes on a line over the logarithm of the size.
  function interpolated(sizes, tokens) {
    const found = [];
    for (let size = sizes[0], i = 0; size <= sizes[sizes.length - 1]; size++) {
      while (i + 2 < sizes.length && size >= sizes[i + 1]) i++;
      found.push(between(size, sizes, tokens, i));
    }
    return { first: sizes[0], tokens: found };
  }
  function between(size, sizes, values, i) {
    if (sizes.length === 1) return values[0];
    const slope = (values[i + 1] - values[i]) / (Math.log(sizes[i + 1]) - Math.log(sizes[i]));
    return slope * (Math.log(size) - Math.log(sizes[i])) + values[i];
  }
  // A value of the quality curve, which has few points.
  function at(size, sizes, values) {
    let i = 0;
    while (i + 2 < sizes.length && size >= sizes[i + 1]) i++;
    return between(size, sizes, values, i);
  }

  const cost = (tokens, size, model) => tokens * (model.body + size * model.width);

  function lowest({ first, tokens }, model, low, high) {
    let best = null, least = Infinity;
    const end = Math.min(high, first + tokens.length - 1);
    for (let size = Math.max(low, first); size <= end; size++) {
      const value = cost(tokens[size - first], size, model);
      if (value < least) [best, least] = [size, value];
    }
    return best;
  }

  // To the nearest multiple inside the range, the lower of two; as it is if there is none.
  function rounded(size, [low, high], multiple) {
    const step = multiple || (size < 4096 ? 8 : 64);
    const down = Math.floor(size / step) * step;
    const inside = [down, down + step].filter((one) => one >= low && one <= high);
    return inside.sort((a, b) => Math.abs(a - size) - Math.abs(b - size) || a - b)[0] ?? size;
  }

  function choose(sizes, quality, model, multiple) {
    const first = sizes.first, last = first + sizes.tokens.length - 1;
    const [low, high] = quality ? quality.range : [first, last];
    const whole = lowest(sizes, model, first, last);
    const cheapest = lowest(sizes, model, low, high);
    const size = quality ? rounded(cheapest, [low, high], multiple) : cheapest;
    return { size, lowest: whole, by: first === last ? "only" : reason(whole, last, quality) };
  }
  function reason(cheapest, last, quality) {
    if (!quality) return "cost";
    const [low, high] = quality.range;
    if (cheapest >= low && cheapest <= high) return cheapest === last ? "merges" : "cost";
    return quality.open_upward && cheapest > high ? "merges" : "quality";
  }

  return { at, choose, cost, everySize, parseModel };
})();
