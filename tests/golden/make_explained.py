#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Explains scores, heads and logits of the golden models by the parts that they are sums of, and changes their runs.

    /usr/bin/python3 tests/golden/make_explained.py            # all models
    /usr/bin/python3 tests/golden/make_explained.py gpt2       # those whose name starts so

It reads the folders tests/golden/models/NAME/ that make_models.py makes, and adds a file to each. Run it after
make_models.py, which removes a folder, and this file with it, before it makes the folder anew.

The parts
    The residual stream of a token is a sum of parts. Their names, in this order, are in the file's metadata:
        token, position, segment    the embeddings; for images, the class token or the patch without its bias
        head.M.H, feed_forward.M    for each layer M before: W_O z of each of its heads, and the feed-forward output
                                    without the bias of its last matrix
        bias, norm                  what biases have written into the stream, and what the shifts of norms have become
        projection                  the bias of the projection that the parts go through
    A part is absent where the model has nothing of its kind. Norms are frozen at the statistics of the whole stream, so
    that each part goes through them on its own, and what becomes of the parts adds up to what becomes of the stream.

explained.safetensors holds, for one head of the last layer, at a query i and two keys
    query_parts, key_parts, value_parts, logit_parts    metadata: the parts of the head's queries [Pq], keys [Pk] and
                   values [Pv], and those of logits [P], with commas between them
    score.at       layer, head, query, key, against
    score.terms, score.against    [Pq, Pk] the scaled score of (query, key), and what it is more than that of `against`
    row.scores     [T] the query's scaled scores of all keys, masked ones too
    row.by_query, row.by_key    [Pq, T], [Pk, T] the same by the parts of the query, and by those of each key
    output.written, output.terms    [D], [Pv, T] what the head writes at the query, c = W_O z, and |c| by key and part
    sources.query, sources.key    [Pq], [Pk] Σ (A - U) s over the queries and keys that are not padding: weights A less
                   the uniform weights U of what a query sees, times the scores s of one part
    sources.value  [Pv] Σ|c| over the queries that are not padding, by part
for models with logits
    lens           like logits: the model's logits of the stream after the first layer
    logits.at, logits.terms    a position and three ids; [P, 3] the logits there by part, where they are linear
    logits.head    like logits: what the head adds to them, where they are linear
and for changed runs, each with [T, D] the stream after the last layer as changed.NAME, and the head's map [T, T]
    changed.temperature      every head's scores are divided by 0.7
    changed.sparsemax        sparsemax in the place of softmax
    changed.mask             cells that changed.mask.keep [T, T] has as 0 are masked as well
    changed.diagonals        so are the cells whose query - key is one of changed.diagonals.offsets
    changed.zero             the values of changed.tokens are 0 in every layer
    changed.mean             in the first layer they are the mean of its values over the tokens that are not padding
    changed.patch            in the first layer, head 1 gives changed.patch.output [2, d] at changed.patch.positions

The numbers
    Everything is float64, and is rounded once, to float32, when stored. All sums of parts are checked here.
