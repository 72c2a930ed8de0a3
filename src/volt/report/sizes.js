// Quality and cost over size, the choice where they meet, another model and another size.
"use strict";

const VoltSizes = (() => {
  const { data, draw, figures, find, fixed, key, line, make, percent, say, short, shortNumber, star, views, whole } = VoltPage;
  const { corpus, curve, choices: learned, models } = data;
  const unit = data.vocabulary.unit;
  const quality = (learned && learned.quality) || null;
  // Sizes that no part of the text reaches have no score.
  const scored = quality && quality.sizes.map((size, i) => [size, quality.scores[i]]).filter(([, score]) => score !== null);
  const best = quality && Math.min(...scored.map(([, score]) => score));
  const published = learned && learned.paper_sizes === "given" ? "the VOLT paper, your sizes" : "the VOLT paper";
  const tolerance = quality && `${Number((quality.tolerance * 100).toPrecision(3))}%`;
  const inBits = quality && !Object.keys(quality.languages || {}).length;
  const every = data.tokens && VoltChoice.everySize(data.tokens, unit);
  const perLine = corpus && corpus.lines > 0;
  const own = (learned && learned.cost && learned.cost.model) || models[0];
  const multiple = (learned && learned.cost && learned.cost.multiple_of) || null;
  const rows = !curve ? [] : curve.size.map((size, i) => {
    const used = curve.tokens[i] / unit;
    const row = { size, tokens: curve.tokens[i], entropy: curve.entropy[i], used, length: perLine ? used / corpus.lines : used };
    // Beyond the sizes that some part of the text reaches nothing is known.
    if (quality && size >= scored[0][0] && size <= scored[scored.length - 1][0]) {
      row.score = VoltChoice.at(size, scored.map(([one]) => one), scored.map(([, score]) => score));
      row.loss = row.score / best - 1;
    }
    return row;
  });
  const CHARTS = ["chart-quality", "chart-cost"];
  let model = own;
  const sameModel = () => model.body === own.body && model.width === own.width;

  const more = (share) => `${fixed(share * 100, share < 0.1 ? 2 : 1)}%`;
  const above = (share) => `${more(share)} above`;

  function nearestRow(size) {
    let best = 0;
    rows.forEach((row, i) => {
      if (Math.abs(Math.log(row.size / size)) < Math.abs(Math.log(rows[best].size / size))) best = i;
    });
    return best;
  }

  // ----------------------------------------------------------------------------------- the choice

  // What auto chooses for the model; without tokens at every size nothing is known.
  const choice = () => (every ? VoltChoice.choose(every, quality, model, multiple) : null);
  // What is marked: the answer, unless another model was asked for.
  const marked = () => (learned && sameModel() ? learned.size : choice() ? choice().size : null);

  function price() {
    const least = rows.reduce((least, row) => Math.min(least, VoltChoice.cost(row.tokens, row.size, model)), Infinity);
    for (const row of rows) {
      row.extra = VoltChoice.cost(row.tokens, row.size, model) / least - 1;
      row.tip = [`${whole(row.size)} tokens`,
        ...(row.score ? [`quality ${inBits ? `${row.score.toFixed(4)} bits per byte, ` : ""}${above(row.loss)} the best`] : []),
        `cost ${above(row.extra)} the lowest`,
        perLine ? `${fixed(row.length)} tokens per line` : `${whole(row.length)} tokens of text`].join("\n");
    }
  }

  function sayChoice() {
    const found = choice();
    if (!found) return;
    const ends = found.lowest >= curve.size[curve.size.length - 1];
    const words = [`For ${shortNumber(model.body)} parameters and width ${whole(model.width)}: `, make("strong", `${whole(found.size)} tokens`), ". "];
    if (found.by === "only") words.push("There is no other size: the text gives nothing to merge.");
    else if (!quality) words.push(`The cost ${ends ? "still falls at the last size," : "is lowest at"} ${whole(found.lowest)}; no quality was measured.`);
    else if (found.by === "merges") words.push(`There are no more merges; the cost ${found.lowest > found.size ? `would be lowest at ${whole(found.lowest)}` : "still falls there"}.`);
    else if (found.by === "cost") words.push(`The cost is lowest at ${whole(found.lowest)}, inside the range.`);
    else words.push(`The quality range ${found.lowest > found.size ? "ends" : "begins"} there; the cost ${ends ? "still falls at the last size," : "would be lowest at"} ${whole(found.lowest)}.`);
    if (!sameModel()) words.push(" To learn it: ", make("code", `volt learn ... --for-model ${model.name}`));
    else if (learned && learned.size !== found.size) words.push(` This vocabulary has the size that ${learned.criterion === "size" ? "was given" : `${learned.criterion} chose`}.`);
    find("model-choice").replaceChildren(...words);
  }

  function modelField() {
    if (!every) {
      find("models").hidden = true;
      return;
    }
    const preset = models.find((one) => one.name === own.name);
    const option = (name, label, title) => make("label", [make("input", "", { type: "radio", name: "model", value: name }), make("span", label)], { title });
    find("model-list").append(
      ...models.map((one) => option(one.name, one.name, `${shortNumber(one.body)} parameters outside the embeddings, width ${whole(one.width)}`)),
      option("", "your own", "parameters outside the embeddings, and embedding width"));
    const field = find("model-own");
    if (!preset) field.value = `${shortNumber(own.body)}:${own.width}`;
    const radio = (name) => find("model-list").querySelector(`input[value="${name}"]`);
    radio(preset ? preset.name : "").checked = true;
    const change = (event) => {
      if (event.target === field) radio("").checked = true;
      const named = find("model-list").querySelector("input:checked").value;
      const found = VoltChoice.parseModel(named || field.value, models);
      field.setAttribute("aria-invalid", String(!found));
      if (!found) {
        say("model-choice", "Parameters outside the embeddings, and embedding width: for example 300M:1024.");
        if (!named && event.target !== field) field.focus();
        return;
      }
      setModel(found);
    };
    find("model-list").addEventListener("change", change);
    field.addEventListener("input", change);
    sayChoice();
  }

  function setModel(other) {
    model = other;
    price();
    sayChoice();
    moveMarker(nearestRow(marked()));
    return drawSizes();
  }

  // ------------------------------------------------------------------------------------ the charts

  function input() {
    const paper = learned && learned.choices.find((one) => one.criterion === "muv" && one.size !== null);
    const size = marked(), first = rows[0].size, last = rows[rows.length - 1].size;
    const splits = learned && sameModel() ? (learned.splits || []).filter((one) => one !== null) : [];
    const range = quality && { low: quality.range[0], high: quality.range[1], tolerance: quality.tolerance,
      tip: `within ${tolerance} of the best:\n${whole(quality.range[0])} to ${whole(quality.range[1])} tokens` };
    const measured = rows.filter((row) => row.score);
    const inside = rows.filter((row) => range && row.size >= range.low && row.size <= range.high);
    return {
      rows, measured, range, domain: [first / (last / first) ** 0.015, last * (last / first) ** 0.015], size: rows[Number(find("marker").value)].size,
      chosen: size === null ? [] : [{ ...rows[nearestRow(size)], size, tip: rows[nearestRow(size)].tip }],
      lowest: rows.filter((row) => row.extra === 0).slice(0, 1),
      paper: paper ? [{ size: paper.size, tip: `${published}: ${whole(paper.size)}` }] : [],
      ticks: splits.length > 1 ? splits.map((one, i) => ({ size: one, tip: `part ${i + 1} of the text chose ${whole(one)}` })) : [],
      // Each above its own best: their levels differ with the text that was held out.
      splits: quality ? quality.splits.flatMap((scores, i) => scores.flatMap((score, j) =>
        (score === null ? [] : [{ part: i, size: quality.sizes[j], loss: score / Math.min(...scores.filter((one) => one !== null)) - 1 }]))) : [],
      top: { loss: quality && Math.min(10 * quality.tolerance, Math.max(3 * quality.tolerance, ...measured.map((row) => row.loss))), extra: range ? Math.max(0.1, ...inside.map((row) => 1.15 * row.extra)) : 0.5 },
    };
  }

  function legend({ paper, ticks, range }) {
    const colors = VoltCharts.colors();
    find("sizes-legend").replaceChildren(...[
      quality && key(line(colors.accent), "quality: held-out bits per byte"),
      range && key({ tag: "rect", x: 0, y: 0, width: 26, height: 12, fill: colors.accent, opacity: 0.18 }, `within ${tolerance} of the best`),
      key(line(colors.cost, [7, 3]), "cost"),
      marked() !== null && key(star(colors.second), !sameModel() ? "the answer for this model" : learned.criterion === "auto" ? "the answer" : "this vocabulary"),
      ticks.length && key({ tag: "path", d: "M4,0V12M13,0V12M22,0V12", stroke: colors.second, "stroke-width": 2 }, "what parts of the text chose"),
      paper.length && key(line(colors.soft, [2, 3]), published),
    ].filter((one) => one));
  }

  // One at a time: a model is typed faster than charts are drawn.
  let drawing = Promise.resolve();
  function drawSizes() {
    drawing = drawing.then(async () => {
      if (!rows.length) return;
      const found = input();
      legend(found);
      if (quality) await draw("chart-quality", VoltCharts.quality(found));
      await draw("chart-cost", VoltCharts.cost(found));
    });
    return drawing;
  }

  // --------------------------------------------------------------------- what one more token saves

  const selection = learned && learned.selection;
  function muSection() {
    find("mu").hidden = !selection;
    if (!selection) return;
    const { one_less: less, one_more: more } = selection;
    say("mu-lead", "Transport selects the tokens that shorten the text most, and pays a price for each: mu, the tokens of text that one more entry must save. " +
      `A low price makes a large vocabulary. At ${whole(learned.size)} tokens one less would cost ${short(less)} tokens of text, and one more would save ${short(more)}.`);
  }
  async function drawMu() {
    if (!selection) return;
    const { sizes, mu } = selection.mu;
    const found = sizes.map((size, i) => ({ size, mu: mu[i], tip: `${whole(size)} tokens\nmu ${short(mu[i])}: tokens of text that an entry saves` }));
    const price = Math.max(selection.one_less, 1e-3);
    await draw("chart-mu", VoltCharts.mu({ rows: found, domain: [sizes[0], Math.max(sizes[sizes.length - 1], learned.size)],
      chosen: [{ size: learned.size, mu: price, tip: `this vocabulary: ${whole(learned.size)} tokens\none less would cost ${short(price)} tokens of text` }] }));
  }

  // ----------------------------------------------------------------------------------- another size

  function moveMarker(index) {
    const slider = find("marker");
    const i = Math.max(0, Math.min(rows.length - 1, index));
    const row = rows[i];
    slider.value = i;
    slider.setAttribute("aria-valuetext", `${whole(row.size)} tokens`);
    for (const id of CHARTS) if (views[id]) views[id].signal("marker", row.size).runAsync();
    const words = corpus ? corpus.spaced_words : 0;
    figures(find("marker-figures"), [
      ["size in tokens", whole(row.size)],
      row.score && (inBits ? ["quality", fixed(row.score, 3), `bits per byte, ${above(row.loss)} the best`] : ["quality", `+${more(row.loss)}`, "above the best"]),
      ["cost", `+${more(row.extra)}`, "above the lowest"],
      [perLine ? "tokens per line" : "tokens", perLine ? fixed(row.length) : whole(row.used)],
      words > 0 && ["tokens per word", fixed(row.used / words), "words between spaces"],
      ["embedding parameters", (row.size * model.width / 1e6).toLocaleString("en-US", { maximumFractionDigits: 3 }), `million, width ${whole(model.width)}`],
      curve.one_token_words && ["kept whole", percent(curve.one_token_words[i]), "of what the pre-tokenizer cuts: words, numbers, punctuation"],
      curve.frequent && ["seen 100 times or more", percent(curve.frequent[i] / Math.max(1, row.size - curve.size[0])), "of the merged tokens" + (row.score ? "; the measured quality includes the rarer ones" : "")],
    ]);
  }

  function dragging() {
    for (const id of CHARTS) {
      const element = find(id);
      const move = (event) => {
        const view = views[id], svg = element.querySelector("svg");
        if (!view || !svg) return;
        const x = event.clientX - svg.getBoundingClientRect().left - view.origin()[0];
        const scale = view.scale("x");
        moveMarker(nearestRow(scale.invert(Math.max(0, Math.min(view.width(), x)))));
      };
      element.addEventListener("pointerdown", (event) => {
        move(event);
        element.setPointerCapture(event.pointerId);
        element.addEventListener("pointermove", move);
      });
      const stop = () => element.removeEventListener("pointermove", move);
      element.addEventListener("pointerup", stop);
      element.addEventListener("pointercancel", stop);
    }
  }

  function section() {
    if (!rows.length) {
      find("sizes-body").hidden = true;
      say("sizes-lead", "This folder has no curve: no size was chosen, or the vocabulary was not learned here.");
      return;
    }
    say("sizes-lead", (quality
      ? `In the shaded range quality is within ${tolerance} of its best: the bits per byte that a small model (order ${quality.order}) needs for text that was held out. `
      : "Quality was not measured in this run. ") +
      `Cost is the work of reading the text once with ${every ? "your model" : `a model of ${shortNumber(own.body)} parameters and width ${whole(own.width)}`}: a larger vocabulary makes the text shorter and the model larger. ` +
      (quality ? "The answer is the cheapest size in the range. " : "") +
      (data.source.exact ? "" : `Candidates without parents are measured at ${rows.length} sizes; between them nothing is known.`));
    find("chart-quality").hidden = !quality;
    price();
    const slider = find("marker");
    slider.max = rows.length - 1;
    slider.addEventListener("input", () => moveMarker(Number(slider.value)));
    slider.value = nearestRow(learned ? learned.size : rows[rows.length - 1].size);
    moveMarker(Number(slider.value));
    dragging();
    modelField();
  }

  return {
    choice, moveMarker, rows,
    section() {
      muSection();
      section();
    },
    async draw() {
      await drawSizes();
      await drawMu();
    },
  };
})();
