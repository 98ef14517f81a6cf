# SPDX-License-Identifier: Apache-2.0
"""Golden models in the transformers library: it writes their folders, and runs them in float64 with eager attention."""

import contextlib
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


@contextlib.contextmanager
def in_float64():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    with Wide():
        yield
    torch.set_default_dtype(before)


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


def kept_streams(layers, hidden):
    """Hooks that put into `hidden` the stream before each layer and after the last."""
    hooks = [layer.register_forward_pre_hook(lambda module, given: hidden.append(given[0][0])) for layer in layers]
    hooks.append(layers[-1].register_forward_hook(
        lambda module, given, out: hidden.append((out[0] if isinstance(out, tuple) else out)[0])))
    return hooks


def masked_heads(layers, path, head_mask):
    """Hooks by which a head_mask [layers, heads] multiplies what goes into each layer's module at `path`."""
    def masked(row):
        return lambda module, given: ((given[0].unflatten(-1, (len(row), -1)) * row.unsqueeze(1)).flatten(-2),)

    return [layer.get_submodule(path).register_forward_pre_hook(masked(row)) for layer, row in zip(layers, head_mask)]


def check_streams(hidden, hidden_states):
    """The library gives the same, except that its last one may be after a norm."""
    assert len(hidden) == len(hidden_states)
    assert all(torch.equal(ours, theirs[0]) for ours, theirs in zip(hidden[:-1], hidden_states))


class Run:
    """The library's results for inputs. A head_mask [layers, heads] multiplies the heads' outputs."""

    def __init__(self, model, loaded, inputs, head_mask=None):
        self.hidden, config = [], loaded.config
        layers = next(m for m in loaded.modules()
                      if isinstance(m, nn.ModuleList) and len(m) == config.num_hidden_layers)
        hooks = kept_streams(layers, self.hidden)
        if head_mask is not None:
            hooks += masked_heads(layers, model.head_outputs, head_mask)
        out = loaded(**inputs, output_attentions=True, output_hidden_states=True)
        for hook in hooks:
            hook.remove()
        self.weights = torch.stack([weights[0] for weights in out.attentions])
        self.logits = out.logits.reshape(-1, out.logits.shape[-1]) if model.has_logits else None
        check_streams(self.hidden, out.hidden_states)


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
    with in_float64(), torch.no_grad():
        loaded, given = load(model, folder, torch.float64), arguments(inputs)
        run, ablated = Run(model, loaded, given), Run(model, loaded, given, head_mask)
        if model.causal and model.has_logits and model.steps:
            check_steps(run, loaded, given["input_ids"])
    found = {"weights": run.weights, "hidden": torch.stack(run.hidden), "ablated": ablated.hidden[-1]}
    return found | ({"logits": run.logits} if model.has_logits else {})


# --- encoder–decoders -------------------------------------------------------------------------------------------------


class PairRun:
    """The library's results for a source and a target. `head_masks` has factors [layers, heads] of the heads' outputs
    for some kinds of attention."""

    def __init__(self, model, loaded, inputs, head_masks={}):
        self.hidden, hooks = {"encoder": [], "decoder": []}, []
        for kind, (path, head_outputs) in model.modules.items():
            layers = loaded.get_submodule(path)
            if kind in self.hidden:
                hooks += kept_streams(layers, self.hidden[kind])
            if kind in head_masks:
                hooks += masked_heads(layers, head_outputs, head_masks[kind])
        out = loaded(**inputs, use_cache=False, output_attentions=True, output_hidden_states=True)
        for hook in hooks:
            hook.remove()
        maps = {"encoder": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
        self.weights = {kind: torch.stack([weights[0] for weights in of_layers]) for kind, of_layers in maps.items()}
        self.logits = out.logits[0]
        check_streams(self.hidden["encoder"], out.encoder_hidden_states)
        check_streams(self.hidden["decoder"], out.decoder_hidden_states)


def check_pair_steps(run, loaded, inputs):
    """Token by token, with the library's cache of both attentions, the numbers are those of one pass."""
    given = {key: x for key, x in inputs.items() if key == "attention_mask"}
    given["encoder_outputs"] = loaded.get_encoder()(input_ids=inputs["input_ids"], **given)
    ids, cache = inputs["decoder_input_ids"], None
    for t in range(ids.shape[1]):
        out = loaded(**given, decoder_input_ids=ids[:, t:t + 1], past_key_values=cache, use_cache=True,
                     output_attentions=True)
        cache = out.past_key_values
        assert isinstance(cache, transformers.EncoderDecoderCache), type(cache)
        check_close(f"logits of step {t}", out.logits[0], run.logits[t:t + 1])
        for whole, weights in zip(run.weights["decoder"], out.decoder_attentions, strict=True):
            check_close(f"a map of step {t}", weights[0, :, 0], whole[:, t, :t + 1])
        for whole, weights in zip(run.weights["cross"], out.cross_attentions, strict=True):
            check_close(f"a map of cross attention in step {t}", weights[0, :, 0], whole[:, t])


def pair_results(model, folder, inputs, head_masks):
    """The results as expected.safetensors has them."""
    given = {"input_ids": inputs["source_ids"].long().unsqueeze(0),
             "decoder_input_ids": inputs["target_ids"].long().unsqueeze(0)}
    if "padding" in inputs:
        given["attention_mask"] = 1 - inputs["padding"].long().unsqueeze(0)
    with in_float64(), torch.no_grad():
        loaded = load(model, folder, torch.float64)
        run = PairRun(model, loaded, given)
        check_pair_steps(run, loaded, given)
        ablated = {kind: PairRun(model, loaded, given, {kind: mask}).hidden["decoder"][-1]
                   for kind, mask in head_masks.items()}
    return ({f"{kind}.weights": weights for kind, weights in run.weights.items()}
            | {f"{kind}.hidden": torch.stack(hidden) for kind, hidden in run.hidden.items()}
            | {f"{kind}.ablated": stream for kind, stream in ablated.items()} | {"logits": run.logits})
