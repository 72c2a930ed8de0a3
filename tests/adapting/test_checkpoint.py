"""Checkpoints cut and grown: the same logits for the tokens that stay, and generation runs."""

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from interop.samples import learned, sample_lines
from volt import InputError, Tokenizer
from volt.adapting.checkpoint import NewRows, _to_bfloat16, open_checkpoint
from volt.adapting.subject import open_model
from volt.foreign.original import Original
from volt.proposing.tokens import Token

torch = pytest.importorskip("torch", reason="needs torch: make large")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")
sentencepiece = pytest.importorskip("sentencepiece")

ON = [sample_lines()[:200]]
SMALL: dict[str, Any] = {"sizes": "300,340,380,420"}  # 260 always stay
IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def gpt2(size: int, **options: Any) -> Any:
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=size, n_embd=16, n_layer=2, n_head=2, n_positions=64, **IDS, **options
        )
    )


def llama(size: int, **options: Any) -> Any:
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=size, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=2, tie_word_embeddings=False, **IDS, **options,
        )
    )  # fmt: skip


def marian(size: int, **options: Any) -> Any:
    model = transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=size, d_model=16, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24,
            decoder_ffn_dim=24, max_position_embeddings=64, decoder_start_token_id=0,
            forced_eos_token_id=2, **IDS, **options,
        )
    )  # fmt: skip
    model.final_logits_bias.copy_(torch.randn(1, size))
    return model


def saved(make: Any, folder: Path, size: int, dtype: Any = None, **options: Any) -> Any:
    torch.manual_seed(1)
    model = make(size, **options).eval()
    if dtype is not None:
        model = model.to(dtype)
    model.save_pretrained(folder)
    return model


def load(folder: Path) -> Any:
    kind = transformers.AutoModelForCausalLM
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("is_encoder_decoder"):
        kind = transformers.AutoModelForSeq2SeqLM
    model, report = kind.from_pretrained(folder, output_loading_info=True, dtype="auto")
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert not report["mismatched_keys"]
    return model.eval()


def logits(model: Any, ids: list[int]) -> Any:
    given = torch.tensor([ids])
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            return model(input_ids=given, decoder_input_ids=given).logits[0]
        return model(input_ids=given).logits[0]


def shared_text(result: volt.RefitResult) -> list[int]:
    """Old ids that stay, in a text."""
    stays = np.flatnonzero(result.id_map >= 0)
    return stays[np.random.default_rng(3).integers(0, len(stays), 20)].tolist()


MODELS = {"gpt2": gpt2, "llama": llama, "marian": marian}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer") / "hf"
    volt.export(learned("byte-level"), "hf", folder)
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_cut_with_its_tokenizer(name: str, tokenizer: Path, tmp_path: Path) -> None:
    size = len(learned("byte-level"))
    model = saved(MODELS[name], tmp_path / "old", size)
    before = {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    result = volt.refit(tokenizer, ON, model=tmp_path / "old", **SMALL)
    result.save(tmp_path / "out")
    new = load(tmp_path / "out" / "model")
    kept = np.flatnonzero(result.id_map >= 0)
    assert new.config.vocab_size == len(kept) == len(result.vocabulary) < size
    old_ids = shared_text(result)
    new_ids = result.id_map[old_ids].tolist()
    expected = logits(model, old_ids)[:, kept]
    # A matrix of another shape may be multiplied in another order.
    assert torch.allclose(logits(new, new_ids), expected, atol=1e-6)
    out = new.generate(torch.tensor([new_ids]), max_new_tokens=5, min_new_tokens=5, do_sample=False)
    assert int(out.max()) < len(kept)
    fast = transformers.AutoTokenizer.from_pretrained(tmp_path / "out" / "model")
    text = "bade deba"
    assert fast(text)["input_ids"] == Tokenizer(result.vocabulary).encode(text)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()}


