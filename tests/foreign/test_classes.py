"""Tokenizers made by transformers' own classes: the engine gives the ids of the class."""

import json

import pytest
from published import hugging_face

from volt.foreign.check_lines import built_in
from volt.foreign.engine_choice import open_engine
from volt.foreign.volt_engine import Native

transformers = pytest.importorskip("transformers")

TEXTS = ["The quick brown fox\n\n    if self.x == 12345:\n\treturn None\r\n", "один два  три", ""]
MERGES = {  # the small tokenizer whose merges a class gets
    "gpt2": ["GPT2", "Roberta", "Bart", "Deberta", "CodeGen", "GPTNeoX", "Whisper", "Longformer",
             "LED", "Blenderbot"],
    "qwen2": ["Qwen2", "Cohere"],
    "clip": ["CLIP", "OpenAIGPT"],
    "llama2": ["Llama", "CodeLlama", "Gemma"],
}  # fmt: skip
SCORES = ["T5", "XLMRoberta", "Albert", "XLNet", "MBart", "MBart50", "Camembert", "BigBird",
          "Pegasus", "DebertaV2", "RemBert", "Barthez"]  # fmt: skip
PIECES = ["Bert", "DistilBert", "MPNet", "Funnel", "Electra", "Splinter", "LayoutLM", "Lxmert",
          "MobileBert"]  # fmt: skip
FIRST = {"Albert": ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]}
UNKNOWN = {"OpenAIGPT": "<unk>", "Funnel": "<unk>", "MPNet": "<unk>"}
BY_VOLT = {
    "GPT2", "Roberta", "Bart", "Deberta", "CodeGen", "GPTNeoX", "Whisper", "Longformer", "LED",
    "Qwen2", "Cohere", "Llama", "CodeLlama", "Gemma", "Bert", "DistilBert", "Electra", "Splinter",
    "LayoutLM", "Lxmert", "MobileBert",
}  # fmt: skip
CASES = [
    *((name, data) for data, names in MERGES.items() for name in names),
    *((name, "t5") for name in SCORES),
    *((name, "bert") for name in PIECES),
]


def made(name, data):
    """A tokenizer of the class, from the vocabulary of a small one."""
    model = json.loads(hugging_face(data))["model"]
    own = getattr(transformers, f"{name}Tokenizer")
    if name in UNKNOWN:
        model["vocab"].setdefault(UNKNOWN[name], len(model["vocab"]))
    if data in MERGES:
        pairs = [tuple(pair) for pair in model["merges"]]
        return own(vocab=model["vocab"], merges=pairs)
    if data == "t5":
        first = [(text, 0.0) for text in FIRST.get(name, [])]
        # The trainer's scores differ from process to process, and so do the texts at which rounding
        # decides between two sums. Sums of sixteenths are not rounded.
        left = [(text, round(16 * score) / 16) for text, score in model["vocab"]
                if (text, 0.0) not in first]  # fmt: skip
        return own(vocab=[*first, *left])
    return own(vocab=model["vocab"])


@pytest.mark.parametrize(("name", "data"), CASES)
def test_a_class_of_transformers(name, data, tmp_path):
    made(name, data).save_pretrained(tmp_path)
    # From the files: tokenizers does not read all scores exactly as it wrote them.
    library = getattr(transformers, f"{name}Tokenizer").from_pretrained(tmp_path)
    opened = open_engine(tmp_path, texts=TEXTS)
    texts = [*built_in(), *TEXTS]
    expected = library(texts, add_special_tokens=False)["input_ids"]
    for engine in (opened.engine, open_engine(tmp_path, native=False).engine):
        for text, ids, other in zip(texts, engine.encode_batch(texts), expected, strict=True):
            assert ids == other, text
    reasons = (": not by volt", "volt gives other ids", "in Python, which is slower")
    by_volt = isinstance(opened.engine, Native)
    assert by_volt != any(reason in opened.said for reason in reasons), opened.said
    assert by_volt or name not in BY_VOLT, opened.said
