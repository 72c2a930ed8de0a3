// The answer: the lines that volt learn prints, what it makes of the text, how to use it.
"use strict";

const VoltAnswer = (() => {
  const { data, figures, find, make, say, whole } = VoltPage;
  const { answer, choices: learned } = data;

  function section() {
    find("answer-title").append(whole(VoltTokens.size), " ", make("small", "tokens"));
    const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}.`;
    if (!answer) {
      say("answer-why", data.refitted ? "No criterion chose this size: it follows from what was taken out of the tokenizer, or added to it."
        : "This folder has no choices.json, which volt learn writes, so the page can't say why the vocabulary has this size.");
    } else {
      say("answer-why", sentence(answer.why));
    }
    if (answer && answer.doubt) {
      find("doubts").append(make("div", [make("p", make("strong", answer.doubt_head)), make("p", sentence(answer.doubt))], { class: "doubt", role: "note" }));
    }
    find("answer-rows").replaceChildren(...(answer ? answer.rows : []).map(([name, sentence]) =>
      make("div", [make("dt", name), make("dd", flagged(sentence))])));
    find("answer-notes").replaceChildren(...(answer ? answer.notes : []).map((note) => make("li", flagged(note))));
    figures(find("figures"), data.facts.map((fact) => [fact.name, fact.value, fact.note]));
    criteria();
    // Commands are run beside the folder: in it, what they write would be foreign files to the next `learn --force`.
    const folder = decodeURIComponent(location.pathname.split("/").at(-2) || "");
    const name = /^[\w.-]+$/.test(folder) ? folder : "FOLDER";
    const inFolder = (command) => command.replace(" -m . ", ` -m ${name} `);
    for (const use of data.uses) {
      find("uses").append(make("div", [
        make("strong", use.name),
        ...(use.refused ? [make("span", `Not for this vocabulary: ${use.refused}.`)] : [make("code", inFolder(use.command)), make("code", inFolder(use.then), { class: "then" })]),
      ], { class: use.refused ? "use refused" : "use" }));
    }
    say("signature", data.signature || "none");
  }

  // Options of the command line stand out.
  const flagged = (sentence) => sentence.split(/(--[a-z][a-z-]*(?: paper)?)/).map((part, i) => (i % 2 ? make("code", part, { class: "flag" }) : part));

  function criteria() {
    if (!answer) {
      find("criteria-part").hidden = true;
      return;
    }
    const repeated = answer.criteria.some((one) => one.parts);
    const quality = learned.quality, decided = answer.criteria.some((one) => one.name === learned.criterion);
    const reached = quality ? Math.max(...quality.sizes.filter((_, i) => quality.scores[i] !== null)) : Infinity;
    say("criteria-lead", (decided ? `${learned.criterion} decided; the others are information.` : "The size was given; these are information.") +
      (learned.choices.some((one) => one.size > reached) ? ` Quality is measured on parts of the text, which give at most ${whole(reached)} tokens; criteria that read the whole text know larger sizes, too.` : "") +
      (answer.criteria.some((one) => one.name === "muv" && one.parts) ? " muv on the parts goes by entropies alone, since transport is solved on the whole text only, so its sizes there may lie elsewhere." : ""));
    find("criteria").tHead.rows[0].cells[2].hidden = !repeated;
    find("criteria").tBodies[0].append(...answer.criteria.map((one) => make("tr", [
      make("th", one.name, { scope: "row" }),
      make("td", one.size, { class: "number" }),
      repeated ? make("td", one.parts, { class: "number" }) : "",
      make("td", [`${one.measures} `, one.doubts.length ? make("span", `(${one.doubts[0]})`, { class: "doubted" }) : ""]),
    ], { class: one.name === learned.criterion ? "chosen" : "" })));
  }

  return { section };
})();