@pytest.mark.parametrize("name", MODELS)
def test_new_rows_are_the_mean_of_their_parts(name: str, tokenizer: Path, tmp_path: Path) -> None:
    size = len(learned("byte-level"))
    model = saved(MODELS[name], tmp_path / "old", size)
    result = volt.extend(tokenizer, ON, 30, model=tmp_path / "old")
    result.save(tmp_path / "out")
    new = load(tmp_path / "out" / "model")
    pairs = [
        (model.get_input_embeddings().weight, new.get_input_embeddings().weight),
        (model.get_output_embeddings().weight, new.get_output_embeddings().weight),
    ]
    if name == "marian":
        pairs.append((model.final_logits_bias.T, new.final_logits_bias.T))
    for old_rows, new_rows in pairs:
        assert new_rows.shape[0] == size + 30
        assert torch.equal(new_rows[:size], old_rows)
        for number, parts in enumerate(result.parts, size):
            mean = old_rows[parts].double().mean(dim=0).float()
            assert torch.allclose(new_rows[number], mean, atol=1e-7)
    ids = list(range(5, 25))
    assert torch.allclose(logits(new, ids)[:, :size], logits(model, ids), atol=1e-6)


BERT = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 24}  # fmt: skip
GPT = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
BART = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
        "forced_eos_token_id": 2, "decoder_start_token_id": 2}  # fmt: skip
OTHERS: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": BERT,
    "RobertaForMaskedLM": BERT,
    "DistilBertForMaskedLM": {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 24},
    "ElectraForMaskedLM": {**BERT, "embedding_size": 16},
    "AlbertForMaskedLM": {**BERT, "embedding_size": 8},
    "Qwen2ForCausalLM": {**BERT, "num_key_value_heads": 2},
    "PhiForCausalLM": BERT,
    "GPTNeoXForCausalLM": BERT,
    "GPTJForCausalLM": {**GPT, "rotary_dim": 4},
    "BloomForCausalLM": {"hidden_size": 16, "n_layer": 1, "n_head": 2},
    "OPTForCausalLM": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
                       "ffn_dim": 24, "word_embed_proj_dim": 16},
    "MambaForCausalLM": {"hidden_size": 16, "num_hidden_layers": 1, "state_size": 4},
    "T5ForConditionalGeneration": {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1,
                                   "num_heads": 2, "decoder_start_token_id": 0},
    "BartForConditionalGeneration": BART,
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore")  # of slow paths that Mamba falls back to
def test_other_architectures(name: str, tmp_path: Path) -> None:
    kind = getattr(transformers, name)
    torch.manual_seed(2)
    model = kind(kind.config_class(vocab_size=50, **IDS, **OTHERS[name])).eval()
    for _, rows in model.named_parameters():
        if tuple(rows.shape) == (50,):
            torch.nn.init.normal_(rows)  # a bias, which is zero at first
    model.save_pretrained(tmp_path / "old")
    kept = np.array([i for i in range(50) if i < 3 or i % 3])  # the settings name 0, 1, 2
    id_map = np.full(50, -1)
    id_map[kept] = np.arange(len(kept))
    small = learned("byte-level")
    small = replace(small, tokens=small.tokens[: len(kept)])
    open_checkpoint(tmp_path / "old", 50).write(tmp_path / "new", small, NewRows(id_map))
    new, report = kind.from_pretrained(tmp_path / "new", output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    ids = kept[np.random.default_rng(3).integers(3, len(kept), 12)].tolist()
    expected = logits(model, ids)[:, kept]
    assert torch.allclose(logits(new.eval(), id_map[ids].tolist()), expected, atol=1e-5)


def test_shards_padding_and_sixteen_bits(tokenizer: Path, tmp_path: Path) -> None:
    vocabulary = learned("byte-level")
    model = llama(len(vocabulary) + 7).to(torch.bfloat16).eval()
    model.save_pretrained(tmp_path / "old", max_shard_size="20KB")
    assert (tmp_path / "old" / "model.safetensors.index.json").exists()
    (tmp_path / "old" / "README.md").write_text("mine", encoding="utf-8")
    (tmp_path / "old" / "pytorch_model.bin").write_bytes(b"old")
    result = volt.refit(tokenizer, ON, model=tmp_path / "old", **SMALL)
    messages = result.save(tmp_path / "out")
    assert any("7 rows of padding" in message for message in messages)
    told = json.loads((tmp_path / "out" / "refit.json").read_text(encoding="utf-8"))
    assert told["messages"] == [*result.messages, *messages]
    assert any("pytorch_model.bin" in message for message in messages)
    new = load(tmp_path / "out" / "model")
    kept = np.flatnonzero(result.id_map >= 0)
    assert new.dtype == torch.bfloat16
    assert torch.equal(new.lm_head.weight, model.lm_head.weight[kept])
    assert (tmp_path / "out" / "model" / "README.md").read_text(encoding="utf-8") == "mine"
    index = json.loads((tmp_path / "out" / "model" / "model.safetensors.index.json").read_text())
    stored = {name: tensor for path in (tmp_path / "out" / "model").glob("*.safetensors")
              for name, tensor in safetensors.load_file(path).items()}  # fmt: skip
    assert index["metadata"]["total_size"] == sum(t.nbytes for t in stored.values())
    assert index["weight_map"].keys() == stored.keys()
    grown = volt.extend(tokenizer, ON, 5, model=tmp_path / "old")
    grown.save(tmp_path / "grown")
    rows = load(tmp_path / "grown" / "model").lm_head.weight
    mean = model.lm_head.weight[grown.parts[0]].double().mean(dim=0).to(torch.bfloat16)
    assert torch.equal(rows[len(vocabulary)], mean)


@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=8))
def test_bfloat16_is_rounded_as_torch_rounds(values: list[float]) -> None:
    ours = _to_bfloat16(np.array(values, np.float64))
    theirs = torch.tensor(values, dtype=torch.float32).to(torch.bfloat16)
    assert ours.tolist() == theirs.view(torch.int16).numpy().view(np.uint16).tolist()


