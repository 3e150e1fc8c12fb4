"""The language models that ship load in transformers, and have the logits that language_logits.tsv records."""

import importlib.util
import json
import pathlib
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "proptests" / "tests" / "experiments"
MISSING = [name for name in ("torch", "transformers", "safetensors") if importlib.util.find_spec(name) is None]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs python/requirements/models.txt; not installed: {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def maker():
    specification = importlib.util.spec_from_file_location("make_language_logits", FOLDER / "make_language_logits.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def recorded(model):
    """(place, character, logit, sensitivity) of each logit; a line has the numbers of all characters at a place."""
    rows = [line.split("\t") for line in (FOLDER / "language_logits.tsv").read_text().splitlines()[2:]]
    return [
        (int(place), character, float.fromhex(logit), float(sensitivity))
        for (name, place, _, *logits), (_, _, _, *sensitivities) in zip(rows[::2], rows[1::2])
        if name == model
        for character, (logit, sensitivity) in enumerate(zip(logits, sensitivities))
    ]


def share_of_roundings(model, logits, unit):
    """Of what the roundings of a pass in `unit`, and those of the record, explain; as language_transformers_test.cpp."""
    return max(
        abs(float(logits[place, character]) - logit) / (1.001 * (unit + 2.0**-53) * sensitivity)
        for place, character, logit, sensitivity in recorded(model)
    )


@pytest.fixture(params=["plain-1", "adaptive-1"])
def model(request):
    return request.param


def test_the_record_is_whole(maker, model):
    assert len(recorded(model)) == len(maker.PLACES) * 96
    assert json.dumps(maker.TEXT) in (FOLDER / "language_logits.tsv").read_text()


def test_in_double(maker, model):
    import torch

    logits = maker.transformers_logits(maker.MODELS / model, torch.float64)
    assert share_of_roundings(model, logits, 2.0**-53) <= 1


def test_in_single_precision_as_a_user_runs_it(maker, model, record_property):
    import torch

    logits = maker.transformers_logits(maker.MODELS / model, torch.float32)
    record_property("largest_difference", max(abs(float(logits[p, c]) - x) for p, c, x, _ in recorded(model)))
    assert share_of_roundings(model, logits, 2.0**-24) <= 1


def test_a_second_evaluation_agrees(maker, model):
    logits, _ = maker.llama(maker.MODELS / model)
    assert share_of_roundings(model, logits.detach(), 2.0**-53) <= 1


def _with_config(**changed):
    def change(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **changed}))

    return change


def _with_tensors(change_tensors):
    def change(folder):
        import safetensors.torch

        tensors = safetensors.torch.load_file(folder / "model.safetensors")
        change_tensors(tensors)
        whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
        safetensors.torch.save_file(whole, folder / "model.safetensors", {"format": "pt"})

    return change


def _transposed(tensors):
    name = "model.layers.0.self_attn.q_proj.weight"
    tensors[name] = tensors[name].T


def _gate_for_up(tensors):
    gate, up = ("model.layers.2.mlp.gate_proj.weight", "model.layers.2.mlp.up_proj.weight")
    tensors[gate], tensors[up] = tensors[up], tensors[gate]


def _interleaved(tensors):
    """The planes of GPT-J's rotation, (2 i, 2 i + 1), in place of (i, i + 16)."""
    for name in ("q", "k"):
        place = f"model.layers.0.self_attn.{name}_proj.weight"
        tensors[place] = tensors[place].view(4, 2, 16, 128).transpose(1, 2).reshape(128, 128)


WRONG = {
    "rotary base": _with_config(rope_theta=500000.0),
    "norm epsilon": _with_config(rms_norm_eps=1e-5),
    "heads": _with_config(num_attention_heads=8, num_key_value_heads=8, head_dim=16),
    "activation": _with_config(hidden_act="gelu"),
    "untied embeddings": _with_config(tie_word_embeddings=False),
    "transposed queries": _with_tensors(_transposed),
    "gate for up": _with_tensors(_gate_for_up),
    "interleaved planes": _with_tensors(_interleaved),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_export_is_caught(maker, what, tmp_path):
    import torch

    folder = tmp_path / "model"
    shutil.copytree(maker.MODELS / "plain-1", folder)
    WRONG[what](folder)
    logits = maker.transformers_logits(folder, torch.float64)
    assert share_of_roundings("plain-1", logits, 2.0**-53) > 1
