"""The corpora that `volt data` knows: where they are, their licences, splits and cleaning.

Nothing but data. A checksum is recorded if it could be compared with the file, or if others have
published the one they saw (the comment names them). Where it is None, `volt data get` prints the
checksum of what it got and says that nothing was compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Layout = Literal["lines", "tagged", "segments", "columns"]


@dataclass(frozen=True)
class Download:
    """A file on the network."""

    address: str
    checksum: str | None = None
    """Of the file as it is downloaded: `sha256:`, `sha1:` or `md5:`, whatever kind is on record,
    and the digest."""


@dataclass(frozen=True)
class Side:
    """Where the text of one language is."""

    download: str
    """A key of the data set's downloads."""
    language: str
    member: str | None = None
    """The file inside an archive; None: the download is the text, packed or not."""
    form: Layout = "lines"
    """`lines`: text. `tagged`: IWSLT's training text, where lines of metadata are left out and
    titles are kept. `segments`: <seg> elements. `columns`: a table with a column per
    language."""
    sha256: str | None = None
    """Of the text, unpacked."""


@dataclass(frozen=True)
class Cleaning:
    """Moses' clean-corpus-n: keep pairs by words on each side and by their ratio."""

    minimum: int
    maximum: int
    ratio: float | None

    def keeps(self, source: str, target: str) -> bool:
        """Words are what is between single spaces."""
        counts = [len(side.split(" ")) if side else 0 for side in (source, target)]
        fewer, more = min(counts), max(counts)
        fits = self.minimum <= fewer and more <= self.maximum
        return fits and (self.ratio is None or more <= self.ratio * fewer)


@dataclass(frozen=True)
class Dataset:
    """A parallel corpus."""

    title: str
    languages: tuple[str, ...]
    licence: str
    source: str
    """Where to read about it."""
    downloads: dict[str, Download]
    """None of them: `volt.data.sample` makes the text."""
    splits: dict[str, tuple[tuple[Side, ...], ...]]
    """For each split its parts, which are put one after the other. Each has a side per language;
    there may be more than two."""
    held_out_every: int | None = None
    """Every n-th pair of `train` is moved to `valid`."""
    cleaning: Cleaning | None = None
    """Of the training text (and of `valid`, where that is held out of it)."""
    paper_steps: tuple[str, ...] = ()
    """What the paper's pipeline does beyond this, with tools of others."""


def _pair(download: str, member: str, form: Layout, languages: tuple[str, ...]) -> tuple[Side, ...]:
    return tuple(
        Side(download, language, member.format(language=language), form) for language in languages
    )


# ----------------------------------------------------------------------------------------- Multi30k

_MULTI30K = (
    "https://raw.githubusercontent.com/multi30k/dataset/"
    "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw"
)
_MULTI30K_TEXT = {
    "train.cs": "2be68b38c8d586ff4f54eb13cc6e1baaaa053695b3f070d3038303a47f2268da",
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.fr": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "val.cs": "d53827e469b0a1ca8d57e9e26b2b64c4bc4b33f5479c7b03ae87ae5c882c3e33",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.fr": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "test_2016_flickr.cs": "45adb85f688de8407fddcbe1b36dca15d12aab868149b337e2576f2d6d2ff8d8",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test_2016_flickr.fr": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
}
_MULTI30K_SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
_MULTI30K_LANGUAGES = ("en", "de", "fr", "cs")

# ---------------------------------------------------------------------------------------------- WMT

_WMT_TRAIN = {
    "europarl": "training/europarl-v7.de-en.{language}",
    "commoncrawl": "commoncrawl.de-en.{language}",
    "news-commentary": "training/news-commentary-v12.de-en.{language}",
}

_IWSLT_TEST = (
    "TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012",
)  # fmt: skip
_MOSES = "tokenized with Moses tokenizer.perl before cleaning"

