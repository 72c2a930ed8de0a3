// Puts the data into the page as text, and draws the charts.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  document.getElementById("answer").textContent = data.answer;
  document.getElementById("lead").textContent = data.lead;
  document.getElementById("footer").textContent = `volt ${data.version}`;
  const table = document.getElementById("rows");
  data.head.forEach((title, i) => table.tHead.rows[0].append(make("th", title, i ? "number" : "")));
  for (const cells of data.rows) {
    const row = table.tBodies[0].insertRow();
    cells.forEach((cell, i) => row.append(make("td", cell, i ? "number" : "")));
  }
  for (const note of data.notes) document.querySelector("#notes ul").append(make("li", note));
  const drawn = [];
  for (const { title, caption, spec } of data.charts) {
    const figure = make("figure");
    const chart = make("div", undefined, "chart");
    figure.append(chart, make("figcaption", caption));
    document.getElementById("charts").append(make("h2", title), figure);
    drawn.push(vegaEmbed(chart, spec, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false,
      tooltip: false, config: VoltCharts.config(),
    }));
  }
  window.voltReport = { ready: Promise.all(drawn).then(() => true) };
})();
