"""A language that can be learned in seconds: generated words, and their cipher as a translation."""

import random
from pathlib import Path

LETTERS = "abdegiklmnoprstu"
SHIFTED = dict(zip(LETTERS, LETTERS[5:] + LETTERS[:5], strict=True))


def encipher(line: str) -> str:
    return "".join(SHIFTED.get(letter, letter) for letter in line)


def sentences(count: int, seed: int, words: int = 40) -> list[str]:
    lexicon = random.Random(1)
    known = sorted({
        "".join(lexicon.choice(LETTERS) for _ in range(lexicon.randint(2, 5)))
        for _ in range(words)
    })  # fmt: skip
    chosen = random.Random(seed)
    return [
        " ".join(chosen.choice(known) for _ in range(chosen.randint(2, 6))) for _ in range(count)
    ]


def write_corpus(folder: Path, train: int = 1500, held_out: int = 60) -> dict[str, str]:
    """Files train, valid and test with a plain and a cipher side; returns their names."""
    names = {}
    for number, (split, count) in enumerate(
        (("train", train), ("valid", held_out), ("test", held_out))
    ):
        plain = sentences(count, number)
        for side, lines in (("plain", plain), ("cipher", [encipher(line) for line in plain])):
            path = folder / f"{split}.{side}"
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            names[f"{split}.{side}"] = str(path)
    return names