DATASETS: dict[str, Dataset] = {
    "sample": Dataset(
        title="a sample made by a small grammar, for the examples of the documentation: no network",
        languages=("de", "en", "zh"),
        licence="that of volt",
        source="src/volt/data/sample.py",
        downloads={},
        splits={"train": (), "valid": ()},
    ),
    "multi30k": Dataset(
        title="Multi30k: image captions, 29,000 pairs",
        languages=_MULTI30K_LANGUAGES,
        licence="non-commercial research and education (as its README says; no licence file)",
        source="https://github.com/multi30k/dataset",
        downloads={
            name: Download(f"{_MULTI30K}/{name}.gz") for name in _MULTI30K_TEXT
        },
        splits={
            split: (
                tuple(
                    Side(f"{stem}.{one}", one, sha256=_MULTI30K_TEXT[f"{stem}.{one}"])
                    for one in _MULTI30K_LANGUAGES
                ),
            )
            for split, stem in _MULTI30K_SPLITS.items()
        },
    ),
    "iwslt14-de-en": Dataset(
        title="IWSLT 2014 German-English: TED talks, about 160,000 pairs",
        languages=("de", "en"),
        licence="CC BY-NC-ND (TED talks)",
        source="https://wit3.fbk.eu/2014-01",
        downloads={"de-en": Download("https://dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz")},
        splits={
            "train": (_pair("de-en", "de-en/train.tags.de-en.{language}", "tagged", ("de", "en")),),
            "test": tuple(
                _pair("de-en", f"de-en/IWSLT14.{name}.de-en.{{language}}.xml", "segments",
                      ("de", "en"))
                for name in _IWSLT_TEST
            ),
        },
        held_out_every=23,
        cleaning=Cleaning(1, 175, 1.5),
        paper_steps=(_MOSES, "lower-cased with Moses lowercase.perl"),
    ),
    "ted": Dataset(
        title="TED talks, 60 languages (Qi et al. 2018): any pair, or many to English",
        languages=("*",),
        licence="CC BY-NC-ND (TED talks)",
        source="https://github.com/neulab/word-embeddings-for-nmt",
        downloads={
            "talks": Download(
                "http://phontron.com/data/ted_talks.tar.gz",
                # tensorflow/datasets, url_checksums/ted_multi_translate.txt
                "sha256:03457b9ebc6d60839f1a48c5a03c940266aff78b81fcda4c6d9e2a5a7fb670ae",
            )
        },
        splits={
            "train": ((Side("talks", "*", "all_talks_train.tsv", "columns"),),),
            "valid": ((Side("talks", "*", "all_talks_dev.tsv", "columns"),),),
            "test": ((Side("talks", "*", "all_talks_test.tsv", "columns"),),),
        },
        paper_steps=("the text is tokenized already",),
    ),
    "wmt14-en-de": Dataset(
        title="WMT 2014 English-German, 4.5 million pairs",
        languages=("en", "de"),
        licence="free for research (its parts have terms of their own)",
        source="https://www.statmt.org/wmt14/translation-task.html",
        downloads={
            # The first two: tensorflow/datasets, url_checksums/wmt14_translate.txt
            "europarl": Download(
                "https://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz",
                "sha256:0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
            ),
            "commoncrawl": Download(
                "https://www.statmt.org/wmt13/training-parallel-commoncrawl.tgz",
                "sha256:c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
            ),
            "news-commentary": Download(
                "https://data.statmt.org/wmt17/translation-task/training-parallel-nc-v12.tgz",
                # tensorflow/datasets, url_checksums/wmt17_translate.txt
                "sha256:2b45f30ef1d550d302fd17dd3a5cbe19134ccc4c2cf50c2dae534aee600101a2",
            ),
            "test": Download(
                "https://www.statmt.org/wmt14/test-full.tgz",
                "md5:a8cd784e006feb32ac6f3d9ec7eb389a",  # sacrebleu, data set wmt14/full
            ),
        },
        splits={
            "train": tuple(
                _pair(name, member, "lines", ("en", "de")) for name, member in _WMT_TRAIN.items()
            ),
            "test": (
                (
                    Side("test", "en", "test-full/newstest2014-deen-src.en.sgm", "segments"),
                    Side("test", "de", "test-full/newstest2014-deen-ref.de.sgm", "segments"),
                ),
            ),
        },
        held_out_every=100,
        cleaning=Cleaning(1, 250, 1.5),
        paper_steps=(
            "Moses normalize-punctuation.perl and remove-non-printing-char.perl",
            "tokenized with Moses tokenizer.perl -a",
            "cleaned after BPE, so by subwords",
        ),
    ),
    "europarl-de-en": Dataset(
        title="Europarl v7 German-English, 1.9 million pairs",
        languages=("de", "en"),
        licence="free (European Parliament; see the page)",
        source="https://www.statmt.org/europarl/",
        downloads={
            "de-en": Download(
                "https://www.statmt.org/europarl/v7/de-en.tgz",
                # dmlc/gluon-nlp, scripts/datasets/url_checksums/wmt.txt
                "sha1:53bb5408d22977c89284bd755717e6bbb5b12bc5",
            )
        },
        splits={"train": (_pair("de-en", "europarl-v7.de-en.{language}", "lines", ("de", "en")),)},
        held_out_every=1000,
        cleaning=Cleaning(1, 250, 1.5),
    ),
}  # fmt: skip
