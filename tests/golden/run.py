# SPDX-License-Identifier: Apache-2.0
"""A function for each operation, which turns a case's tensors and options into the results that a run must give."""

import sys
import warnings

import torch
from torch import nn

from definition.attention import attention
from definition.layers import ACTIVATIONS, RmsNorm, embed, multihead, swiglu
from definition.masks import CONVENTION_WORDS, MASK_OPTIONS, MASK_TENSORS, conventions
from definition.positions import BIAS_OPTIONS, BIAS_TENSORS
from published import additive, agree, as_given, batched, check_mha, checked, full_params, softmax_alone

# --- the options ----------------------------------------------------------------------------------------------------

ATTENTION_WORDS = ["need_weights", "average_attn_weights", "stages", "scale", "softcap", "dropout_p", "seed",
                   *CONVENTION_WORDS, *MASK_OPTIONS, *BIAS_OPTIONS, "normalizer", "temperature", "sink", "top_k",
                   "sigmoid_bias", "rotary", "rotary_dim", "rotary_base", "rotary_scale"]
LAYER_WORDS = ["embed_dim", "num_heads", "num_kv_heads", "bias", "batch_first", *ATTENTION_WORDS]
BLOCK_WORDS = ["dim_feedforward", "activation", "layer_norm_eps", "norm_first", "norm", *LAYER_WORDS]
OPTIONS = {
    "scaled_dot_product_attention": ["is_causal", "enable_gqa", *ATTENTION_WORDS],
    "multihead_attention": ["is_causal", "kdim", "vdim", "add_bias_kv", "add_zero_attn", *LAYER_WORDS],
    "transformer_encoder_layer": ["is_causal", *BLOCK_WORDS],
    "transformer_decoder_layer": ["tgt_is_causal", "memory_is_causal", *BLOCK_WORDS],
    "embedding": ["positions", "position_offset", "scale_embeddings"],
}
# Tensors that guide attention, which have the same name in every operation.
ATTENTION_TENSORS = [*MASK_TENSORS, *BIAS_TENSORS, "sinks", "past_key", "past_value", "head_mask"]


def asked_for(results, options, need_weights, unbatched):
    """The weights and stages that the options ask for, [B,H,T,·] in either layout; [H,T,·] when the input is
    unbatched."""
    out = {}
    if need_weights:
        out["weights"] = results["weights"].mean(1) if options.get("average_attn_weights", True) else results["weights"]
    for stage in options.get("stages", []):
        out[stage] = results[stage]
    return {name: x[0] if unbatched else x for name, x in out.items()}


def told(tensors, names):
    return {x: tensors[x] for x in names if x in tensors}


# --- the operations -------------------------------------------------------------------------------------------------


def run_sdpa(name, tensors, options):
    q, k, v = (tensors[x].double() for x in ("query", "key", "value"))
    rank = q.dim()
    lead = 0 if options.get("enable_gqa") else 1  # three dimensions are [H,T,d] with enable_gqa, and otherwise [N,T,d]
    as4 = {2: lambda x: x[None, None], 3: lambda x: x.unsqueeze(lead), 4: lambda x: x}[rank]
    like_input = {2: lambda x: x[0, 0], 3: lambda x: x.select(lead, 0), 4: lambda x: x}[rank]
    points = conventions("scaled_dot_product_attention", options)
    given = {**options, **told(tensors, ["attn_mask", "key_padding_mask", *ATTENTION_TENSORS])}
    results, _ = attention(name, as4(q), as4(k), as4(v), given, points)
    results["output"] = results["head_outputs"]
    per_head = {"average_attn_weights": False, **options}
    shown = asked_for(results, per_head, options.get("need_weights", False), False)
    return {x: like_input(t) for x, t in {"output": results["output"], **shown}.items()}


def run_mha(name, tensors, options):
    inputs = ["query", "key", "value"]
    masks = told(tensors, ["attn_mask", "key_padding_mask", *ATTENTION_TENSORS])
    params = {x: t.double() for x, t in tensors.items() if x not in inputs and x not in masks}
    query = tensors["query"].double()
    key = tensors["key"].double() if "key" in tensors else query
    value = tensors["value"].double() if "value" in tensors else key
    points, given = conventions("multihead_attention", options), {**options, **masks}
    results, masks = multihead(name, *(batched(x, options) for x in (query, key, value)), params, given, points)
    check_mha(name, query, key, value, params, given, points, masks, results)
    return {"output": as_given(results["output"], query, options),
            **asked_for(results, options, options.get("need_weights", True), query.dim() == 2)}


class SpelledOut(nn.Module):
    """Takes the place of a layer's nn.MultiheadAttention to see its stages. It applies the case's own masks."""

    def __init__(self, name, params, given, points):
        super().__init__()
        self.name, self.params, self.given, self.points = name, params, given, points
        self.batch_first = given.get("batch_first", False)

    def forward(self, query, key, value, **_):
        self.results, self.masks = multihead(self.name, *(batched(x, self.given) for x in (query, key, value)),
                                             self.params, self.given, self.points)
        return as_given(self.results["output"], query, self.given), None


