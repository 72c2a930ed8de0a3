// The languages and files that were read.
"use strict";

const VoltFiles = (() => {
  const { data, draw, find, fixed, labels, make, percent, say, visible, whole } = VoltPage;

  const cell = (text) => make("td", text, { class: "number" });
  const languages = data.choices && data.choices.languages;
  function languagesSection() {
    if (!languages) {
      find("languages").hidden = true;
      return;
    }
    say("languages-lead", "Best size is where held-out quality is best for the language alone; lost is what this size costs it against that, in bits per byte. Pieces are what the pre-tokenizer cuts: words, numbers, punctuation; kept whole are those that are one token. " +
      `Parity is tokens for each token of ${languages.reference}, on ${languages.parallel ? "the parallel text." : "the texts with as many lines: parity only if these are translations."}`);
    find("language-table").tBodies[0].append(...languages.rows.map((one) => make("tr", [
      make("th", one.code, { scope: "row" }),
      cell(whole(one.lines)),
      cell(one.best_size ? whole(one.best_size) : "-"),
      cell(typeof one.quality_loss === "number" ? `${fixed(one.quality_loss * 100, 1)}%` : "-"),
      cell(percent(one.share)),
      cell(fixed(one.tokens_per_word)),
      cell(fixed(one.tokens_per_sentence)),
      cell(percent(one.single_token_words)),
      cell(one.parity === null ? "-" : fixed(one.parity)),
    ])));
  }

  const files = data.files || [];
  function filesSection() {
    if (!files.length) {
      find("file-table").hidden = true;
      find("chart-files").hidden = true;
      say("files-lead", data.refitted ? "A refit does not measure single files: volt compare --on NAME=FILE,NAME=FILE does."
        : "Nothing is known of single files: the words were counted before, or the vocabulary was not learned here.");
      return;
    }
    const parity = files.length > 1 && files[0].parallel;
    const all = files.every((one) => one.sampled_lines === one.lines);
    say("files-lead", (all ? "" : "Measured on lines from all over each file, not on all of them: the column “lines measured” says on how many. Figures of thousands of lines differ a little from those of the whole text; figures of fewer can differ much. ") +
      (files.every((one) => one.words) ? "Words are what stands between spaces. " : "Words are what stands between spaces; scripts without spaces have none. ") +
      (parity ? "Parity is how many tokens a file takes against the first one, on the same lines." : ""));
    const head = find("file-table").tHead.rows[0].cells;
    head[1].textContent = all ? "lines" : "lines measured";
    head[head.length - 1].hidden = !parity;
    const body = find("file-table").tBodies[0];
    for (const one of files) {
      body.append(make("tr", [
        make("td", make("code", one.name)),
        cell(all ? whole(one.lines) : `${whole(one.sampled_lines)} of ${whole(one.lines)}`),
        cell(one.words ? fixed(one.tokens / one.words) : "-"),
        cell(one.sampled_lines ? fixed(one.tokens / one.sampled_lines) : "-"),
        cell(one.words ? percent(one.single_token_words / one.words) : "-"),
        cell(one.tokens ? fixed(one.characters / one.tokens) : "-"),
        parity ? cell(one.parity === null ? "-" : fixed(one.parity)) : "",
      ]));
    }
  }
  async function drawFiles() {
    const shown = files.filter((one) => one.words || files[0].parallel);
    if (shown.length < 2) {
      find("chart-files").hidden = true;
      return;
    }
    const names = labels(shown.map((one) => visible(one.name).replaceAll("␣", " ")));
    // On the same lines parity says more: words are not the same thing in all languages.
    const [title, value] = files[0].parallel
      ? ["parity: tokens against the first file", (one) => one.parity ?? 0]
      : ["tokens per word", (one) => one.tokens / one.words];
    await draw("chart-files", VoltCharts.files(shown.map((one, i) => ({
      label: names[i], value: value(one), tip: `${names[i]}\n${title} ${fixed(value(one))}`,
    })), title));
  }

  function section() {
    languagesSection();
    filesSection();
  }

  return { draw: drawFiles, section };
})();
