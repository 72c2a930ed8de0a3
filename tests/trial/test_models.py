"""The two models: one step at a time is the same as all at once, padding changes nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest

from volt.base.errors import SettingsError

pytest.importorskip("torch", reason="needs torch: make large")
import torch

from volt.settings import TrialSettings
from volt.trial.data import PAD
from volt.trial.models import build_model
from volt.trial.presets import PRESETS, from_preset, language_model
from volt.trial.translation import translate

TOKENS = 23
SMALL = {
    "transformer": replace(PRESETS["tiny"].transformer, width=16, inner=32, encoder_layers=2,
                           decoder_layers=2, dropout=0.0),
    "conv": replace(PRESETS["tiny"].conv, width=16, dropout=0.0,
                    encoder_convolutions=((12, 3), (20, 5)),
                    decoder_convolutions=((12, 3), (20, 4))),
}  # fmt: skip


def made(model, seed=0):
    torch.manual_seed(seed)
    return build_model(SMALL[model], TOKENS).eval()


@pytest.mark.parametrize("model", SMALL)
@torch.inference_mode()
def test_step_by_step_is_all_at_once(model):
    one = made(model)
    source = torch.tensor([[5, 6, 7, 1], [8, 1, PAD, PAD]])
    target = torch.tensor([[PAD, 9, 3, 4, 11], [PAD, 12, 13, 5, 5]])
    whole = one(source, target)
    state = one.start(source, 1)
    for position in range(target.shape[1]):
        step = one.step(target[:, position], state)
        torch.testing.assert_close(step, whole[:, position], rtol=1e-4, atol=1e-5)
        if position == 2:  # swap the hypotheses and go on
            state = one.select(state, torch.tensor([1, 0]))
            whole, target = whole.flip(0), target.flip(0)


@pytest.mark.parametrize("model", SMALL)
@torch.inference_mode()
def test_padding_changes_nothing(model):
    one = made(model)
    source, target = torch.tensor([[5, 6, 1]]), torch.tensor([[PAD, 9, 3]])
    alone = one(source, target)
    with_more = one(
        torch.tensor([[5, 6, 1, PAD, PAD], [8, 9, 10, 11, 1]]),
        torch.tensor([[PAD, 9, 3, PAD], [PAD, 4, 5, 6]]),
    )
    torch.testing.assert_close(with_more[:1, :3], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", SMALL)
@torch.inference_mode()
def test_no_position_sees_what_follows(model):
    one = made(model)
    source = torch.tensor([[5, 6, 1]])
    first = one(source, torch.tensor([[PAD, 9, 3, 4]]))
    second = one(source, torch.tensor([[PAD, 9, 17, 18]]))
    torch.testing.assert_close(first[:, :2], second[:, :2])
    assert not torch.allclose(first[:, 2:], second[:, 2:])


@pytest.mark.parametrize("model", SMALL)
def test_embeddings_are_shared(model):
    """One token more costs one row of the table, and nothing else."""
    shape = SMALL[model]
    fewer, more = (build_model(shape, tokens).parameter_count() for tokens in (20, 21))
    assert more - fewer == shape.width


@pytest.mark.parametrize("model", SMALL)
def test_a_beam_of_one_is_greedy(model):
    one = made(model, seed=3)
    _, settings = from_preset(TrialSettings(model=model, beam=1, updates=1))
    source = np.array([5, 6, 7], np.int32)
    (found,) = translate(one, [source], settings)
    tokens, expected = [PAD], []
    with torch.inference_mode():
        for _ in range(2 * 4 + 20 - 1):
            logits = one.logits(one(torch.tensor([[5, 6, 7, 1]]), torch.tensor([tokens])))[0, -1]
            logits[PAD] = -torch.inf
            best = int(logits.argmax())
            if best == 1:
                break
            tokens.append(best)
            expected.append(best - 2)
    assert found == expected


@pytest.mark.parametrize("model", SMALL)
@torch.inference_mode()
def test_a_wide_beam_finds_what_a_search_of_everything_finds(model):
    """With a beam as wide as the vocabulary, what is found is no worse than the best hypothesis of
    up to one token."""
    one = made(model, seed=5)
    _, settings = from_preset(TrialSettings(model=model, beam=TOKENS, updates=1))
    source = torch.tensor([[5, 6, 1]])

    def score(ids):
        given = torch.tensor([[PAD, *ids]])
        logits = one.logits(one(source, given))[0]
        logits[:, PAD] = -torch.inf
        chosen = logits.log_softmax(-1)[range(len(ids) + 1), [*ids, 1]]
        return float(chosen.sum()) / (len(ids) + 1)

    (found,) = translate(one, [np.array([5, 6], np.int32)], settings)
    best = max(score(ids) for ids in [[], *([t] for t in range(2, TOKENS))])
    assert score([token + 2 for token in found]) >= best - 1e-5


def test_never_and_empty_lines():
    one = made("conv", seed=1)
    _, settings = from_preset(TrialSettings(model="conv", beam=3, updates=1))
    sources = [np.array([5, 6], np.int32), np.array([], np.int32)]
    some = translate(one, sources, settings)
    assert some[1] == []
    often = max(some[0], key=some[0].count)
    other = translate(one, sources, settings, never=[often + 2])
    assert often not in other[0]


@torch.inference_mode()
def test_long_sources_are_translated_whole(monkeypatch):
    model = made("transformer")
    seen = []
    start = type(model).start

    def spy(self, source, beam):
        seen.append(source.shape)
        return start(self, source, beam)

    monkeypatch.setattr(type(model), "start", spy)
    settings = from_preset(TrialSettings(beam=1, max_tokens=9))[1]
    translate(model, [np.full(400, 3, np.int32)], settings)
    assert seen == [(1, 401)]


def test_big_and_base_train_as_the_paper_did():
    for name in ("base", "big"):
        shape, training = from_preset(TrialSettings(preset=name))
        assert (training.learning_rate, training.warmup) == (5e-4, 4000)
        assert (training.batch, training.accumulate, shape.dropout) == (9600, 4, 0.3)
        assert (training.epochs, training.average, training.beam) == (40, 5, 4)
    assert (shape.width, shape.inner, shape.heads) == (1024, 4096, 16)
    assert (shape.encoder_layers, shape.decoder_layers) == (6, 6)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("model", SMALL)
def test_every_preset_can_be_built(name, model):
    shape, _ = from_preset(TrialSettings(preset=name, model=model))
    with torch.device("meta"):
        assert build_model(shape, 100).parameter_count() > 10_000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epochs": 1, "updates": 5}, "one of `minutes`, `epochs` and `updates`"),
        ({"updates": 0}, "`updates` must be a whole number of at least 1"),
        ({"dropout": 1.5}, "`dropout` must be at least 0 and below 1"),
        ({"beam": 0}, "`beam` must be a whole number of at least 1"),
        ({"patience": -1}, "`patience` must be a whole number of at least 0"),
        ({"warmup": -1}, "`warmup` must be a whole number of at least 0"),
        ({"minutes": math.inf}, "`minutes` must be a number above 0"),
        ({"epochs": math.nan}, "`epochs` must be a number above 0"),
        ({"learning_rate": math.inf}, "`learning_rate` must be a number above 0"),
        ({"max_tokens": 2000}, "`max_tokens` must be a whole number from 1 to 1,024"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, words):
    with pytest.raises(SettingsError, match=words):
        from_preset(TrialSettings(**changes))


@pytest.fixture(params=["transformer", "conv"])
def language_shape(request):
    return language_model(SMALL[request.param], 2)


@torch.inference_mode()
def test_language_models_see_neither_padding_nor_what_follows(language_shape):
    torch.manual_seed(0)
    one = build_model(language_shape, TOKENS).eval()
    alone = one(torch.tensor([[PAD, 9, 3]]))
    assert alone.shape == (1, 3, language_shape.width)
    with_more = one(torch.tensor([[PAD, 9, 3, PAD, PAD], [PAD, 4, 5, 6, 7]]))
    torch.testing.assert_close(with_more[:1, :3], alone, rtol=1e-4, atol=1e-5)
    other = one(torch.tensor([[PAD, 9, 17]]))
    torch.testing.assert_close(other[:, :2], alone[:, :2])
    assert not torch.allclose(other[:, 2], alone[:, 2])
    # The same token at another place is another one.
    assert not torch.allclose(one(torch.tensor([[PAD, 9, 9]]))[0, 1], alone[0, 2])


def test_language_models_have_one_table_of_embeddings(language_shape):
    fewer, more = (build_model(language_shape, tokens).parameter_count() for tokens in (20, 21))
    assert more - fewer == language_shape.width
