"""What classes of transformers do that is not in a file: their special tokens, and settings that
they apply to a `tokenizer.json`."""

from __future__ import annotations

from typing import Any

CONFIG = "tokenizer_config.json"
GPT2_CLASSES = ("GPT2", "Roberta", "Bart", "Longformer", "LED", "Blenderbot", "Whisper", "CodeGen",
                "GPTNeoX", "Deberta", "OPT", "MVP")  # fmt: skip
"""Classes that cut text as GPT-2 does."""
NFC_CLASSES = ("GPTNeoX", "Qwen2", "Qwen3")
"""Classes that normalize text by NFC."""
LLAMA_CLASSES = ("Llama", "CodeLlama")
"""Classes that make their own tokenizer of a SentencePiece model, with other ids for some text."""
LEADING_SPACE = (
    "transformers 5 gives other ids for text that begins with a space or ▁, such as indented code: "
    "{kind} does not put a second ▁ before it, SentencePiece does"
)
BERT_CLASSES = ("Bert", "DistilBert", "Electra", "ConvBert", "Funnel", "LayoutLM", "LayoutLMv2",
                "Lxmert", "MobileBert", "MPNet", "SqueezeBert", "DPRContextEncoder",
                "DPRQuestionEncoder", "DPRReader", "RetriBert", "Realm")  # fmt: skip
"""Classes whose settings say what BERT's normalizer does."""
BERT_SETTINGS = {"do_lower_case": "lowercase", "strip_accents": "strip_accents",
                 "tokenize_chinese_chars": "handle_chinese_chars"}  # fmt: skip

_ROBERTA = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
            "mask_token": "<mask>"}  # fmt: skip
CLASS_NAMES = {
    **dict.fromkeys(("Roberta", "Bart", "Longformer", "LED", "Blenderbot", "MVP"), _ROBERTA),
    "Deberta": {"bos_token": "[CLS]", "eos_token": "[SEP]", "unk_token": "[UNK]",
                "pad_token": "[PAD]", "mask_token": "[MASK]"},
}  # fmt: skip
"""Special tokens of classes, where the settings do not name others. Masks take the space before."""

Data = dict[str, Any]


def class_of(settings: Data) -> str:
    """The name of the tokenizer's class, without its end."""
    return str(settings.get("tokenizer_class", "")).removesuffix("Fast").removesuffix("Tokenizer")


def with_settings(data: Data, settings: Data) -> tuple[Data, list[str]]:
    """A `tokenizer.json` as the class in the settings beside it changes it, and what was changed.

    >>> data = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}}
    >>> settings = {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}
    >>> with_settings(data, settings)[1]
    ['add_prefix_space is True as in tokenizer_config.json, and False in tokenizer.json']
    """
    kind, told = class_of(settings), []
    parts = (
        (GPT2_CLASSES, "pre_tokenizer", "ByteLevel", {"add_prefix_space": "add_prefix_space"}),
        (BERT_CLASSES, "normalizer", "BertNormalizer", BERT_SETTINGS),
    )
    for classes, place, step, names in parts:
        part = data.get(place)
        if kind not in classes or not isinstance(part, dict) or part.get("type") != step:
            continue
        for name, key in names.items():
            value = settings.get(name)
            if isinstance(value, bool) and value != part.get(key):
                told.append(
                    f"{name} is {value} as in {CONFIG}, and {part.get(key)} in tokenizer.json"
                )
                part = {**part, key: value}
        data = {**data, place: part}
    return data, told
