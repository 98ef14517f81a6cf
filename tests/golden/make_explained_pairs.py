#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Explains heads and logits of the golden encoder–decoders by the parts of their streams, like make_explained.py.

    /usr/bin/python3 tests/golden/make_explained_pairs.py       # all models
    /usr/bin/python3 tests/golden/make_explained_pairs.py t5    # those whose name starts so

It reads the folders tests/golden/encoder_decoders/NAME/ that make_encoder_decoders.py makes, and adds a file to each.
Run it after that script, which removes a folder, and this file with it, before it makes the folder anew.

The parts are those of make_explained.py. What head H of the cross-attention of layer M writes is cross.M.H, which
stands between the layer's head.M.H and its feed_forward.M. In the cross-attention, a query's parts are those of the
decoder's stream after the layer's heads, and those of keys and values are parts of the encoder's last stream.

explained.safetensors holds for each KIND of attention, encoder, decoder or cross, and one head of the last layer
    KIND.query_parts, KIND.key_parts, KIND.value_parts, logit_parts    metadata: names with commas between them
    KIND.score.at, KIND.score.terms, …, KIND.sources.value             what make_explained.py has without KIND
and for logits
    logits.at, logits.terms    a position and three ids; [P, 3] the logits there by part
    logits.decoder, logits.cross    [T, vocab] what that head of the last layer adds to all logits

The numbers are float64, and are rounded once, to float32, when stored. All sums of parts are checked here.
"""

import pathlib

import torch

from families import marian, t5
from families.parts import ATTENTIONS, Record, linear
from files import read_safetensors, safetensors
from make_explained import (HEAD, Head, Run, add, arranged, check_sum, explain_all, explain_row, explain_sources, output_terms,
                            projected, stack, through)

FOLDER = pathlib.Path(__file__).parent / "encoder_decoders"
MODELS = t5.MODELS | marian.MODELS


def load(name):
    """The definition with its folder's parameters, and its inputs and results as they are stored."""
    golden, folder = MODELS[name], FOLDER / name
    model, tensors = golden.definition(golden.config).double(), read_safetensors(folder / "model.safetensors")
    for key, parameter in model.named_parameters():
        parameter.data = tensors[key].double()
    return golden.architecture(model), model, read_safetensors(folder / "expected.safetensors")


def written_heads(pair, output, z):
    """Returns the vectors that each head writes [T, D], given the heads' outputs z side by side [T, H·d]."""
    weights = linear(output)[0].chunk(pair.heads, 1)
    return [z_h @ weight.T for z_h, weight in zip(z.chunk(pair.heads, 1), weights)]


def stream_parts(pair, run, name, ids, depth, cross=False):
    """The parts of a stack's stream before layer `depth`, or with `cross` behind that layer's own heads."""
    parts = pair.embed(ids)
    for m, layer in enumerate(pair.stacks[name][:depth + cross]):
        for step in layer[:1] if m == depth else layer:
            given, (weight, bias) = run.given[step.output], linear(step.output)
            if step.kind == "feed_forward":
                parts[f"feed_forward.{m}"] = given @ weight.T
            else:
                for h, written in enumerate(written_heads(pair, step.output, given)):
                    parts[f"{step.kind}.{m}.{h}"] = written
            if bias is not None:
                add(parts, "bias", bias.expand_as(parts["token"]))
            if not pair.norm_first:
                parts = through(step.norm, run.given[step.norm], parts)
    if not cross:
        check_sum(stack(parts), run.record[name].hidden[depth])
    return arranged(parts)


def last_stream(pair, run, name, ids):
    """The parts of what a stack gives."""
    parts = stream_parts(pair, run, name, ids, len(pair.stacks[name]))
    norm = pair.final_norm.get(name)
    return through(norm, run.record[name].hidden[-1], parts) if norm else parts


def head_of_last_layer(pair, run, inputs, kind):
    """A head of one of the attentions."""
    name, cross = "encoder" if kind == "encoder" else "decoder", kind == "cross"
    ids, depth = inputs["source_ids" if kind == "encoder" else "target_ids"], len(pair.stacks[name]) - 1
    step = pair.stacks[name][depth][cross]
    queries = stream_parts(pair, run, name, ids, depth, cross)
    if pair.norm_first:
        queries = through(step.norm, run.given[step.norm], queries)
    keys = last_stream(pair, run, "encoder", inputs["source_ids"]) if cross else queries
    query, key, value = ({part: x.chunk(pair.heads, 1)[HEAD] for part, x in projected(parts, *linear(module)).items()}
                         for parts, module in zip((queries, keys, keys), step.projections))
    record, output = run.record[kind], linear(step.output)[0].chunk(pair.heads, 1)[HEAD]
    written = written_heads(pair, step.output, run.given[step.output])[HEAD]
    head = Head(query, key, value, stack(query), stack(key), stack(value) @ output.T, pair.scale,
                record.weights[depth][HEAD], torch.isfinite(record.scores[depth][HEAD]), written,
                torch.ones_like(written))
    check_sum(head.weights * head.v.sum(0).T.unsqueeze(1), head.written.T, 2)
    return head, [depth, HEAD]


def explain_attention(pair, run, inputs, kind):
    head, place = head_of_last_layer(pair, run, inputs, kind)
    padding = inputs.get("padding", torch.zeros(len(inputs["source_ids"])))
    padding = padding if kind == "encoder" else torch.zeros(len(inputs["target_ids"]))
    query = int((padding == 0).sum()) - 2
    results = explain_row(head, [*place, query, query - 1, query - 3]) | explain_sources(head, padding)
    results |= {"output.written": head.written[query], "output.terms": output_terms(head, query)}
    names = {"query_parts": head.query_parts, "key_parts": head.key_parts, "value_parts": head.value_parts}
    return ({f"{kind}.{key}": x for key, x in results.items()},
            {f"{kind}.{key}": ",".join(parts) for key, parts in names.items()})


def explain_logits(pair, run, inputs):
    parts = projected(last_stream(pair, run, "decoder", inputs["target_ids"]), *pair.decoder)
    check_sum(stack(parts), run.logits)
    position, ids = len(run.logits) - 2, [0, run.logits.shape[1] // 2, run.logits.shape[1] - 1]
    last = len(pair.stacks["decoder"]) - 1
    results = {"logits.at": torch.tensor([position, *ids], dtype=torch.int32),
               "logits.terms": stack(parts)[:, position, ids],
               "logits.decoder": parts[f"head.{last}.{HEAD}"], "logits.cross": parts[f"cross.{last}.{HEAD}"]}
    return results, {"logit_parts": ",".join(parts)}


def explain(name):
    pair, model, inputs = load(name)
    run = Run(model, inputs, {kind: Record() for kind in ATTENTIONS})
    results, names = explain_logits(pair, run, inputs)
    expected = inputs["logits"]
    assert (run.logits - expected).abs().max() <= torch.finfo(torch.float32).eps * expected.abs().max()
    for kind in ATTENTIONS:
        more, more_names = explain_attention(pair, run, inputs, kind)
        results, names = results | more, names | more_names
    results = {key: x.float() if x.is_floating_point() else x for key, x in results.items()}
    (FOLDER / name / "explained.safetensors").write_bytes(safetensors(results, {"model": name} | names))


if __name__ == "__main__":
    explain_all(FOLDER, MODELS, explain)