"""

import dataclasses
import math
import sys

import torch

from definition.normalizers import sparsemax
from draw import Draw
from families import FOLDER, MODELS
from families.parts import Record, RMSNorm, linear, softmax
from files import read_safetensors, safetensors

HEAD = 2  # in models whose heads share keys, it does not use the first of them
TEMPERATURE = 0.7
OFFSETS = [1, 3]
TOKENS = [1, 3]
PATCHED_HEAD, PATCHED = 1, [0, 2]


# --- parts ------------------------------------------------------------------------------------------------------------


def check(got, expected, size):
    """`size` holds the absolute sums of what was added up to get the numbers, which rounding is in proportion to."""
    assert torch.isfinite(got).all()
    error, tolerance = (got - expected).abs().max(), 256 * torch.finfo(torch.float64).eps * size.max()
    assert error <= tolerance, f"a sum is wrong by {error}, more than {tolerance}"


def check_sum(terms, expected, dims=0):
    check(terms.sum(dims), expected, terms.abs().sum(dims))


def stack(parts):
    return torch.stack(list(parts.values()))


def add(parts, name, x):
    parts[name] = parts[name] + x if name in parts else x


def arranged(parts):
    """The constant parts come last."""
    last = ["bias", "norm", "projection"]
    return {name: parts[name] for name in sorted(parts, key=lambda name: last.index(name) if name in last else -1)}


def through(norm, x, parts):
    """Each part of x [T, D] as it leaves the norm, frozen at the statistics of x."""
    check_sum(stack(parts), x)
    if isinstance(norm, RMSNorm):
        normal = {name: part * norm.factor(x) for name, part in parts.items()}
    else:
        deviation = torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + norm.eps)
        normal = {name: (part - part.mean(-1, keepdim=True)) / deviation * norm.weight for name, part in parts.items()}
        add(normal, "norm", norm.bias.expand_as(x))
    check_sum(stack(normal), norm(x))
    return normal


def projected(parts, weight, bias):
    out = {name: part @ weight.T for name, part in parts.items()}
    if bias is not None:
        out["projection"] = bias.expand_as(next(iter(out.values())))
    return arranged(out)


def head_outputs(layer, heads, z):
    """The rows that each head adds to the stream [T, D], given the heads' outputs z side by side [T, H·d]."""
    weights, factor = linear(layer.output)[0], layer.written[0](layer.output(z))
    return [z_h @ weight.T * factor for z_h, weight in zip(z.chunk(heads, 1), weights.chunk(heads, 1))]


def stream_parts(architecture, run, inputs, depth):
    """The parts of the stream before layer `depth`."""
    parts = architecture.embed(inputs)
    if architecture.embedding_norm is not None:
        parts = through(architecture.embedding_norm, run.given[architecture.embedding_norm], parts)
    for m, layer in enumerate(architecture.layers[:depth]):
        attention, forward = {}, {}
        for h, output in enumerate(head_outputs(layer, architecture.heads, run.given[layer.output])):
            attention[f"head.{m}.{h}"] = output
        factors = [factor(module(run.given[module]))
                   for factor, module in zip(layer.written, (layer.output, layer.down))]
        forward[f"feed_forward.{m}"] = run.given[layer.down] @ linear(layer.down)[0].T * factors[1]
        modules = (layer.output, layer.down)
        for written, module, factor, norm in zip((attention, forward), modules, factors, layer.after):
            parts = parts | written
            if module.bias is not None:
                add(parts, "bias", module.bias * factor)
            if norm is not None:
                parts = through(norm, run.given[norm], parts)
    check_sum(stack(parts), run.record.hidden[depth])
    return arranged(parts)


# --- runs -------------------------------------------------------------------------------------------------------------


class Run:
    """A run of the model: its record, or several by name, and logits; and `given`, the input of every module."""

    def __init__(self, model, inputs, record=None):
        self.given = {}
        hooks = [module.register_forward_pre_hook(self._keep) for module in model.modules()]
        self.record = record or Record()
        self.logits = model(self.record, inputs)
        for hook in hooks:
            hook.remove()

    def _keep(self, module, given):
        self.given[module] = given[0]


def load(name):
    """The definition with its folder's parameters, its config, and its inputs and results as make_models.py stored
    them."""
    golden = MODELS[name]
    config, tensors = golden.full_config(), {}
    model = golden.definition(config).double()
    for path in (FOLDER / name).glob("model*.safetensors"):
        tensors |= read_safetensors(path)
    for key, parameter in model.named_parameters():
        if golden.rename(key):
            parameter.data = tensors.pop(golden.rename(key)).double()
    assert not tensors, tensors.keys()
    stored = read_safetensors(FOLDER / name / "expected.safetensors")
    return model, config, {key: x.double() if x.is_floating_point() else x for key, x in stored.items()}


# --- one head ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Head:
    """One head: the parts of its queries, keys and values by name; `q` and `k` [P, T, d] as they meet in scores, and
    `v` [P, T, D] with W_O; its weights, the cells [T, T] that are not masked, what it writes [T, D], and the factor
    [T, D] that is in it."""

    query_parts: dict
    key_parts: dict
    value_parts: dict
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    scale: float
    weights: torch.Tensor
    keep: torch.Tensor
    written: torch.Tensor
    factor: torch.Tensor