def edit(file: Path, **changes: Any) -> None:
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**data, **changes}), encoding="utf-8")


def test_ids_in_settings_follow_their_tokens(tokenizer: Path, tmp_path: Path) -> None:
    vocabulary = learned("byte-level")
    saved(gpt2, tmp_path / "old", len(vocabulary))
    last = len(vocabulary) - 1  # a merged token: it stays, as the settings name it
    edit(tmp_path / "old" / "config.json", eos_token_id=[2, last], sep_token_id=None)
    unwanted = {"bad_words_ids": [[5], [last]], "suppress_tokens": [last - 1, 7]}
    edit(tmp_path / "old" / "generation_config.json", pad_token_id=last, **unwanted)
    result = volt.refit(tokenizer, ON, model=tmp_path / "old", size=300)
    messages = result.save(tmp_path / "out")
    now = int(result.id_map[last])
    assert result.vocabulary.tokens[now].text == vocabulary.tokens[last].text
    assert result.id_map[last - 1] == -1
    config = json.loads((tmp_path / "out" / "model" / "config.json").read_text())
    assert config["eos_token_id"] == [2, now] and config["sep_token_id"] is None
    generation = json.loads((tmp_path / "out" / "model" / "generation_config.json").read_text())
    assert generation["pad_token_id"] == now
    assert generation["bad_words_ids"] == [[5], [now]] and generation["suppress_tokens"] == [7]
    assert any("suppress_tokens: 1 entry" in message for message in messages)


def test_every_id_of_the_generation_settings(tokenizer: Path, tmp_path: Path) -> None:
    """Beside the tokenizer and in the model, and whether or not there is a model."""
    vocabulary = learned("byte-level")
    last = len(vocabulary) - 1
    folder = tmp_path / "old"
    saved(gpt2, folder, len(vocabulary))
    shutil.copytree(tokenizer, folder, dirs_exist_ok=True)
    id_map = volt.refit(folder, ON, size=300).id_map
    kept = int(np.flatnonzero((id_map >= 0) & (id_map != np.arange(last + 1)))[-1])
    gone = int(np.flatnonzero(id_map < 0)[0])
    edit(
        folder / "generation_config.json",
        eos_token_id=[2, 3], suppress_tokens=[gone, kept], begin_suppress_tokens=[kept, gone],
        bad_words_ids=[[kept, gone], [kept]], lang_to_id={"<|en|>": kept, "<|de|>": 2},
        task_to_id={"translate": 2}, forced_decoder_ids=[[1, None], [2, kept]],
        sequence_bias=[[[kept, gone], 1.5], [[kept], -2.5]], force_words_ids=[[kept], [[2]]],
        other_ids=[kept, last], max_new_tokens=last, temperature=0.5,
    )  # fmt: skip
    for model in (None, folder):
        out = tmp_path / f"out-{model is None}"
        result = volt.refit(folder, ON, model=model, size=300)
        messages = result.save(out)
        now, two, three = (int(result.id_map[i]) for i in (kept, 2, 3))
        assert result.id_map[gone] == -1 and now not in (-1, kept)
        for place in (out, out / "model") if model else (out,):
            found = json.loads((place / "generation_config.json").read_text(encoding="utf-8"))
            assert found["eos_token_id"] == [two, three]
            assert found["suppress_tokens"] == found["begin_suppress_tokens"] == [now]
            assert found["bad_words_ids"] == [[now]]
            assert found["lang_to_id"] == {"<|en|>": now, "<|de|>": two}
            assert found["task_to_id"] == {"translate": two}
            assert found["forced_decoder_ids"] == [[1, None], [2, now]]
            assert found["sequence_bias"] == [[[now], -2.5]]
            assert found["force_words_ids"] == [[now], [[two]]]
            assert found["other_ids"] == [kept, last] and found["max_new_tokens"] == last
        told = [one for one in messages if one.startswith("generation_config.json")]
        assert len(told) == 5 and sum("1 entry with dropped tokens" in one for one in told) == 4
        assert any("other_ids stays as it is" in one for one in told)


