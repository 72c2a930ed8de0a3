// The languages and files that were read, and a playground.
"use strict";

const VoltFiles = (() => {
  const { data, draw, find, fixed, labels, make, percent, say, whole } = VoltPage;
  const { visible } = VoltVocabulary;

  const cell = (text) => make("td", text, { class: "number" });
  const languages = data.choices && data.choices.languages;
  function languagesSection() {
    if (!languages) {
      find("languages").hidden = true;
      return;
    }
    say("languages-lead", "Best size is where held-out quality is best for the language alone; lost is what this size costs it against that, in bits per byte. " +
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
      say("files-lead", "Nothing is known of single files: the words were counted before, or the vocabulary was not learned here.");
      return;
    }
    const parallel = files.length > 1 && files[0].parallel;
    say("files-lead", "Measured on the first lines of each file" +
      (files.every((one) => one.sampled_lines === one.lines) ? ", which are all of them. " : ` (${files.map((one) => whole(one.sampled_lines)).filter((n, i, all) => all.indexOf(n) === i).slice(0, 4).join(", ")} lines). `) +
      "Words are what stands between spaces. " +
      (files.length > 1 ? (parallel ? "Parity is how many tokens a file takes against the first one, on the same lines." : "Parity is tokens per line against the first file; the files differ in their number of lines, so they may not say the same.") : ""));
    const body = find("file-table").tBodies[0];
    for (const one of files) {
      body.append(make("tr", [
        make("td", make("code", one.name)),
        cell(whole(one.lines)),
        cell(one.words ? fixed(one.tokens / one.words) : "-"),
        cell(one.sampled_lines ? fixed(one.tokens / one.sampled_lines) : "-"),
        cell(one.words ? percent(one.single_token_words / one.words) : "-"),
        cell(one.tokens ? fixed(one.characters / one.tokens) : "-"),
        cell(one.parity === null ? "-" : fixed(one.parity)),
      ]));
    }
  }
  async function drawFiles() {
    if (files.length < 2) {
      find("chart-files").hidden = true;
      return;
    }
    const names = labels(files.map((one) => visible(one.name).replaceAll("␣", " ")));
    // On the same lines parity says more: words are not the same thing in all languages.
    const [title, value] = files[0].parallel
      ? ["parity: tokens against the first file", (one) => one.parity ?? 0]
      : ["tokens per word", (one) => (one.words ? one.tokens / one.words : 0)];
    await draw("chart-files", VoltCharts.files(files.map((one, i) => ({
      label: names[i], value: value(one), tip: `${names[i]}\n${title} ${fixed(value(one))}`,
    })), title));
  }

  function section() {
    languagesSection();
    filesSection();
  }

  return { draw: drawFiles, section };
})();

const VoltPlayground = (() => {
  const { data, find, fixed, make, plural, say, whole } = VoltPage;
  const { bpe, ids, merges, packed, pool, shown, tokens } = VoltVocabulary;
  const { Encoder, bpePool, classTable } = VoltEncoder;

  const classOf = classTable(data.classes[1]);
  const encoders = ids || !merges || packed.fuseUnknown || packed.foreign ? [] : [{ name: "this vocabulary", encoder: new Encoder({ ...packed, pool }, classOf) }];
  for (const merges of bpe ? bpe.sizes : []) {
    const others = bpePool(bpe, merges, tokens);
    encoders.push({ name: `BPE, ${whole(merges)} merges`,
      encoder: new Encoder({ ...packed, pool: others, size: others.length }, classOf) });
  }
  function cutText() {
    const text = find("text").value.toWellFormed ? find("text").value.toWellFormed() : find("text").value;
    const texts = packed.reads === "document" ? [text] : text.split("\n");
    const words = text.split(/\s+/).filter((word) => word).length;
    find("cuts").replaceChildren(...encoders.map(({ name, encoder }) => {
      let count = 0;
      const cut = make("div", texts.map((one) => make("span", encoder.encode(one).map((id) => {
        const token = encoder.pool[id];
        const strange = token.kind === "byte" || id === encoder.unknownId;
        const known = id < packed.size && encoder === encoders[0].encoder ? `id ${id}` : `token ${token.text}`;
        return make("span", shown(token), { class: `t${count++ % 5}${strange ? " unknown" : ""}`, title: known });
      }), { class: "line" })), { class: "cut" });
      return make("div", [
        make("h3", name),
        make("p", `${plural(count, "token")}${words ? `, ${fixed(count / words)} per word` : ""} · vocabulary of ${whole(encoder.size)}`),
        cut,
      ], { class: "cut-panel" });
    }));
  }
  function playgroundSection() {
    if (!encoders.length) {
      say("playground-lead", `${ids ? data.shortened : packed.foreign ? "The playground does not do to text what the toolkit does that this vocabulary comes from." : merges ? "The playground has one unknown token for each unknown character, this vocabulary one for a run of them." : `The playground merges tokens; it does not know the encoding ${packed.encoding}.`} volt encode has no such limit.`);
      for (const one of find("playground").querySelectorAll("label, textarea")) one.hidden = true;
      return;
    }
    say("playground-lead", `Type, and see it cut as volt encode would, ${packed.reads === "document" ? "line ends included" : "line by line"}` + (bpe ? ", and beside it by plain BPE of other sizes from the same text. " : ". ") +
      (bpe && data.shortened ? `${data.shortened} ` : "") +
      (packed.normalize !== "none" ? `Text is normalised first (${packed.normalize.toUpperCase()}, by the browser's own Unicode tables). ` : "") +
      "A dashed frame is a character that the vocabulary lacks.");
    const words = tokens.filter((token) => token.kind === "merged" && token.length > 3 && /^␣?\p{L}+␣?$/u.test(token.shown))
      .sort((a, b) => b.frequency - a.frequency).slice(0, 40).filter((_, i) => i % 4 === 0).map((token) => token.shown.replaceAll("␣", ""));
    find("text").value = `The vocabulary that fits your text. ${words.join(" ")}`;
    find("text").addEventListener("input", cutText);
    cutText();
  }

  return { encoders, section: playgroundSection };
})();
