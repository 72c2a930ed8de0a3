"""Text to learn pages from, and how tests read a page."""

import random

import volt


def corpus(seed, lines=400):
    generator = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    types = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(300)]
    types += ["don't", "we'll", "1984", "42", "naïve", "Größe", "日本語", "語彙", "пример"]
    types += ["x,", "(y)", "z."]
    return [
        " ".join(types[int(len(types) * generator.random() ** 2)] for _ in range(8))
        for _ in range(lines)
    ]


def learn(folder, **settings):
    """Two parallel files, learned, with their page."""
    (folder / "train.xx").write_text("\n".join(corpus(1)) + "\n", encoding="utf-8")
    (folder / "train.yy").write_text("\n".join(corpus(2)) + "\n", encoding="utf-8")
    files = [folder / "train.xx", folder / "train.yy"]
    result = volt.learn(files, sizes="400:650:50", merges=900, **settings)
    result.save(folder / "out")
    return folder / "out", result


def number(text):
    return float(text.split()[0].replace(",", "").rstrip("%"))


def figures(page, selector):
    return {
        entry.query_selector("dt").inner_text(): entry.query_selector("dd").inner_text()
        for entry in page.query_selector_all(f"{selector} > div")
    }


def show(page, name):
    page.evaluate("(id) => document.getElementById(id).scrollIntoView({block: 'center'})", name)


def rows(page, selector):
    return [
        [cell.inner_text() for cell in row.query_selector_all("td")]
        for row in page.query_selector_all(f"{selector} tbody tr")
    ]
