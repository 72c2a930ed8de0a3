// The paper's method: entropy and MUV at the sizes of S, and the transport plan.
"use strict";

const VoltPaper = (() => {
  const { chips, data, draw, find, key, labels, line, make, percent, plural, say, short, star, whole } = VoltPage;
  const { shownText } = VoltTokens;
  const { rows } = VoltSizes;
  const learned = data.choices;

  const steps = learned ? learned.steps : [];
  const verdicts = learned ? learned.choices : [];

  function input() {
    const paper = verdicts.find((one) => one.criterion === "muv");
    // Several steps may make vocabularies of one size.
    const same = steps.filter((step) => paper && step.size === paper.size && step.muv !== null);
    const best = same.reduce((a, b) => (a && a.muv >= b.muv ? a : b), undefined);
    const shown = steps.map((step) => ({
      size: step.size, entropy: step.entropy,
      muv: step.muv === null ? null : step.muv * 1e6,
      chosen: step === best,
      tip: [`S = ${whole(step.s)}, a vocabulary of ${whole(step.size)} tokens`, `H after transport ${step.entropy.toFixed(5)}`,
        step.muv === null ? "no MUV: nothing before it" : `MUV ${step.muv.toExponential(4)}`].join("\n"),
    }));
    const choices = verdicts.filter((one) => one.size !== null).map((one) => ({
      criterion: one.criterion, size: one.size, tip: `${one.criterion}: ${whole(one.size)}\n${one.meaning}`,
    }));
    const last = Math.max(rows[rows.length - 1].size, ...steps.map((step) => step.size));
    return {
      rows: rows.map((row) => ({ ...row, tip: `${data.source.name}, ${whole(row.size)} tokens\nH ${row.entropy.toFixed(5)}` })),
      steps: shown, choices, criteria: verdicts.map((one) => one.criterion), chosen: shown.filter((step) => step.chosen),
      domain: [rows[0].size, last],
    };
  }

  function legend() {
    const colors = VoltCharts.colors();
    find("paper-legend").replaceChildren(
      key(line(colors.accent), `H of ${data.source.name}`),
      ...(steps.length ? [
        key({ tag: "circle", cx: 13, cy: 6, r: 4, fill: colors.second }, "H at S, after transport"),
        key(star(colors.second), "the paper's choice"),
      ] : []),
      ...verdicts.flatMap((one, place) => {
        const { color, dash } = VoltCharts.style(place);
        return one.size === null ? [] : [key(line(color, place ? dash : []), `${one.criterion} ${whole(one.size)}`)];
      }));
  }

  function curveSection() {
    if (!rows.length) {
      find("paper-body").hidden = true;
      say("paper-lead", "This folder has no curve: no size was chosen, or the vocabulary was not learned here.");
      return;
    }
    say("paper-lead", `The method of the VOLT paper solves a transport problem at a list of sizes, S. H is the entropy of the tokens over their mean length (${data.length === "types" ? "of the token types, as in the paper" : "in the text"}): lower is more certain text per character. ` +
      "MUV is how much of it each added token of S saves, and the paper takes the size where that is most: the tallest bar. " +
      (data.source.exact ? `Every size of ${data.source.name === "BPE" ? "plain BPE" : data.source.name} is known exactly. ` : "") +
      (steps.length ? "The circles are the token sets that transport was solved for." : "Transport was not solved in this run.") +
      ((learned && learned.paper_notes) || []).map((note) => ` Note: ${note}.`).join(""));
  }

  async function drawCurve() {
    if (!rows.length) return;
    const found = input();
    legend();
    await draw("chart-entropy", VoltCharts.entropy(found));
    if (found.steps.some((step) => step.muv !== null)) await draw("chart-muv", VoltCharts.muv(found));
  }

  // ------------------------------------------------------------------------------------- transport

  const transport = data.transport;
  function transportSection() {
    if (!transport) {
      say("transport-lead", data.refitted
        ? "A refit keeps no plan: it chooses among the tokenizer's own tokens. The size that the paper's method chooses is among the criteria."
        : "This folder has no plan: report.json is missing, or the vocabulary was not learned here.");
      find("chart-transport").hidden = true;
      return;
    }
    say("transport-lead", `At S = ${whole(transport.s)}, a vocabulary of ${whole(transport.size)} tokens: ${whole(transport.tokens_in_use)} tokens in use ask for as many characters as their occurrences spell. ` +
      `The plan gives every character away in full and every token what it asks for within ${percent(transport.epsilon)}; ${percent(transport.moved)} of all characters went to another token than asked. ` +
      `The map has the ${transport.characters.length} most frequent characters and the ${transport.tokens.length} tokens that ask for most; an empty cell is a character that is not in the token.`);
    const dropped = find("dropped");
    if (!transport.dropped) {
      dropped.append(make("p", "No token was dropped: each got at least the share that the threshold asks for."));
    } else {
      dropped.append(make("h3", `${plural(transport.dropped, "token")} dropped`),
        make("p", "They got less than the threshold of what they ask for." + (transport.dropped > transport.dropped_tokens.length ? ` The first ${transport.dropped_tokens.length} by what they ask for:` : "")),
        chips(transport.dropped_tokens.map((token) => [shownText(token.text), `asked ${short(token.asked)}, got ${short(token.got)}`]), "Dropped tokens"));
    }
  }

  async function drawTransport() {
    if (!transport) return;
    const tokenLabels = labels(transport.tokens.map((token) => shownText(token.text)));
    const characterLabels = labels(transport.characters.map((one) => shownText(one.text)));
    const cells = transport.plan.map(([t, c, mass]) => ({
      token: tokenLabels[t], character: characterLabels[c], mass,
      tip: `${characterLabels[c]} into ${tokenLabels[t]}\ntransported ${short(mass)}\nthe token asked for ${short(transport.tokens[t].asked)}, got ${short(transport.tokens[t].got)}`,
    }));
    const width = find("chart-transport").clientWidth - 70;
    await draw("chart-transport", VoltCharts.transport({ cells, tokens: tokenLabels, characters: characterLabels, width }));
  }

  async function drawPaper() {
    await drawCurve();
    await drawTransport();
  }
  function section() {
    curveSection();
    transportSection();
  }

  return { draw: drawPaper, section };
})();
