// What all sections of the page use. Text goes in as text: no HTML is ever made from it.
"use strict";

const VoltPage = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);

  function make(tag, content, attributes = {}) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") element.className = value;
      else if (value !== undefined) element.setAttribute(name, value);
    }
    for (const part of Array.isArray(content) ? content : [content]) {
      if (part !== undefined && part !== null && part !== "") element.append(part);
    }
    return element;
  }
  const whole = (n) => Math.round(n).toLocaleString("en-US");
  const fixed = (n, digits = 2) =>
    n.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const percent = (share) => {
    if (share === 0) return "0%";
    if (share < 0.00001) return "< 0.001%";
    return `${fixed(share * 100, share < 0.01 ? 3 : 1)}%`;
  };
  const short = (n) => {
    if (n === null || n === undefined) return "-";
    return n !== 0 && (Math.abs(n) < 1e-3 || Math.abs(n) >= 1e6) ? n.toExponential(3) : String(Number(n.toPrecision(4)));
  };
  const shortNumber = (n) => {
    const [unit, letter] = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]].find(([unit]) => n >= unit) || [1, ""];
    return `${Number((n / unit).toPrecision(4))}${letter}`;
  };
  const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;
  const figures = (list, entries) => {
    const shown = entries.filter((entry) => entry);
    // Six in a row at most, and about as many in each row: none is alone in the last.
    list.style.setProperty("--columns", Math.ceil(shown.length / Math.ceil(shown.length / 6)));
    list.replaceChildren(...shown.map(([name, value, more]) =>
      make("div", [make("dt", name), make("dd", more ? [`${value} `, make("small", more)] : value)])));
  };
  const say = (id, text) => { find(id).textContent = text; };
  // Tokens in a row; the box can be scrolled with the keyboard.
  const chips = (list, label) => make("div", list.map(([text, title]) => make("span", text, { class: "token", title })),
    { class: "chips", tabindex: "0", role: "group", "aria-label": label });
  // Spaces, line ends and what does not print, made visible.
  const SIGNS = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍" };
  const visible = (text) => text.replace(/[\p{C}\p{Zl}\p{Zp}\p{Zs}]/gu, (c) => SIGNS[c] ?? `\\u{${c.codePointAt(0).toString(16).toUpperCase()}}`);

  // Labels must differ to be two rows of a chart.
  function labels(texts) {
    const seen = new Map();
    return texts.map((text) => {
      const count = (seen.get(text) || 0) + 1;
      seen.set(text, count);
      return count === 1 ? text : `${text} (${count})`;
    });
  }

  // A small picture of a line or a shape, and what it stands for in a chart.
  const STAR = VoltCharts.STAR;
  function key(shape, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    element.setAttribute("aria-hidden", "true");
    const part = document.createElementNS("http://www.w3.org/2000/svg", shape.tag);
    for (const [name, value] of Object.entries(shape)) if (name !== "tag") part.setAttribute(name, value);
    element.append(part);
    return make("span", [element, text]);
  }
  const line = (color, dash = []) => ({ tag: "line", x1: 0, y1: 6, x2: 26, y2: 6, stroke: color, "stroke-width": 2.4, "stroke-dasharray": dash.join(" ") });
  const star = (color) => ({ tag: "path", transform: "translate(13 6) scale(8)", fill: color, d: STAR });

  // ------------------------------------------------------------------------------------- the charts

  const tip = make("div", "", { id: "tip", hidden: "" });
  document.body.append(tip);
  function showTip(_, event, item, value) {
    if (value === null || value === undefined || value === "") {
      tip.hidden = true;
      return;
    }
    tip.textContent = String(value);
    tip.hidden = false;
    const { innerWidth, innerHeight } = window;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8))}px`;
  }

  const views = {};
  async function draw(id, spec) {
    // `ast`: expressions are interpreted, so that the page needs no eval.
    const result = await vegaEmbed(find(id), spec, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false,
      tooltip: showTip, config: VoltCharts.config(),
    });
    VoltCharts.describe(find(id), spec);
    if (views[id]) views[id].finalize();
    views[id] = result.view;
    return result.view;
  }

  return { chips, data, draw, figures, find, fixed, key, labels, line, make, percent, plural, say, short, shortNumber, star, views, visible, whole };
})();