def head_of_last_layer(architecture, run, inputs):
    depth, layer = len(architecture.layers) - 1, architecture.layers[-1]
    parts = stream_parts(architecture, run, inputs, depth)
    if layer.norm is not None:
        parts = through(layer.norm, run.record.hidden[depth], parts)

    def side(projection, count, index, factor_of=torch.ones_like):
        """The parts of one head's queries, keys or values: those of all heads, times a factor, cut."""
        whole = projected(parts, *projection)
        factor = factor_of(stack(whole).sum(0))
        return {name: (part * factor).chunk(count, 1)[index] for name, part in whole.items()}

    heads, groups, rotary = architecture.heads, architecture.groups, layer.rotary
    group = HEAD // (heads // groups)
    query = side(layer.query, heads, HEAD, layer.query_factor)
    key = side(layer.key, groups, group, layer.key_factor)
    value, output = side(layer.value, groups, group), linear(layer.output)[0].chunk(heads, 1)[HEAD]
    scores, given = run.record.scores[depth][HEAD], run.given[layer.output]
    head = Head(query, key, value, rotary(stack(query)), rotary(stack(key)), stack(value) @ output.T, layer.scale,
                run.record.weights[depth][HEAD], torch.isfinite(scores), head_outputs(layer, heads, given)[HEAD],
                layer.written[0](layer.output(given)))
    terms = head.scale * torch.einsum("aid,bjd->abij", head.q, head.k)
    check_sum(terms.masked_fill(~head.keep, 0), scores.masked_fill(~head.keep, 0), (0, 1))
    check_sum(head.weights * head.v.sum(0).T.unsqueeze(1), (head.written / head.factor).T, 2)
    return head


def explain_row(head, place):
    """The score of one cell, and the scores of the query's row."""
    _, _, query, key, against = place
    assert head.keep[query, key] and head.keep[query, against] and key < query
    q, k, scale = head.q, head.k, head.scale
    terms, other = (scale * q[:, query] @ k[:, j].T for j in (key, against))
    scores = scale * k.sum(0) @ q.sum(0)[query]
    by_query, by_key = scale * q[:, query] @ k.sum(0).T, scale * k @ q.sum(0)[query]
    check_sum(terms, scores[key], (0, 1))
    check_sum(other, scores[against], (0, 1))
    check_sum(by_query, scores)
    check_sum(by_key, scores)
    return {"score.at": torch.tensor(place, dtype=torch.int32), "score.terms": terms, "score.against": terms - other,
            "row.scores": scores, "row.by_query": by_query, "row.by_key": by_key}


def output_terms(head, query):
    """The length of what the head writes at the query, by part and key [Pv, T]."""
    written = head.written[query]
    terms = head.weights[query] * (head.v * head.factor[query] @ (written / written.norm()))
    check_sum(terms, written.norm(), (0, 1))
    return terms


def explain_sources(head, padding):
    queries = [i for i in range(len(padding)) if not padding[i]]
    uniform = head.keep.double() / head.keep.sum(1, keepdim=True)
    contrast = (head.weights - uniform)[queries]
    by_query = torch.stack([contrast * (head.scale * q @ head.k.sum(0).T)[queries] for q in head.q])
    by_key = torch.stack([contrast * (head.scale * head.q.sum(0) @ k.T)[queries] for k in head.k])
    check_sum(by_query, by_key.sum(0))
    by_value = torch.stack([output_terms(head, i) for i in queries])
    return {"sources.query": by_query.sum((1, 2)), "sources.key": by_key.sum((1, 2)),
            "sources.value": by_value.sum((0, 2))}


# --- logits -----------------------------------------------------------------------------------------------------------