def make_block(tensors, options, decoder):
    """PyTorch's layer, with the parts that PyTorch does not have put in their places."""
    D, F, eps = options["embed_dim"], options["dim_feedforward"], options.get("layer_norm_eps", 1e-5)
    make = nn.TransformerDecoderLayer if decoder else nn.TransformerEncoderLayer
    activation = ACTIVATIONS[options.get("activation", "relu")]
    layer = make(D, options["num_heads"], F, dropout=0.0, activation=activation, layer_norm_eps=eps,
                 batch_first=options.get("batch_first", False), norm_first=options.get("norm_first", False))
    if activation is swiglu:
        layer.linear1 = nn.Linear(D, 2 * F)
    if options.get("norm") == "rms_norm":
        for n in range(3 if decoder else 2):
            setattr(layer, f"norm{n + 1}", RmsNorm(D, eps))
    if not options.get("bias", True):
        layer.linear1.bias = layer.linear2.bias = None
        for n in range(3 if decoder else 2):
            getattr(layer, f"norm{n + 1}").bias = None
    return layer.double()


def run_block(name, op, tensors, options):
    """Runs PyTorch's own encoder or decoder layer with its attention spelled out; and, where PyTorch can express the
    whole problem, once more with nn.MultiheadAttention."""
    decoder = op == "transformer_decoder_layer"
    x = tensors["tgt" if decoder else "src"].double()
    memory = [tensors["memory"].double()] if decoder else []
    points, sides = conventions(op, options), {}
    for attention_name, side in [("self_attn", "tgt"), ("multihead_attn", "memory")] if decoder else [
            ("self_attn", "src")]:
        given = {**options, **told(tensors, ATTENTION_TENSORS),
                 "is_causal": options.get("is_causal" if side == "src" else f"{side}_is_causal", False)}
        if side == "memory":  # masks by position, positions and head masks belong to the self-attention
            given = {w: y for w, y in given.items() if w not in SELF_ALONE} | {"seed": given.get("seed", 0) + 1}
        for mask in "attn_mask", "key_padding_mask":
            own = f"{side}_{mask.replace('attn_', '')}"
            given.update({mask: tensors[own]} if own in tensors else {})
        params = {n[len(attention_name) + 1:]: t.double() for n, t in tensors.items()
                  if n.startswith(attention_name + ".")}
        sides[side] = attention_name, SpelledOut(name, params, given, points)
    layer = make_block(tensors, options, decoder)
    rest = {n: t.double() for n, t in tensors.items() if n.startswith(("linear", "norm"))}
    unknown = [n for n in layer.load_state_dict(rest, strict=False).missing_keys if "_attn" not in n]
    if unknown:
        sys.exit(f"no parameters {', '.join(unknown)}")
    theirs = {attention_name: getattr(layer, attention_name) for attention_name, _ in sides.values()}
    for attention_name, spelled in sides.values():
        setattr(layer, attention_name, spelled)
    output = layer(x, *memory)
    check_block(name, layer, x, memory, sides, theirs, output)

    need_weights, unbatched = options.get("need_weights", False), x.dim() == 2
    inner = sides["tgt" if decoder else "src"][1].results
    stages = options.get("stages", [])
    of_memory = [stage for stage in stages if stage.startswith(MEMORY)]
    own = {**options, "stages": [stage for stage in stages if stage not in of_memory]}
    expected = {"output": output, **asked_for(inner, own, need_weights, unbatched)}
    if decoder:
        crossed = {**options, "stages": [stage.removeprefix(MEMORY) for stage in of_memory]}
        expected.update({MEMORY + stage: x for stage, x in asked_for(
            sides["memory"][1].results, crossed, need_weights, unbatched).items()})
    return expected


MEMORY = "memory_"  # begins the names of the stages of the attention over the memory
SELF_ALONE = {*MASK_OPTIONS, *MASK_TENSORS, *BIAS_OPTIONS, *BIAS_TENSORS, "rotary", "head_mask", "past_key",
              "past_value"}


def check_block(name, layer, x, memory, sides, theirs, output):
    """Compares with the layer that has nn.MultiheadAttention in its place and gets all masks as one additive mask."""
    if any(not softmax_alone(s.given) or {"rotary", "past_key", "temperature", "sink", "sinks", "scale"} & set(s.given)
           for _, s in sides.values()):
        return
    native, skip = {}, torch.zeros(batched(x, sides[next(iter(sides))][1].given).shape[:2], dtype=torch.bool)
    for side, (attention_name, spelled) in sides.items():
        own = theirs[attention_name]
        if not spelled.given.get("bias", True):
            own = nn.MultiheadAttention(own.embed_dim, own.num_heads, bias=False, batch_first=own.batch_first).double()
        own.load_state_dict(full_params(spelled.params, spelled.given, spelled.points))
        setattr(layer, attention_name, own)
        native[f"{side}_mask"] = additive(spelled.masks, spelled.masks.keep.shape[-1])
        skip = skip | (~spelled.masks.keep.any(-1)).any(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = layer(x, *memory, **native)
    options = sides[next(iter(sides))][1].given
    agree(batched(output, options), batched(again, options), skip)
    checked[type(layer).__name__].add(name)


def run_embedding(name, tensors, options):
    output = embed(tensors, options)
    if options.get("positions", "none") == "none" and not options.get("scale_embeddings"):
        table = nn.Embedding.from_pretrained(tensors["weight"].double())
        agree(output, table(tensors["ids"].long()), torch.zeros(output.shape[:1], dtype=torch.bool))
        checked["Embedding"].add(name)
    return {"output": output}


def run(name, op, tensors, options):
    unknown = set(options) - set(OPTIONS[op])
    if unknown:
        sys.exit(f"{op} has no option {', '.join(sorted(unknown))}")
    if op == "scaled_dot_product_attention":
        return run_sdpa(name, tensors, options)
    if op == "multihead_attention":
        return run_mha(name, tensors, options)
    if op == "embedding":
        return run_embedding(name, tensors, options)
    return run_block(name, op, tensors, options)