def test_a_tokenizer_of_another_format(tmp_path: Path) -> None:
    vocabulary = learned("byte-level")
    volt.export(vocabulary, "gpt2", tmp_path / "gpt2")
    saved(gpt2, tmp_path / "old", len(vocabulary))
    config = {"eos_token": {"content": "</s>"}, "sep_token": "gone", "chat_template": "{{ x }}"}
    (tmp_path / "old" / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    result = volt.refit(tmp_path / "gpt2", ON, model=tmp_path / "old", form="gpt2", **SMALL)
    result.save(tmp_path / "out")
    fast = transformers.AutoTokenizer.from_pretrained(tmp_path / "out" / "model")
    assert fast.eos_token == "</s>" and fast.sep_token is None and fast.chat_template == "{{ x }}"
    assert fast("bade deba")["input_ids"] == Tokenizer(result.vocabulary).encode("bade deba")


def of_sentencepiece(folder: Path, **settings: Any) -> None:
    """A model with a SentencePiece model as its tokenizer, and settings beside it."""
    vocabulary = learned("metaspace", "concat")
    saved(llama, folder, len(vocabulary))
    volt.export(vocabulary, "sentencepiece", folder / "tokenizer.model")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def around(tokenizer: Any, text: str) -> tuple[list[str], list[str]]:
    """What the tokenizer adds before a text and after it."""
    plain = tokenizer.tokenize(text)
    found = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
    first = found.index(plain[0])
    assert found[first : first + len(plain)] == plain
    return found[:first], found[first + len(plain) :]


@pytest.mark.parametrize(
    ("settings", "before", "after"),
    [
        ({"tokenizer_class": "LlamaTokenizer"}, ["<s>"], []),
        ({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": False}, [], []),
        ({"add_bos_token": True, "add_eos_token": True}, ["<s>"], ["</s>"]),
        ({}, [], []),
    ],
)
def test_what_settings_add_around_a_text_stays(
    settings: dict[str, Any], before: list[str], after: list[str], tmp_path: Path
) -> None:
    of_sentencepiece(tmp_path / "old", **settings)
    old = transformers.AutoTokenizer.from_pretrained(tmp_path / "old")
    added = around(old, "bade deba")
    if "add_bos_token" in settings:  # without it, that depends on the version
        assert added == (before, after)
    for place in ("old", "old/tokenizer.model"):  # the tokenizer may be named by itself
        result = volt.refit(tmp_path / place, ON, model=tmp_path / "old", size=500)
        result.save(tmp_path / "out", force=True)
        fast = transformers.AutoTokenizer.from_pretrained(tmp_path / "out" / "model")
        assert around(fast, "bade deba") == added
    imported, _ = volt.import_vocabulary(tmp_path / "old")
    assert (imported.roles.add_bos, imported.roles.add_eos) == (bool(before), bool(after))


def test_a_sentencepiece_model_and_its_settings_stay_what_they_are(tmp_path: Path) -> None:
    settings = {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True,
                "added_tokens_decoder": {"0": {"content": "<unk>", "special": True}}}  # fmt: skip
    of_sentencepiece(tmp_path / "old", **settings)
    result = volt.refit(tmp_path / "old", ON, model=tmp_path / "old", size=500)
    result.save(tmp_path / "out")
    model = tmp_path / "out" / "model"
    assert json.loads((model / "tokenizer_config.json").read_text(encoding="utf-8")) == settings
    assert not (model / "tokenizer.json").exists()
    rewritten = (tmp_path / "out" / "tokenizer.model").read_bytes()
    assert (model / "tokenizer.model").read_bytes() == rewritten
    processor = sentencepiece.SentencePieceProcessor(model_proto=rewritten)
    fast = transformers.AutoTokenizer.from_pretrained(model)
    for text in ("bade deba", "a bade"):
        assert fast(text, add_special_tokens=False)["input_ids"] == processor.encode(text)


def test_generation_settings_of_the_model_stay(tmp_path: Path) -> None:
    of_sentencepiece(tmp_path / "old")
    file = tmp_path / "old" / "generation_config.json"
    file.write_text('{"do_sample": true, "eos_token_id": [2, 3], "top_p": 0.9}', encoding="utf-8")
    result = volt.refit(tmp_path / "old", ON, model=tmp_path / "old", size=500)
    result.save(tmp_path / "out")
    found = json.loads((tmp_path / "out" / "model" / file.name).read_text(encoding="utf-8"))
    ends = result.id_map[[2, 3]].tolist()
    assert found == {"do_sample": True, "eos_token_id": ends, "top_p": 0.9}


# ---------------------------------------------------------------------------------------- bad input


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "good"
    saved(gpt2, folder, 50)
    return folder


def test_the_tokenizer_of_another_model_is_refused(tokenizer: Path, tmp_path: Path) -> None:
    folder, size = tmp_path / "old", len(learned("byte-level"))
    saved(gpt2, folder, size)
    result = volt.refit(tokenizer, ON, size=400, model=folder)
    assert any("was not checked" in message for message in result.messages)  # there is none
    text = (tokenizer / "tokenizer.json").read_text(encoding="utf-8")
    file = folder / "tokenizer.json"
    file.write_text(text, encoding="utf-8")
    for same in (tokenizer, learned("byte-level"), folder):
        messages = volt.refit(same, ON, size=400, model=folder).messages
        assert not any("not checked" in message for message in messages)
    file.write_text("{", encoding="utf-8")
    messages = volt.extend(tokenizer, ON, 5, model=folder).messages
    assert "not checked" in messages[-2] and str(file) in messages[-2]
    volt.export(learned("metaspace"), "hf", folder, force=True)
    for call in (lambda: volt.refit(tokenizer, ON, size=400, model=folder),
                 lambda: volt.extend(tokenizer, ON, 5, model=folder)):  # fmt: skip
        with pytest.raises(InputError, match=r"tokenizer\.json: token \d+ is .* not the tokenizer"):
            call()


def test_a_word_list_of_the_old_tokenizer_is_not_copied(tokenizer: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    saved(gpt2, folder, len(learned("byte-level")))
    (folder / "tokenizer.vocab").write_text("<unk>\t0\n", encoding="utf-8")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    volt.refit(tokenizer, ON, size=400, model=folder).save(tmp_path / "new")
    assert (tmp_path / "new" / "model" / "notes.txt").exists()
    assert not (tmp_path / "new" / "model" / "tokenizer.vocab").exists()


def test_tokens_behind_those_of_a_sentencepiece_model_may_be_added_ones(tmp_path: Path) -> None:
    folder, vocabulary = tmp_path / "old", learned("metaspace", "concat")
    saved(gpt2, folder, len(vocabulary))
    volt.export(vocabulary, "sentencepiece", folder / "tokenizer.model")
    last = vocabulary.tokens[-1]
    assert last.kind == "merged"
    more = replace(vocabulary, tokens=[*vocabulary.tokens, Token("[X]", "symbol")])
    other = replace(vocabulary, tokens=[*vocabulary.tokens[:-1], last._replace(text="[X]")])
    messages: list[str] = []
    open_model(folder, Original(vocabulary), messages)
    with pytest.raises(InputError, match=rf"token {len(vocabulary) - 1} is .* but '\[X\]' in"):
        open_model(folder, Original(other), messages)
    saved(gpt2, folder, len(more))
    open_model(folder, Original(more), messages)
    assert messages == []


def damaged(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "bad"))


def rewrite(folder: Path, **changes: Any) -> None:
    file = folder / "model.safetensors"
    tensors = safetensors.load_file(file)
    tensors = {name: value.clone() for name, value in tensors.items()}
    tensors |= changes
    safetensors.save_file({k: v for k, v in tensors.items() if v is not None}, file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": "many"}, "vocab_size: 'many' is not a number"),
        ({"vocab_size": 40}, "the model has 40 rows [(]vocab_size[)], and the tokenizer 50"),
        ({"vocab_size": 60}, "wte.weight has the shape"),
        ({"eos_token_id": 50}, "eos_token_id: '50' is not a token"),
        ({"eos_token_id": [1, "x"]}, "eos_token_id: 'x' is not a token"),
        ({"vocab_size": 60, "eos_token_id": 55}, "60 rows, and the tokenizer 50 tokens: it may be"),
        ({"decoder_vocab_size": 12}, "one vocabulary for both sides"),
        ({"text_config": {"vocab_size": 50}}, "a model inside the model"),
        ({"sequence_bias": {"(1,)": 2.0}}, "does not know how to renumber"),
    ],
)
def test_settings_that_do_not_fit(
    changes: dict[str, Any], message: str, good: Path, tmp_path: Path
) -> None:
    folder = damaged(good, tmp_path)
    edit(folder / "config.json", **changes)
    with pytest.raises(InputError, match=message):
        open_checkpoint(folder, 50)


def test_files_that_are_missing_or_damaged(good: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        open_checkpoint(tmp_path / "nothing", 50)
    folder = damaged(good, tmp_path)
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    for data, message in (
        (whole[:-1], "cut short"),
        (whole[: length // 2], "cut short"),
        (whole[:4], "cut short"),
        (b"", "cut short"),
        (whole + b"x", "cut short or damaged"),
        (b"\xff" * 64, "not a safetensors file"),
        (whole[:8] + b"[" * length + whole[8 + length :], "damaged header"),
        (whole.replace(b'"F32"', b'"X32"', 1), "does not know the type"),
        (whole.replace(b'"shape":[', b'"shape":[1', 1), "damaged header"),
    ):
        file.write_bytes(data)
        with pytest.raises(InputError, match=message):
            open_checkpoint(folder, 50)
    file.unlink()
    with pytest.raises(InputError, match="neither model"):
        open_checkpoint(folder, 50)
    index = folder / "model.safetensors.index.json"
    for weight_map, message in (
        ({"a": "../../etc/passwd"}, "not a file of this folder"),
        ({"a": 3}, "not a table of tensors"),
        ({"a": "x.safetensors"}, "cannot read"),
    ):
        index.write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
        with pytest.raises(InputError, match=message):
            open_checkpoint(folder, 50)
    (folder / "x.safetensors").write_bytes(whole)
    with pytest.raises(InputError, match="is not where it says"):
        open_checkpoint(folder, 50)
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match="json is missing"):
        open_checkpoint(folder, 50)


@given(place=st.integers(0, 2000), byte=st.integers(0, 255))
def test_a_changed_byte_of_the_header_is_no_crash(good: Path, place: int, byte: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = damaged(good, Path(temporary))
        data = bytearray((folder / "model.safetensors").read_bytes())
        data[place % len(data)] = byte
        (folder / "model.safetensors").write_bytes(data)
        try:
            open_checkpoint(folder, 50)
        except InputError as error:
            assert str(folder) in str(error)


def test_tensors_that_can_not_be_cut(good: Path, tmp_path: Path) -> None:
    vocabulary = learned("byte-level")
    rows = NewRows(np.arange(50))

    def cut(folder: Path) -> None:
        open_checkpoint(folder, 50).write(folder / "out", vocabulary, rows)

    table = torch.randn(50, 16)
    for changes, message in (
        ({"transformer.wte.weight": None}, "no embedding matrix of 50 rows"),
        ({"transformer.wte.weight": table.to(torch.int8)}, "without quantization"),
        ({"transformer.wte.weight": table * float("nan")}, "not finite"),
        ({"head.strange": torch.randn(3, 50)}, "does not know a tensor of this name"),
        ({"transformer.wte.weight": torch.randn(51, 16)}, r"shape \[51, 16\]"),
    ):
        folder = damaged(good, tmp_path)
        rewrite(folder, **changes)
        with pytest.raises(InputError, match=message):
            cut(folder)
        shutil.rmtree(folder)


def test_nothing_is_left_after_an_error(tokenizer: Path, tmp_path: Path) -> None:
    saved(gpt2, tmp_path / "old", len(learned("byte-level")))
    rewrite(tmp_path / "old", **{
        "transformer.wte.weight": torch.full((len(learned("byte-level")), 16), float("inf"))
    })  # fmt: skip
    result = volt.refit(tokenizer, ON, model=tmp_path / "old", **SMALL)
    with pytest.raises(InputError, match="not finite"):
        result.save(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]