def explain_logits(architecture, run, inputs, position):
    """The logits of one position, before their cap, by part, and what the head adds to all of them; the names of the
    parts."""
    parts = stream_parts(architecture, run, inputs, len(architecture.layers))
    normal = through(architecture.final_norm, run.record.hidden[-1], parts)
    parts = projected({name: architecture.pool(part) for name, part in normal.items()}, *architecture.decoder)
    cap = architecture.logit_cap
    check_sum(stack(parts), run.logits if cap is None else cap * torch.atanh(run.logits / cap))
    ids = [0, run.logits.shape[1] // 2, run.logits.shape[1] - 1]
    results = {"logits.at": torch.tensor([position, *ids], dtype=torch.int32),
               "logits.terms": stack(parts)[:, position, ids],
               "logits.head": parts[f"head.{len(architecture.layers) - 1}.{HEAD}"]}
    return results, parts


# --- changed runs -----------------------------------------------------------------------------------------------------


def changes(name, length, width, padding):
    """The tensors that say what is changed, and for each changed run the functions of its Record."""
    draw = Draw(f"{name} explained")
    keep, output = draw.keep(length, length), draw.normal(len(PATCHED), width)
    distance = torch.arange(length).unsqueeze(1) - torch.arange(length)
    stored = {"changed.mask.keep": keep.to(torch.uint8), "changed.patch.output": output,
              "changed.diagonals.offsets": OFFSETS, "changed.tokens": TOKENS, "changed.patch.positions": PATCHED}
    stored = {key: x if torch.is_tensor(x) else torch.tensor(x, dtype=torch.int32) for key, x in stored.items()}

    def masked(hidden):
        return lambda layer, scores: softmax(layer, scores.masked_fill(hidden, -math.inf))

    def zero(layer, v):
        v = v.clone()
        v[:, TOKENS] = 0
        return v

    def mean(layer, v):
        v = v.clone()
        if layer == 0:
            v[:, TOKENS] = v[:, padding == 0].mean(1, keepdim=True)
        return v

    def patch(layer, heads):
        heads = heads.clone()
        if layer == 0:
            heads[PATCHED_HEAD, PATCHED] = output.double()
        return heads

    return stored, {"temperature": {"weights_of": lambda layer, scores: softmax(layer, scores / TEMPERATURE)},
                    "sparsemax": {"weights_of": lambda layer, scores: sparsemax(scores, {})},
                    "mask": {"weights_of": masked(~keep)},
                    "diagonals": {"weights_of": masked(sum(distance == offset for offset in OFFSETS).bool())},
                    "zero": {"change_values": zero}, "mean": {"change_values": mean}, "patch": {"change_heads": patch}}


def changed_runs(name, model, inputs, head, padding):
    results, runs = changes(name, len(padding), head.q.shape[-1], padding)
    for change, functions in runs.items():
        record = Record(**functions)
        model(record, inputs)
        results |= {f"changed.{change}": record.hidden[-1], f"changed.{change}.map": record.weights[-1][HEAD]}
        assert all(torch.isfinite(x).all() for x in [*record.hidden, *record.weights])
    return results


# --- the files --------------------------------------------------------------------------------------------------------


def explain(name):
    model, config, stored = load(name)
    run, architecture = Run(model, stored), MODELS[name].architecture(model, config)
    hidden = torch.stack(run.record.hidden)
    assert (hidden - stored["hidden"]).abs().max() <= torch.finfo(torch.float32).eps * hidden.abs().max()
    padding = stored.get("padding", torch.zeros(hidden.shape[1]))
    query = int((padding == 0).sum()) - 2
    place = [len(architecture.layers) - 1, HEAD, query, query - 1, query - 3]

    head = head_of_last_layer(architecture, run, stored)
    results = explain_row(head, place) | {"output.written": head.written[query],
                                          "output.terms": output_terms(head, query)}
    results |= explain_sources(head, padding) | changed_runs(name, model, stored, head, padding)
    names = {"query_parts": head.query_parts, "key_parts": head.key_parts, "value_parts": head.value_parts}
    if "logits" in stored:
        results["lens"] = model.logits(run.record.hidden[1])
        if architecture.decoder is not None:
            logits, names["logit_parts"] = explain_logits(architecture, run, stored, 0 if "image" in stored else query)
            results |= logits
    results = {key: x.float() if x.is_floating_point() else x for key, x in results.items()}
    metadata = {"model": name, **{key: ",".join(parts) for key, parts in names.items()}}
    (FOLDER / name / "explained.safetensors").write_bytes(safetensors(results, metadata))


def explain_all(folder, models, explain_one):
    """Explains those models whose names begin with an argument of the command, or all without arguments."""
    names = [name for name in models if any(name.startswith(start) for start in sys.argv[1:] or [""])]
    with torch.no_grad():
        for name in names:
            explain_one(name)
    size = sum((folder / name / "explained.safetensors").stat().st_size for name in names)
    print(f"{len(names)} models explained, {size} bytes")


if __name__ == "__main__":
    explain_all(FOLDER, MODELS, explain)
