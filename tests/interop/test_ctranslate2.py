"""CTranslate2 runs models with the vocabularies that volt writes: by way of transformers, and of
Marian, whose files its converter reads."""

import json

import numpy as np
import pytest
from samples import SPECIAL, learned, sample_lines, tokenizer_of

import volt
from volt import WordRule
from volt.proposing.tokens import Token
from volt.tokenizing.vocabulary import Vocabulary

ctranslate2 = pytest.importorskip("ctranslate2")

WIDTH = 8
HEADS = 2


@pytest.mark.parametrize("pretokenizer", ["byte-level:llama3", "metaspace"])
def test_a_model_of_transformers(pretokenizer, tmp_path):
    """Tokens and ids are the same inputs: the model computes the same for both."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    lines = sample_lines()
    tok = volt.learn(
        volt.count([lines], pretokenizer=pretokenizer), size=600, bos="<b>", eos="<e>"
    ).tokenizer
    volt.export(tok.vocabulary, "hf", tmp_path / "model")
    torch.manual_seed(1)
    config = transformers.GPT2Config(
        vocab_size=len(tok), n_embd=WIDTH, n_layer=1, n_head=HEADS, n_positions=64,
        bos_token_id=tok.token_to_id("<b>"), eos_token_id=tok.token_to_id("<e>"),
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval()
    model.save_pretrained(tmp_path / "model")
    converter = ctranslate2.converters.TransformersConverter(str(tmp_path / "model"))
    converter.convert(str(tmp_path / "out"))
    about = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    assert (about["bos_token"], about["eos_token"]) == ("<b>", "<e>")
    assert json.loads((tmp_path / "out" / "vocabulary.json").read_text("utf-8")) == tok.tokens
    peer = ctranslate2.Generator(str(tmp_path / "out"), inter_threads=1, intra_threads=1)
    for line in lines[:5]:
        ids = tok.encode(line)[:60]
        by_id = np.array(peer.forward_batch([ids]))
        by_name = np.array(peer.forward_batch([[tok.id_to_token(i) for i in ids]]))
        assert np.array_equal(by_id, by_name)
        with torch.no_grad():
            expected = model(torch.tensor([ids])).logits.numpy()
        assert np.allclose(by_id, expected, atol=1e-4)


def marian_model(path, size):
    """A small model with random weights, under Marian's names."""
    generator = np.random.default_rng(1)

    def weights(*shape):
        return generator.normal(size=shape).astype(np.float32)

    config = f"""
type: transformer
enc-depth: 1
dec-depth: 1
transformer-heads: {HEADS}
transformer-ffn-activation: relu
transformer-preprocess: ""
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-decoder-autoreg: self-attention
transformer-no-projection: false
transformer-guided-alignment-layer: last
"""
    model = {"Wemb": weights(size, WIDTH), "decoder_ff_logit_out_b": weights(1, size)}
    model["special:model.yml"] = np.frombuffer(config.encode() + b"\0", np.int8)
    blocks = {"encoder": ["self"], "decoder": ["self", "context"]}
    for side, names in blocks.items():
        for name in names:
            scope = f"{side}_l1_{name}"
            for part in "qkvo":
                model[f"{scope}_W{part}"] = weights(WIDTH, WIDTH)
                model[f"{scope}_b{part}"] = weights(1, WIDTH)
            model[f"{scope}_Wo_ln_scale"] = weights(1, WIDTH)
            model[f"{scope}_Wo_ln_bias"] = weights(1, WIDTH)
        for part, shape in (("1", (WIDTH, 16)), ("2", (16, WIDTH))):
            model[f"{side}_l1_ffn_W{part}"] = weights(*shape)
            model[f"{side}_l1_ffn_b{part}"] = weights(1, shape[1])
        model[f"{side}_l1_ffn_ffn_ln_scale"] = weights(1, WIDTH)
        model[f"{side}_l1_ffn_ffn_ln_bias"] = weights(1, WIDTH)
    np.savez(path, **model)


@pytest.mark.parametrize("pretokenizer", ["metaspace", "whitespace", "byte-level"])
def test_a_model_of_marian(pretokenizer, tmp_path):
    vocabulary = learned(pretokenizer)
    tok = tokenizer_of(vocabulary)
    (path,) = volt.export(vocabulary, "marian", tmp_path / "vocab.yml").files
    listed = ["</s>", "<unk>"] + [one for one in tok.printed if one not in SPECIAL]
    marian_model(tmp_path / "model.npz", len(listed))
    converter = ctranslate2.converters.MarianConverter(
        str(tmp_path / "model.npz"), [str(path), str(path)]
    )
    converter.convert(str(tmp_path / "out"))
    names = ["shared_vocabulary.json", "source_vocabulary.json"]
    written = next(tmp_path / "out" / one for one in names if (tmp_path / "out" / one).exists())
    assert json.loads(written.read_text(encoding="utf-8")) == listed
    peer = ctranslate2.Translator(str(tmp_path / "out"), inter_threads=1, intra_threads=1)
    known = [tok.printed[i] for i in tok.encode("bada lo")]
    (found,) = peer.translate_batch([known], beam_size=1, max_decoding_length=5)
    assert {*found.hypotheses[0]} <= {*listed}


def test_hard_names_in_the_file_of_marian(tmp_path):
    """Quotes, backslashes and control characters come back as they are."""
    from ctranslate2.converters.marian import load_vocab

    hard = ['"', "'", "\\", "\\xi", "\\u", "a'b\\", 'a"b', ": ", "#", "- a", "\x07", "\x85", "日"]
    tokens = [Token(name, "special") for name in SPECIAL]
    tokens += [Token(text, "character" if len(text) == 1 else "piece") for text in [*hard, "▁"]]
    vocabulary = Vocabulary(WordRule("metaspace"), tokens, encoding="longest", unknown="unk")
    (path,) = volt.export(vocabulary, "marian", tmp_path / "vocab.yml").files
    printed = volt.Tokenizer(vocabulary).printed
    assert load_vocab(str(path)) == ["</s>", "<unk>", *printed[4:]]
    yaml = pytest.importorskip("yaml")
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert table == {name: i for i, name in enumerate(["</s>", "<unk>", *printed[4:]])}
    read, _ = volt.import_vocabulary(path)
    assert volt.Tokenizer(read).printed[:2] == ["</s>", "<unk>"]
    assert set(volt.Tokenizer(read).printed) == set(table)
