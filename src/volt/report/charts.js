// Vega-Lite specifications. Data come in as values, never as expressions.
"use strict";

const VoltCharts = (() => {
  const STAR = "M0,-1L0.235,-0.324L0.951,-0.309L0.38,0.124L0.588,0.809L0,0.4L-0.588,0.809L-0.38,0.124L-0.951,-0.309L-0.235,-0.324Z";
  // Criteria take colours and dashes in the order in which they are listed.
  const DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 4], [12, 4], [4, 2, 1, 2], [10, 2, 2, 2]];
  const COLORS = {
    light: { ink: "#1b1d21", soft: "#5b616b", line: "#d9dad5", accent: "#0b5cad", second: "#b3450b", cost: "#6b5b00",
      criteria: ["#b3450b", "#0b5cad", "#6b5b00", "#1d7a3a", "#7a3f9d", "#9c2f5f", "#00696b", "#4d4d4d"], heat: "blues" },
    dark: { ink: "#e8e9ea", soft: "#a3aab4", line: "#353a41", accent: "#7fb8f5", second: "#f2a272", cost: "#d9c65c",
      criteria: ["#f2a272", "#7fb8f5", "#d9c65c", "#7fd39a", "#c9a0ea", "#f095bd", "#6fd6d8", "#b8b8b8"], heat: "darkblue" },
  };
  const colors = () =>
    COLORS[matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"];

  const style = (place) => {
    const all = colors().criteria;
    return { color: all[place % all.length], dash: DASHES[place % DASHES.length] };
  };

  const config = () => {
    const c = colors();
    return {
      background: null, font: "system-ui, sans-serif",
      view: { stroke: null },
      axis: { labelColor: c.soft, titleColor: c.soft, gridColor: c.line, domainColor: c.line, tickColor: c.line,
        titleFontWeight: "normal", labelFontSize: 11, titleFontSize: 12 },
      legend: { labelColor: c.soft, titleColor: c.soft, titleFontWeight: "normal" },
      text: { color: c.ink },
    };
  };

  // A chart is one picture with a description; its marks mean nothing to a screen reader.
  function describe(element, { description }) {
    const svg = element.querySelector("svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", description);
    for (const part of svg.children) part.setAttribute("aria-hidden", "true");
  }

  // Layers without data have no extent, which the library warns about.
  const base = (height, layers, extra) => ({
    width: "container", height, autosize: { type: "fit", contains: "padding" },
    layer: layers.filter((one) => one.data.values.length), ...extra,
  });
  const yAxis = (title, format) =>
    ({ title, format, minExtent: 54, maxExtent: 54, titleX: -48, tickCount: 4 });
  const logSize = (domain, labels) => ({
    field: "size", type: "quantitative", scale: { type: "log", domain, nice: false },
    axis: { title: labels ? "size in tokens (log scale)" : null, grid: false,
      format: "~s", labels, ticks: labels, values: roundSizes(domain), labelOverlap: true, labelBound: true },
  });
  // 1, 2 and 5 times the powers of ten: few enough for a phone. A short axis needs them all.
  function roundSizes([low, high]) {
    const parts = high / low < 8 ? [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9] : [1, 2, 5];
    const found = [];
    for (let unit = 1; unit <= high; unit *= 10) found.push(...parts.map((part) => part * unit));
    return found.filter((size) => size >= low && size <= high);
  }
  const marker = (domain) => ({
    data: { values: [{}] },
    mark: { type: "rule", strokeWidth: 2, opacity: 0.9, color: colors().ink },
    encoding: { x: { datum: { expr: "marker" }, type: "quantitative", scale: { type: "log", domain, nice: false } } },
  });
  const params = (size) => [{ name: "marker", value: size }];
  // Invisible columns behind the line, each from half way before its point to half way after it: what
  // is under the pointer shows its values.
  const columns = (values, x) => ({
    data: { values: values.map((row, i) => {
      const at = row[x.field];
      const half = (other) => (other ? Math.sqrt(at * other[x.field]) : at);
      return { [x.field]: half(values[i - 1]), end: half(values[i + 1]), tip: row.tip };
    }) },
    mark: { type: "rect", opacity: 0 },
    encoding: { x, x2: { field: "end" }, tooltip: { field: "tip", type: "nominal" } },
  });

  // ---------------------------------------------------------------------------- quality and cost

  const values = (list) => ({ values: list });
  const tooltip = { field: "tip", type: "nominal" };
  const starred = (chosen, x, y) => ({ data: values(chosen), mark: { type: "point", shape: STAR, filled: true, size: 320, color: colors().second, opacity: 1, stroke: colors().ink, strokeWidth: 0.8, clip: true },
    encoding: { x, y, tooltip } });
  const ruled = (list, x, mark) => ({ data: values(list), mark: { type: "rule", ...mark }, encoding: { x, tooltip } });
  const shaded = (range, x) => (range ? [{ data: values([{ size: range.low, end: range.high, tip: range.tip }]), mark: { type: "rect", color: colors().accent, opacity: 0.13 },
    encoding: { x, x2: { field: "end" } } }] : []);

  // What both panels show: the range, the paper's choice, the answer and another size.
  const frame = ({ range, paper, chosen, rows, domain }, x, layers) => {
    const c = colors();
    return [...shaded(range, x), columns(rows, x),
      ruled(paper, x, { color: c.soft, strokeDash: [2, 3], strokeWidth: 1.4 }),
      marker(domain), ruled(chosen, x, { color: c.second, strokeWidth: 1.4 }), ...layers];
  };

  function quality(input) {
    const c = colors();
    const { measured, range, splits, ticks, chosen, domain, size, top } = input;
    const x = logSize(domain, false);
    const y = { field: "loss", type: "quantitative", scale: { domain: [-0.07 * top.loss, top.loss], nice: false }, axis: yAxis("quality lost", "~%") };
    return base(190, frame(input, x, [
      { data: values(range ? [{ size: range.low, end: range.high, loss: range.tolerance }] : []), mark: { type: "rule", color: c.accent, strokeDash: [4, 3], opacity: 0.7 }, encoding: { x, x2: { field: "end" }, y } },
      { data: values(splits), mark: { type: "line", color: c.accent, strokeWidth: 1, opacity: 0.35, clip: true }, encoding: { x, y, detail: { field: "part" } } },
      { data: values(measured), mark: { type: "line", color: c.accent, strokeWidth: 2.4, clip: true }, encoding: { x, y } },
      { data: values(ticks), mark: { type: "tick", orient: "vertical", color: c.second, thickness: 1.5, size: 16, yOffset: 8 }, encoding: { x, y: { datum: top.loss, type: "quantitative" }, tooltip } },
      starred(chosen.filter((one) => one.score), x, y),
    ]), { params: params(size), description: "Quality over vocabulary size: held-out bits per byte above the best" });
  }

  function cost(input) {
    const c = colors();
    const { rows, chosen, lowest, domain, size, top } = input;
    const x = logSize(domain, true);
    const y = { field: "extra", type: "quantitative", scale: { domain: [-0.07 * top.extra, top.extra], nice: false }, axis: yAxis("extra cost", "~%") };
    return base(170, frame(input, x, [
      { data: values(rows), mark: { type: "line", color: c.cost, strokeWidth: 2.4, strokeDash: [7, 3], clip: true }, encoding: { x, y } },
      { data: values(lowest.map((row) => ({ ...row, tip: `lowest cost\n${row.tip}` }))), mark: { type: "point", size: 60, color: c.cost, filled: true, opacity: 1, clip: true }, encoding: { x, y, tooltip } },
      starred(chosen, x, y),
    ]), { params: params(size), description: "Cost over vocabulary size, above the lowest" });
  }

  // The price of an entry when transport selects tokens, over the sizes that it makes.
  function mu({ rows, chosen, domain }) {
    const x = logSize(domain, true);
    const y = { field: "mu", type: "quantitative", scale: { type: "log", nice: false }, axis: { ...yAxis("tokens saved", "~s"), values: [1, 10, 100, 1e3, 1e4, 1e5, 1e6] } };
    return base(170, [
      columns(rows, x),
      ruled(chosen, x, { color: colors().second, strokeWidth: 1.4 }),
      { data: values(rows), mark: { type: "line", point: { filled: true, size: 28, color: colors().accent }, color: colors().accent, strokeWidth: 2 }, encoding: { x, y } },
      starred(chosen, x, y),
    ], { description: "mu over vocabulary size: tokens of text that one more entry saves" });
  }

  // ------------------------------------------------------------------------------------- the paper

  function entropy({ rows, steps, choices, criteria, chosen, domain }) {
    const c = colors();
    const x = logSize(domain, !steps.some((step) => step.muv !== null));
    const y = { field: "entropy", type: "quantitative", scale: { zero: false, padding: 6 }, axis: yAxis("H (nats)", ".2f") };
    return base(250, [
      columns(rows, x),
      { data: values(choices), mark: { type: "rule", strokeWidth: 1.6 },
        encoding: { x,
          color: { field: "criterion", type: "nominal", legend: null, scale: { domain: criteria, range: criteria.map((_, i) => style(i).color) } },
          strokeDash: { field: "criterion", type: "nominal", legend: null, scale: { domain: criteria, range: criteria.map((_, i) => style(i).dash) } },
          tooltip } },
      { data: values(rows), mark: { type: "line", color: c.accent, strokeWidth: 2 }, encoding: { x, y } },
      { data: values(steps), mark: { type: "point", filled: true, size: 45, color: c.second, opacity: 1 }, encoding: { x, y, tooltip } },
      starred(chosen, x, y),
    ], { description: "Entropy over vocabulary size" });
  }

  function muv({ steps, domain }) {
    const c = colors();
    const bars = steps.filter((step) => step.muv !== null);
    const x = logSize(domain, true);
    return base(130, [
      { data: values(bars), mark: { type: "bar", size: 7 },
        encoding: { x, y: { field: "muv", type: "quantitative", axis: yAxis("MUV, 1e-6", "~r") },
          color: { field: "chosen", type: "nominal", legend: null, scale: { domain: [false, true], range: [c.soft, c.second] } },
          tooltip } },
    ], { description: "Marginal utility of vocabularization over vocabulary size" });
  }

  function transport({ cells, tokens, characters, width }) {
    const c = colors();
    const x = { field: "token", type: "ordinal", sort: tokens, axis: { title: "tokens, by the mass they ask for", labelAngle: -60, orient: "top", labelFont: "monospace", labelOverlap: false } };
    const y = { field: "character", type: "ordinal", sort: characters, axis: { title: "characters", labelFont: "monospace", labelOverlap: false } };
    return {
      width: Math.max(tokens.length * 17, width), height: { step: 15 }, data: { values: cells },
      description: "Transport plan between frequent characters and tokens",
      mark: { type: "rect", stroke: c.line, strokeWidth: 0.3 },
      encoding: { x, y,
        color: { field: "mass", type: "quantitative", scale: { type: "log", scheme: matchMedia("(prefers-color-scheme: dark)").matches ? "viridis" : "blues" },
          legend: { title: "share of all characters", orient: "bottom", format: ".0e", gradientLength: Math.min(260, width - 20), tickCount: 4 } },
        tooltip: { field: "tip", type: "nominal" } },
    };
  }

  const bars = (values, x, title, height = 170) => ({
    width: "container", height, autosize: { type: "fit", contains: "padding" }, data: { values }, description: `Number of tokens by ${x.axis.title}`,
    mark: { type: "bar", color: colors().accent },
    encoding: { x, y: { field: "count", type: "quantitative", axis: yAxis(title, "~s") }, tooltip: { field: "tip", type: "nominal" } },
  });
  const lengths = (values) => bars(values,
    { field: "length", type: "ordinal", sort: null, axis: { title: "length", labelAngle: 0, labelOverlap: true } }, "tokens");
  const frequencies = (values) => bars(values,
    { field: "range", type: "ordinal", sort: null, axis: { title: "occurrences", labelAngle: -45, labelOverlap: false } }, "tokens");

  function ranks(values) {
    const scale = { type: "log", nice: false };
    const x = { field: "rank", type: "quantitative", scale, axis: { title: "rank", format: "~s", tickCount: 6, grid: false } };
    const y = { field: "frequency", type: "quantitative", scale, axis: yAxis("frequency", "~s") };
    return base(200, [
      columns(values, x),
      { data: { values }, mark: { type: "line", color: colors().accent, strokeWidth: 2 }, encoding: { x, y } },
    ], { description: "Frequency of tokens over their rank" });
  }

  function files(values, title) {
    const c = colors();
    return {
      width: "container", height: 26 * values.length + 45, autosize: { type: "fit", contains: "padding" }, data: { values }, description: title,
      encoding: { y: { field: "label", type: "ordinal", sort: null, axis: { title: null, labelLimit: 140 } },
        x: { field: "value", type: "quantitative", axis: { title, tickCount: 6 } },
        tooltip: { field: "tip", type: "nominal" } },
      layer: [{ mark: { type: "bar", color: c.accent, height: 14 } }],
    };
  }

  return { STAR, colors, config, cost, describe, entropy, files, frequencies, lengths, mu, muv, quality, ranks, style, transport };
})();
