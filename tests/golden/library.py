# SPDX-License-Identifier: Apache-2.0
"""Golden models in the transformers library: it writes their folders, and runs them in float64 with eager attention."""

import json
import pathlib
import sys
import tempfile

try:
    import torch
    import transformers
except ImportError as error:
    sys.exit(f"Golden models need transformers with PyTorch: {error}. CONTRIBUTING.md says how to get them.")

from torch import nn
from torch.overrides import TorchFunctionMode

from files import read_safetensors, safetensors

transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()

TOLERANCE = 1e-12


class Wide(TorchFunctionMode):
    """The library computes norms, rotations and softmax in float32 whatever the model's type. Within this, it does so
    in float64."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        def widened(x):
            return torch.float64 if x is torch.float32 else x

        function = torch.Tensor.double if function is torch.Tensor.float else function
        return function(*map(widened, args), **{key: widened(x) for key, x in (kwargs or {}).items()})


def check_close(what, got, expected):
    """Elements may differ in the last digits of the largest; those that are 0 are 0 in both."""
    assert got.shape == expected.shape, f"{what} has shape {tuple(got.shape)}, expected {tuple(expected.shape)}"
    error, size = (got - expected).abs().max(), expected.abs().max()
    assert error <= TOLERANCE * size, f"{what} differs by {error} from numbers of at most {size}"
    assert torch.equal(got == 0, expected == 0), f"{what} has zeros at other places"


def load(model, folder, dtype):
    """The library's model of a folder. It may only lack the layer that pools texts or images for training."""
    loaded, report = getattr(transformers, model.library).from_pretrained(
        folder, dtype=dtype, attn_implementation="eager", output_loading_info=True)
    missing = {key for key in report["missing_keys"] if not key.startswith("pooler.")}
    assert not missing and not report["unexpected_keys"] and not report["mismatched_keys"], report
    return loaded.eval()


def write(model, config, tensors, folder):
    """Writes config.json and the weights as the library saves them."""
    with tempfile.TemporaryDirectory() as published:
        path = pathlib.Path(published)
        (path / "config.json").write_text(json.dumps(config))
        (path / "model.safetensors").write_bytes(safetensors(tensors, {"format": "pt"}))
        loaded = load(model, path, model.dtype)
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    loaded.save_pretrained(folder, max_shard_size=-(-5 * size // (4 * model.shards)))
    (folder / "generation_config.json").unlink(missing_ok=True)
    files = list(folder.glob("model*.safetensors"))
    assert len(files) == model.shards, files
    for file in files:
        file.chmod(0o644)
    saved = {name: x for file in files for name, x in read_safetensors(file).items()}
    assert saved.keys() == tensors.keys(), saved.keys() ^ tensors.keys()
    assert all(torch.equal(saved[name], tensors[name]) for name in tensors)


class Run:
    """The library's results for inputs. A head_mask [layers, heads] multiplies the heads' outputs."""

    def __init__(self, model, loaded, inputs, head_mask=None):
        self.hidden, config = [], loaded.config
        layers = next(m for m in loaded.modules()
                      if isinstance(m, nn.ModuleList) and len(m) == config.num_hidden_layers)
        hooks = [layer.register_forward_pre_hook(lambda module, given: self.hidden.append(given[0][0]))
                 for layer in layers]
        hooks.append(layers[-1].register_forward_hook(
            lambda module, given, out: self.hidden.append((out[0] if isinstance(out, tuple) else out)[0])))
        if head_mask is not None:
            hooks += [layer.get_submodule(model.head_outputs).register_forward_pre_hook(self._masked(row))
                      for layer, row in zip(layers, head_mask)]
        out = loaded(**inputs, output_attentions=True, output_hidden_states=True)
        for hook in hooks:
            hook.remove()
        self.weights = torch.stack([weights[0] for weights in out.attentions])
        self.logits = out.logits.reshape(-1, out.logits.shape[-1]) if model.has_logits else None
        # The library gives the last one after a norm.
        assert all(torch.equal(ours, theirs[0]) for ours, theirs in zip(self.hidden[:-1], out.hidden_states))

    @staticmethod
    def _masked(row):
        return lambda module, given: ((given[0].unflatten(-1, (len(row), -1)) * row.unsqueeze(1)).flatten(-2),)


def arguments(inputs):
    """The model's inputs under the library's names."""
    if "image" in inputs:
        return {"pixel_values": inputs["image"].double().unsqueeze(0)}
    given = {"input_ids": inputs["ids"].long().unsqueeze(0)}
    if "segments" in inputs:
        given["token_type_ids"] = inputs["segments"].long().unsqueeze(0)
    if "padding" in inputs:
        given["attention_mask"] = 1 - inputs["padding"].long().unsqueeze(0)
    return given


def check_steps(run, loaded, ids):
    """Token by token, with the library's cache, the numbers are those of one pass."""
    cache = None
    for t in range(ids.shape[1]):
        out = loaded(input_ids=ids[:, t:t + 1], past_key_values=cache, use_cache=True, output_attentions=True)
        cache = out.past_key_values
        check_close(f"logits of step {t}", out.logits[0], run.logits[t:t + 1])
        for whole, weights in zip(run.weights, out.attentions):
            columns = weights.shape[-1]
            check_close(f"a map of step {t}", weights[0, :, 0], whole[:, t, t + 1 - columns:t + 1])
            assert (whole[:, t, :t + 1 - columns] == 0).all()


def check_pixels(folder, picture, pixels):
    """The library's processor, which computes in float32, gives the same."""
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    got = processor(picture[..., :3].numpy(), input_data_format="channels_last", return_tensors="pt")["pixel_values"][0]
    assert got.shape == pixels.shape, got.shape
    assert (got - pixels).abs().max() <= 1e-6 * pixels.abs().max()


def results(model, folder, inputs, head_mask):
    """Weights, hidden, logits and ablated, as expected.safetensors has them."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    with Wide(), torch.no_grad():
        loaded, given = load(model, folder, torch.float64), arguments(inputs)
        run, ablated = Run(model, loaded, given), Run(model, loaded, given, head_mask)
        if model.causal and model.has_logits and model.steps:
            check_steps(run, loaded, given["input_ids"])
    torch.set_default_dtype(before)
    found = {"weights": run.weights, "hidden": torch.stack(run.hidden), "ablated": ablated.hidden[-1]}
    return found | ({"logits": run.logits} if model.has_logits else {})
