#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden cases: tests/golden/cases/NAME.safetensors, one attention problem each, with PyTorch's results.

    /usr/bin/python3 tests/golden/make.py            # all cases
    /usr/bin/python3 tests/golden/make.py sdpa_gqa   # those whose name starts so

Needs Debian's python3-torch (12's 1.13 or 13's 2.6: both write the same bytes). The cases are committed, so only who
changes them runs this.

What a file holds
    __metadata__   op, options (JSON) and description. An absent option has PyTorch's default; fully_masked is "zero".
    inputs         query, key, value, masks, valid_lens, src, tgt, memory; parameters under PyTorch's state-dict names.
    expected.*     what the run must return under that name: expected.output; expected.weights when need_weights asks
                   for them; one tensor per name in options.stages; for a decoder layer also expected.memory_weights,
                   those of its attention to the memory. Who reads the problem ignores tensors that start so.

How the numbers come about
    Inputs and parameters are drawn as float32 (or what the case says), each case from a seed of its own name, so that a
    new case changes no other. Everything after that is float64, rounded once to float32 when stored.
    Attention itself is spelled out in attend(), which has every stage and the rules for masked cells. Its results are
    then compared with PyTorch's own layers, and with its scaled_dot_product_attention where this PyTorch has one; any
    disagreement beyond float64's rounding stops the script. What PyTorch has no words for (soft cap, uniform fully
    masked rows, a NaN in a masked key) rests on attend() alone; the summary counts the cases without any such check.

Shapes: B batch, H heads, G key/value heads, T queries, S keys, d head width, dv value width, D model width.
"""

import collections
import json
import math
import pathlib
import struct
import sys
import warnings
import zlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

try:
    from torch.nn.attention.bias import causal_lower_right
except ImportError:  # PyTorch 1.13 has neither this nor scaled_dot_product_attention
    causal_lower_right = None

FOLDER = pathlib.Path(__file__).parent / "cases"
SCORE_STAGES = ["scores", "scaled_scores", "capped_scores", "biased_scores", "masked_scores", "weights", "lse"]
LAYER_STAGES = ["q", "k", "v", *SCORE_STAGES, "head_outputs", "head_contributions"]

# --- files ----------------------------------------------------------------------------------------------------------

DTYPES = {torch.float64: "F64", torch.int32: "I32", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
          torch.uint8: "U8", torch.bool: "BOOL"}


def write_safetensors(path, tensors, metadata):
    """Wide types first, so that every tensor is aligned to its own elements."""
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header, body = {"__metadata__": metadata}, b""
    for name in order:
        data = tensors[name].contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": DTYPES[tensors[name].dtype], "shape": list(tensors[name].shape),
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


# --- the definition -------------------------------------------------------------------------------------------------

PRESETS = {
    "torch-mha": {"mask_true": "ignore", "causal_alignment": "top_left", "fully_masked": "nan", "gqa_order": "block"},
    "torch-sdpa": {"mask_true": "keep", "causal_alignment": "top_left", "fully_masked": "zero", "gqa_order": "block"},
    "onnx": {"mask_true": "keep", "causal_alignment": "bottom_right", "fully_masked": "zero",
             "softcap_order": "before_bias"},
    "keras": {"mask_true": "keep", "causal_alignment": "top_left", "fully_masked": "zero"},
    "jax": {"mask_true": "keep", "causal_alignment": "top_left", "fully_masked": "uniform", "gqa_order": "block"},
    "flash": {"causal_alignment": "bottom_right", "fully_masked": "zero", "gqa_order": "block"},
}
CONVENTION_WORDS = ["conventions", "mask_true", "causal_alignment", "fully_masked", "gqa_order", "softcap_order"]
LAYER_WORDS = ["embed_dim", "num_heads", "batch_first", "need_weights", "average_attn_weights", "stages",
               *CONVENTION_WORDS]
BLOCK_WORDS = ["dim_feedforward", "activation", "layer_norm_eps", "norm_first"]
KNOWN_OPTIONS = {
    "scaled_dot_product_attention": ["scale", "is_causal", "enable_gqa", "softcap", "need_weights", "stages",
                                     *CONVENTION_WORDS],
    "multihead_attention": ["kdim", "vdim", "bias", "add_bias_kv", "add_zero_attn", "is_causal", *LAYER_WORDS],
    "transformer_encoder_layer": ["is_causal", *BLOCK_WORDS, *LAYER_WORDS],
    "transformer_decoder_layer": ["tgt_is_causal", "memory_is_causal", *BLOCK_WORDS, *LAYER_WORDS],
}


def conventions(op, options):
    """The points on which libraries disagree: our default, then the preset, then what the options say one by one."""
    ours = {"mask_true": "keep" if op == "scaled_dot_product_attention" else "ignore", "causal_alignment": "top_left",
            "fully_masked": "zero", "gqa_order": "block", "softcap_order": "before_bias"}
    said = {word: options[word] for word in CONVENTION_WORDS[1:] if word in options}
    return {**ours, **PRESETS.get(options.get("conventions"), {}), **said}


Masks = collections.namedtuple("Masks", "keep bias")  # [B,H,T,S]: may be looked at; is added to the score


def read_masks(shape, points, attn_mask=None, key_padding_mask=None, valid_lens=None, is_causal=False):
    """All masks of a problem as one boolean (True: look) and one additive mask; an additive -inf masks as well."""
    batch, heads, queries, keys = shape
    keep, bias = torch.ones(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.float64)
    if attn_mask is not None:
        if attn_mask.dim() == 3 and len(attn_mask) == batch * heads:
            attn_mask = attn_mask.unflatten(0, (batch, heads))
        if attn_mask.dtype.is_floating_point:
            bias = attn_mask.double().expand(shape)
            keep = keep & (bias != -math.inf)
        else:
            keep = keep & (attn_mask.bool() == (points["mask_true"] == "keep"))
    if key_padding_mask is not None:
        keep = keep & ~key_padding_mask.bool().reshape(batch, 1, 1, keys)
    if valid_lens is not None:
        keep = keep & (torch.arange(keys) < valid_lens.reshape(batch, 1, -1, 1))
    if is_causal:
        offset = keys - queries if points["causal_alignment"] == "bottom_right" else 0
        keep = keep & (torch.arange(keys) <= torch.arange(queries)[:, None] + offset)
    return Masks(keep, bias)


def attend(q, k, v, masks, points, scale, softcap=0.0):
    """q [B,H,T,d], k [B,H,S,d], v [B,H,S,dv] → all stages from the scores to the heads' outputs."""
    cap = (lambda x: softcap * torch.tanh(x / softcap)) if softcap else (lambda x: x)
    scores = q @ k.transpose(-2, -1)
    scaled = scores * scale
    if points["softcap_order"] == "before_bias":
        capped = cap(scaled)
        masked = biased = capped + masks.bias
    else:
        biased = scaled + masks.bias
        masked = capped = cap(biased)
    masked = masked.masked_fill(~masks.keep, -math.inf)
    weights = torch.softmax(masked, -1).masked_fill(~masks.keep, 0.0)
    looks = masks.keep
    dead = ~looks.any(-1, keepdim=True)
    if points["fully_masked"] == "uniform":
        weights, looks = weights.masked_fill(dead, 1 / k.shape[-2]), looks | dead
    elif points["fully_masked"] == "nan":
        weights, looks = weights.masked_fill(dead, math.nan), looks | dead
    # Cell by cell, for in a matrix product 0 · NaN would let a masked value through.
    cells = (weights[..., None] * v[:, :, None]).masked_fill(~looks[..., None], 0.0)
    return {"scores": scores, "scaled_scores": scaled, "capped_scores": capped, "biased_scores": biased,
            "masked_scores": masked, "weights": weights, "lse": torch.logsumexp(masked, -1),
            "head_outputs": cells.sum(-2)}


def multihead(query, key, value, params, options, points, mask_inputs):
    """nn.MultiheadAttention spelled out, batch first: query [B,T,D] → the stages, and the output [B,T,D]."""
    heads, width = options["num_heads"], options["embed_dim"]
    if "in_proj_weight" in params:
        w_q, w_k, w_v = params["in_proj_weight"].chunk(3)
    else:
        w_q, w_k, w_v = (params[f"{x}_proj_weight"] for x in "qkv")
    b_q, b_k, b_v = params["in_proj_bias"].chunk(3) if "in_proj_bias" in params else (None, None, None)
    q, k, v = F.linear(query, w_q, b_q), F.linear(key, w_k, b_k), F.linear(value, w_v, b_v)
    masks = read_masks((len(q), heads, q.shape[1], k.shape[1]), points, **mask_inputs)
    more_k, more_v = [], []  # keys appended after the real ones, never masked
    if options.get("add_bias_kv"):
        more_k.append(params["bias_k"].expand(len(k), 1, width))
        more_v.append(params["bias_v"].expand(len(v), 1, width))
    if options.get("add_zero_attn"):
        more_k.append(torch.zeros_like(k[:, :1]))
        more_v.append(torch.zeros_like(v[:, :1]))
    k, v = torch.cat([k, *more_k], 1), torch.cat([v, *more_v], 1)
    masks = Masks(F.pad(masks.keep, (0, len(more_k)), value=True), F.pad(masks.bias, (0, len(more_k))))
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    results = {"q": q, "k": k, "v": v, **attend(q, k, v, masks, points, 1 / math.sqrt(q.shape[-1]))}
    by_head = params["out_proj.weight"].t().unflatten(0, (heads, -1))
    results["head_contributions"] = results["head_outputs"] @ by_head
    results["output"] = results["head_contributions"].sum(1)
    if "out_proj.bias" in params:
        results["output"] = results["output"] + params["out_proj.bias"]
    return results, masks


# --- PyTorch's own answer -------------------------------------------------------------------------------------------

checked = collections.Counter()


def agree(name, ours, theirs, skip):
    """Stops when ours is not theirs. `skip`, broadcast from the left, marks rows where PyTorch's rule is another."""
    skip = skip.reshape(*skip.shape, *[1] * (ours.dim() - skip.dim())).expand(ours.shape)
    theirs = torch.where(skip, ours, theirs)
    if not torch.allclose(ours, theirs, rtol=1e-9, atol=1e-11, equal_nan=True):
        sys.exit(f"{name}: differs from PyTorch by up to {(ours - theirs).abs().nan_to_num(math.inf).max()}")


def cleaned(x):
    return torch.nan_to_num(x, 0.0, 0.0, 0.0)


def unlike_pytorch(masks, points, *inputs, pytorch_gives="nan"):
    """[B,H,T]: rows in which we differ on purpose, fully masked ones; and rows that do see a NaN or an infinity, which
    PyTorch is not given. inputs: query-like [B,1|H,T,·], then key-like [B,1|H,S,·]."""
    dead = ~masks.keep.any(-1) & (points["fully_masked"] != pytorch_gives)
    wild_query, *wild_keys = (~torch.isfinite(x).all(-1) for x in inputs)
    for wild in wild_keys:
        dead = dead | (masks.keep[..., :wild.shape[-1]] & wild[:, :, None]).any(-1)
    return dead | wild_query


def check_sdpa(name, q, k, v, masks, points, options, only_causal, output):
    """q [B,H,T,d], k and v [B,G,S,·] against PyTorch's own function."""
    if options.get("softcap") or points["gqa_order"] == "interleaved" or causal_lower_right is None:
        return
    repeats = q.shape[1] // k.shape[1]
    wild = [x.repeat_interleave(repeats, 1) for x in (k, v)]
    queries, keys = masks.keep.shape[2:]
    if only_causal and points["causal_alignment"] == "top_left":
        how = {"is_causal": True}
    elif only_causal and queries <= keys:
        how = {"attn_mask": causal_lower_right(queries, keys)}
    elif (masks.bias == 0).all():
        how = {"attn_mask": masks.keep}
    else:
        how = {"attn_mask": masks.bias.masked_fill(~masks.keep, -math.inf)}
    theirs = F.scaled_dot_product_attention(cleaned(q), cleaned(k), cleaned(v), scale=options.get("scale"),
                                            enable_gqa=repeats > 1, **how)
    agree(name, output, theirs, unlike_pytorch(masks, points, q, *wild, pytorch_gives="zero"))
    checked["scaled_dot_product_attention"] += 1


def check_mha(name, tensors, params, options, points, masks, results):
    """The layer itself, with the case's own tensors and, where PyTorch has the words, its own masks."""
    words = ("bias", "add_bias_kv", "add_zero_attn", "kdim", "vdim", "batch_first")
    layer = nn.MultiheadAttention(options["embed_dim"], options["num_heads"],
                                  **{x: options[x] for x in words if x in options}).double()
    layer.load_state_dict(params)
    query = tensors["query"]
    key = tensors.get("key", query)
    value = tensors.get("value", key)
    attn_mask = tensors.get("attn_mask")
    if options.get("is_causal") or "valid_lens" in tensors or (attn_mask is not None and (
            attn_mask.dim() == 4 or (points["mask_true"] == "keep" and attn_mask.dtype == torch.bool))):
        appended = bool(options.get("add_bias_kv")) + bool(options.get("add_zero_attn"))
        keys = masks.keep.shape[-1] - appended
        attn_mask = masks.bias.masked_fill(~masks.keep, -math.inf)[..., :keys].flatten(0, 1)
    elif attn_mask is not None:
        attn_mask = attn_mask.double() if attn_mask.dtype.is_floating_point else attn_mask.bool()
    padding = tensors.get("key_padding_mask")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two kinds of mask in one call: deprecated, not wrong
        output, weights = layer(cleaned(query), cleaned(key), cleaned(value), attn_mask=attn_mask,
                                key_padding_mask=None if padding is None else padding.bool(),
                                need_weights=options.get("need_weights", True),
                                average_attn_weights=options.get("average_attn_weights", True))
    rows = [batched(x, options)[:, None] for x in (query, key, value)]
    skip = unlike_pytorch(masks, points, *rows)
    agree(name, results["output"], batched(output, options), skip.any(1))
    if weights is not None:
        weights = weights[None] if query.dim() == 2 else weights
        average = options.get("average_attn_weights", True)
        ours = results["weights"].mean(1) if average else results["weights"]
        agree(name, ours, weights, skip.any(1) if average else skip)
    checked["MultiheadAttention"] += 1


# --- one run per op: a case's tensors and options → what it must return ---------------------------------------------


def run_sdpa(name, tensors, options):
    q, k, v = (tensors[x].double() for x in ("query", "key", "value"))
    rank = q.dim()
    as4 = {2: lambda x: x[None, None], 3: lambda x: x[:, None], 4: lambda x: x}[rank]
    as_given = {2: lambda x: x[0, 0], 3: lambda x: x[:, 0], 4: lambda x: x}[rank]
    q, k, v = as4(q), as4(k), as4(v)
    points = conventions("scaled_dot_product_attention", options)
    mask_inputs = {x: tensors[x] for x in ("attn_mask", "key_padding_mask", "valid_lens") if x in tensors}
    masks = read_masks((*q.shape[:3], k.shape[2]), points, **mask_inputs, is_causal=options.get("is_causal", False))
    kv_head = torch.arange(q.shape[1])
    kv_head = kv_head * k.shape[1] // q.shape[1] if points["gqa_order"] == "block" else kv_head % k.shape[1]
    results = attend(q, k[:, kv_head], v[:, kv_head], masks, points, options.get("scale", 1 / math.sqrt(q.shape[-1])),
                     options.get("softcap", 0.0))
    only_causal = options.get("is_causal") and not mask_inputs
    check_sdpa(name, q, k, v, masks, points, options, only_causal, results["head_outputs"])
    results["output"] = results["head_outputs"]
    wanted = ["output", *(["weights"] if options.get("need_weights") else []), *options.get("stages", [])]
    return {x: as_given(results[x]) for x in wanted}


def batched(x, options):
    """[T,D], [T,B,D] or [B,T,D] → [B,T,D]."""
    return x[None] if x.dim() == 2 else x if options.get("batch_first") else x.transpose(0, 1)


def as_given(x, like, options):
    return x[0] if like.dim() == 2 else x if options.get("batch_first") else x.transpose(0, 1)


def asked_for(results, options, need_weights, unbatched):
    """The weights and stages that the options name, [B,H,T,·] in either layout; unbatched input has no B."""
    out = {}
    if need_weights:
        out["weights"] = results["weights"].mean(1) if options.get("average_attn_weights", True) else results["weights"]
    for stage in options.get("stages", []):
        out.setdefault(stage, results[stage])
    return {name: x[0] if unbatched else x for name, x in out.items()}


def run_mha(name, tensors, options):
    inputs = ("query", "key", "value", "attn_mask", "key_padding_mask", "valid_lens")
    params = {x: t.double() for x, t in tensors.items() if x not in inputs}
    tensors = {x: t.double() if x in inputs[:3] else t for x, t in tensors.items()}
    query = tensors["query"]
    key = tensors.get("key", query)
    value = tensors.get("value", key)
    points = conventions("multihead_attention", options)
    mask_inputs = {x: tensors[x] for x in inputs[3:] if x in tensors}
    results, masks = multihead(*(batched(x, options) for x in (query, key, value)), params, options, points,
                               {**mask_inputs, "is_causal": options.get("is_causal", False)})
    check_mha(name, tensors, params, options, points, masks, results)
    return {"output": as_given(results["output"], query, options),
            **asked_for(results, options, options.get("need_weights", True), query.dim() == 2)}


class SpelledOut(nn.Module):
    """Stands in for a layer's nn.MultiheadAttention to see its stages; the masks are the case's own."""

    def __init__(self, params, options, points, mask_inputs):
        super().__init__()
        self.state = (params, options, points, mask_inputs)
        self.batch_first = options.get("batch_first", False)

    def forward(self, query, key, value, **_):
        self.results, self.masks = multihead(*(batched(x, self.state[1]) for x in (query, key, value)), *self.state)
        return as_given(self.results["output"], query, self.state[1]), None


def run_block(name, op, tensors, options):
    """An encoder or decoder layer: PyTorch's own, once as it is and once with its attention spelled out."""
    decoder = op == "transformer_decoder_layer"
    x = tensors["tgt" if decoder else "src"].double()
    memory = [tensors["memory"].double()] if decoder else []
    make = nn.TransformerDecoderLayer if decoder else nn.TransformerEncoderLayer
    layer = make(options["embed_dim"], options["num_heads"], options["dim_feedforward"], dropout=0.0,
                 activation=options.get("activation", "relu"), layer_norm_eps=options.get("layer_norm_eps", 1e-5),
                 batch_first=options.get("batch_first", False), norm_first=options.get("norm_first", False)).double()
    params = {n: t.double() for n, t in tensors.items() if n in layer.state_dict()}
    layer.load_state_dict(params)

    points, native, spelled = conventions(op, options), {}, {}
    for attention, side in [("self_attn", "tgt"), ("multihead_attn", "memory")] if decoder else [("self_attn", "src")]:
        causal = options.get("is_causal" if side == "src" else f"{side}_is_causal", False)
        mask, padding = tensors.get(f"{side}_mask"), tensors.get(f"{side}_key_padding_mask")
        own = {n[len(attention) + 1:]: t for n, t in params.items() if n.startswith(attention + ".")}
        spelled[side] = SpelledOut(own, options, points,
                                   {"attn_mask": mask, "key_padding_mask": padding, "is_causal": causal})
        if causal:  # PyTorch wants the triangle itself
            queries, keys = (batched(t, options).shape[1] for t in (x, memory[0] if side == "memory" else x))
            triangle = torch.ones(queries, keys, dtype=torch.bool).triu(1)
            mask = triangle if mask is None else mask.bool() | triangle if not mask.dtype.is_floating_point else (
                mask.masked_fill(triangle, -math.inf))
        if mask is not None:
            native[f"{side}_mask"] = mask.double() if mask.dtype.is_floating_point else mask.bool()
        if padding is not None:
            native[f"{side}_key_padding_mask"] = padding.bool()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = layer(x, *memory, **native)
    for side, attention in spelled.items():
        setattr(layer, "multihead_attn" if side == "memory" else "self_attn", attention)
    output = layer(x, *memory)

    skip = torch.zeros(batched(x, options).shape[:2], dtype=torch.bool)
    for attention in spelled.values():
        skip = skip | (~attention.masks.keep.any(-1)).any(1)
    agree(name, batched(output, options), batched(theirs, options), skip)
    checked["TransformerDecoderLayer" if decoder else "TransformerEncoderLayer"] += 1
    need_weights, unbatched = options.get("need_weights", False), x.dim() == 2
    inner = spelled["tgt" if decoder else "src"].results
    expected = {"output": output, **asked_for(inner, options, need_weights, unbatched)}
    if decoder and need_weights:
        crossed = asked_for(spelled["memory"].results, {**options, "stages": []}, True, unbatched)
        expected["memory_weights"] = crossed["weights"]
    return expected


def run(name, op, tensors, options):
    unknown = set(options) - set(KNOWN_OPTIONS[op])
    if unknown:
        sys.exit(f"{name}: {op} has no option {', '.join(sorted(unknown))}")
    if op == "scaled_dot_product_attention":
        return run_sdpa(name, tensors, options)
    if op == "multihead_attention":
        return run_mha(name, tensors, options)
    return run_block(name, op, tensors, options)

# --- drawing inputs -------------------------------------------------------------------------------------------------


class Draw:
    """Random inputs from the case's own seed. NumPy promises that RandomState's stream never changes."""

    def __init__(self, name):
        self.random = np.random.RandomState(zlib.crc32(name.encode()))

    def normal(self, *shape, std=1.0, dtype=torch.float32):
        return torch.from_numpy(self.random.standard_normal(shape) * std).float().to(dtype)

    def keep(self, *shape, share=0.6):
        """Boolean, True: look. Every row has at least one key; shape ends in T, S."""
        mask = torch.from_numpy(self.random.uniform(size=shape) < share)
        rows = torch.arange(shape[-2])
        mask[..., rows, rows % shape[-1]] = True
        return mask

    def bias(self, *shape, masked=0.3):
        """Additive mask: small numbers, and -inf for a share of the cells."""
        return self.normal(*shape).masked_fill(~self.keep(*shape, share=1 - masked), -math.inf)


def padding(keys, *lengths):
    """[B,S] key padding mask: True beyond each length."""
    return torch.arange(keys) >= torch.tensor(lengths)[:, None]


def lengths(*values):
    return torch.tensor(values, dtype=torch.int32)


def put(tensor, index, value):
    tensor[index] = value
    return tensor


def qkv(draw, B, H, T, S, d, dv=None, G=None, dtype=torch.float32):
    return {"query": draw.normal(B, H, T, d, dtype=dtype), "key": draw.normal(B, G or H, S, d, dtype=dtype),
            "value": draw.normal(B, G or H, S, dv or d, dtype=dtype)}


def attention_params(draw, D, kdim=None, vdim=None, bias=True, bias_kv=False, dtype=torch.float32, prefix=""):
    """nn.MultiheadAttention's state dict: scores vary by about 1, and biases are not PyTorch's initial zeros."""
    params = {}
    if kdim is None and vdim is None:
        params["in_proj_weight"] = draw.normal(3 * D, D, std=D**-0.5, dtype=dtype)
    else:
        for name, width in ("q", D), ("k", kdim or D), ("v", vdim or D):
            params[f"{name}_proj_weight"] = draw.normal(D, width, std=width**-0.5, dtype=dtype)
    params["out_proj.weight"] = draw.normal(D, D, std=D**-0.5, dtype=dtype)
    if bias:
        params["in_proj_bias"] = draw.normal(3 * D, std=0.3, dtype=dtype)
        params["out_proj.bias"] = draw.normal(D, std=0.3, dtype=dtype)
    if bias_kv:
        params["bias_k"], params["bias_v"] = draw.normal(1, 1, D), draw.normal(1, 1, D)
    return {prefix + name: tensor for name, tensor in params.items()}


def block_params(draw, D, width, decoder=False):
    """State dict of an encoder or decoder layer with a feed-forward block of `width`."""
    params = attention_params(draw, D, prefix="self_attn.")
    if decoder:
        params.update(attention_params(draw, D, prefix="multihead_attn."))
    params.update({"linear1.weight": draw.normal(width, D, std=D**-0.5), "linear1.bias": draw.normal(width, std=0.3),
                   "linear2.weight": draw.normal(D, width, std=width**-0.5), "linear2.bias": draw.normal(D, std=0.3)})
    for n in range(3 if decoder else 2):
        params[f"norm{n + 1}.weight"] = 1 + draw.normal(D, std=0.2)
        params[f"norm{n + 1}.bias"] = draw.normal(D, std=0.2)
    return params


# --- the cases ------------------------------------------------------------------------------------------------------

Case = collections.namedtuple("Case", "name description op make options")
CASES = []


def case(op, name, description, make, **options):
    CASES.append(Case(name, description, op, make, options))


def sdpa(name, description, make, **options):
    options = {"need_weights": True, **options}
    case("scaled_dot_product_attention", name, description, make, **{x: y for x, y in options.items() if y is not None})


PER_HEAD = {"batch_first": True, "average_attn_weights": False}


def mha(name, description, make, **options):
    case("multihead_attention", name, description, make, **{"embed_dim": 12, "num_heads": 3, **options})


def mha_per_head(name, description, make, **options):
    mha(name, description, make, **PER_HEAD, **options)


def encoder(name, description, make, **options):
    case("transformer_encoder_layer", name, description, make, embed_dim=12, num_heads=3, dim_feedforward=20, **options)


def decoder(name, description, make, **options):
    case("transformer_decoder_layer", name, description, make, embed_dim=12, num_heads=3, dim_feedforward=20, **options)


# Scaled dot-product attention: plain, scale, shapes


def usual(draw, **masks):
    """B2 H3 T5 S7 d4."""
    return {**qkv(draw, 2, 3, 5, 7, 4), **masks}



sdpa("sdpa_plain", "Two batches, three heads, more keys than queries.", usual)
sdpa("sdpa_output_only", "No weights asked for.", usual, need_weights=None)
sdpa("sdpa_stages", "Every stage, with an additive mask, a causal one and a soft cap.",
     lambda d: {**qkv(d, 2, 2, 5, 5, 4), "attn_mask": d.bias(5, 5)}, is_causal=True, softcap=2.0, stages=SCORE_STAGES)
sdpa("sdpa_stages_plain", "Stages that nothing changes equal the ones before.", lambda d: qkv(d, 1, 2, 3, 5, 4),
     stages=SCORE_STAGES)
sdpa("sdpa_scale", "A scale other than 1/sqrt(d).", lambda d: qkv(d, 1, 2, 5, 7, 4), scale=0.3)
sdpa("sdpa_scale_zero", "Scale 0: every key alike.", lambda d: qkv(d, 1, 2, 4, 5, 3), scale=0.0)
sdpa("sdpa_scale_negative", "A negative scale: the least similar key gets most.", lambda d: qkv(d, 1, 2, 5, 7, 4),
     scale=-0.75)
sdpa("sdpa_value_wider", "Values wider than keys.", lambda d: qkv(d, 2, 2, 5, 6, 4, dv=11))
sdpa("sdpa_value_narrower", "Values of width 1.", lambda d: qkv(d, 2, 2, 5, 6, 8, dv=1))
sdpa("sdpa_one_query", "T = 1.", lambda d: qkv(d, 2, 3, 1, 9, 8))
sdpa("sdpa_one_key", "S = 1: every weight is 1.", lambda d: qkv(d, 2, 3, 5, 1, 8))
sdpa("sdpa_one_by_one", "T = S = d = 1.", lambda d: qkv(d, 1, 1, 1, 1, 1))
sdpa("sdpa_width_1", "Head width 1.", lambda d: qkv(d, 2, 2, 5, 6, 1))
sdpa("sdpa_width_257", "Head width 257.", lambda d: qkv(d, 1, 1, 3, 5, 257))
SIZES = [(7, 9, 15), (8, 8, 8), (9, 7, 17), (15, 17, 16), (16, 16, 31), (17, 15, 33), (31, 33, 9), (33, 1, 40),
         (2, 257, 5)]
for T, S, width in SIZES:
    sdpa(f"sdpa_size_{T}_{S}_{width}", "Sizes around the widths of vectors: T, S, d.",
         lambda d, T=T, S=S, width=width: qkv(d, 1, 2, T, S, width))
sdpa("sdpa_many_heads", "Seven batches of five heads.", lambda d: qkv(d, 7, 5, 3, 4, 2))
sdpa("sdpa_float16", "Inputs stored as float16.", lambda d: qkv(d, 1, 2, 5, 7, 8, dtype=torch.float16))
sdpa("sdpa_bfloat16", "Inputs stored as bfloat16.", lambda d: qkv(d, 1, 2, 5, 7, 8, dtype=torch.bfloat16))
sdpa("sdpa_float64", "Inputs stored as float64, all of them float32 values.",
     lambda d: qkv(d, 1, 2, 5, 7, 8, dtype=torch.float64))

# Unbatched



def fewer_dimensions(draw, *lead, dv=6, **masks):
    """[*lead,4,6] on [*lead,5,·]."""
    q, k, v = (draw.normal(*lead, *shape) for shape in ((4, 6), (5, 6), (5, dv)))
    return {"query": q, "key": k, "value": v, **masks}


sdpa("sdpa_2d", "Input [T,d]: one head, no batch.", lambda d: fewer_dimensions(d, dv=3), stages=["scores", "lse"])
sdpa("sdpa_2d_masked", "Input [T,d] with a mask [T,S].", lambda d: fewer_dimensions(d, attn_mask=d.keep(4, 5)))
sdpa("sdpa_3d", "Input [N,T,d].", lambda d: fewer_dimensions(d, 3, dv=2), stages=["scaled_scores", "lse"])
sdpa("sdpa_3d_masked", "Input [N,T,d] with a mask [N,T,S].",
     lambda d: fewer_dimensions(d, 3, attn_mask=d.keep(3, 4, 5)))
sdpa("sdpa_3d_padding", "Input [N,T,d] with key padding [N,S].",
     lambda d: fewer_dimensions(d, 3, key_padding_mask=padding(5, 5, 2, 3)))

# Boolean and additive masks, by shape

sdpa("sdpa_bool_mask", "Boolean mask [T,S], true: look.", lambda d: usual(d, attn_mask=d.keep(5, 7)))
sdpa("sdpa_bool_mask_ignore", "The same kind of mask, true: do not look; stored as U8.",
     lambda d: usual(d, attn_mask=(~d.keep(5, 7)).byte()), mask_true="ignore")
sdpa("sdpa_bool_mask_per_row_of_batch", "Boolean mask [B,1,1,S], as padding is often given.",
     lambda d: usual(d, attn_mask=~padding(7, 4, 6)[:, None, None]))
sdpa("sdpa_bool_mask_per_batch", "Boolean mask [B,1,T,S].", lambda d: usual(d, attn_mask=d.keep(2, 1, 5, 7)))
sdpa("sdpa_bool_mask_per_head", "Boolean mask [1,H,T,S].", lambda d: usual(d, attn_mask=d.keep(1, 3, 5, 7)))
sdpa("sdpa_bool_mask_3d", "Boolean mask [B*H,T,S].", lambda d: usual(d, attn_mask=d.keep(6, 5, 7)))
sdpa("sdpa_bool_mask_3d_heads", "Boolean mask [H,T,S], the same in both batches, as PyTorch broadcasts it.",
     lambda d: usual(d, attn_mask=d.keep(3, 5, 7)))
sdpa("sdpa_bool_mask_4d", "Boolean mask [B,H,T,S], stored as U8.",
     lambda d: usual(d, attn_mask=d.keep(2, 3, 5, 7).byte()), stages=["masked_scores", "lse"])
sdpa("sdpa_additive_mask", "Additive mask [T,S] with -inf.", lambda d: usual(d, attn_mask=d.bias(5, 7)),
     stages=["biased_scores", "masked_scores"])
sdpa("sdpa_additive_mask_finite", "Additive mask [T,S] without -inf: a bias.",
     lambda d: usual(d, attn_mask=d.normal(5, 7)))
sdpa("sdpa_additive_mask_3d", "Additive mask [B*H,T,S].", lambda d: usual(d, attn_mask=d.bias(6, 5, 7)))
sdpa("sdpa_additive_mask_4d", "Additive mask [B,H,T,S].", lambda d: usual(d, attn_mask=d.bias(2, 3, 5, 7)))
LOWEST = torch.finfo(torch.float32).min
sdpa("sdpa_additive_mask_lowest", "Masked by the lowest float32, not -inf; all of the last row, which is uniform.",
     lambda d: {**qkv(d, 1, 2, 4, 6, 4),
                "attn_mask": put(torch.zeros(4, 6).masked_fill(~d.keep(4, 6), LOWEST), -1, LOWEST)})

# Causal

sdpa("sdpa_causal", "Causal, T = S.", lambda d: qkv(d, 2, 3, 7, 7, 4), is_causal=True, stages=["masked_scores", "lse"])
for name, T, S in ("wide", 4, 7), ("tall", 7, 4):
    for alignment in "top_left", "bottom_right":
        sdpa(f"sdpa_causal_{alignment}_{name}", "Causal, T ≠ S. Tall and bottom-right: the first rows see nothing.",
             lambda d, T=T, S=S: qkv(d, 2, 2, T, S, 4), is_causal=True, causal_alignment=alignment)
sdpa("sdpa_causal_one_query", "Bottom-right, T = 1: the one query sees every key, as in decoding with a cache.",
     lambda d: qkv(d, 2, 2, 1, 9, 8), is_causal=True, causal_alignment="bottom_right")
sdpa("sdpa_causal_size_17", "Causal at an odd length.", lambda d: qkv(d, 1, 2, 17, 17, 9), is_causal=True)

# Key padding, valid lengths, composition

sdpa("sdpa_key_padding", "Key padding [B,S].", lambda d: usual(d, key_padding_mask=padding(7, 3, 6)))
sdpa("sdpa_key_padding_left", "Padding in front, and in the middle, as U8.", lambda d: {
    **qkv(d, 2, 2, 3, 6, 4),
    "key_padding_mask": torch.tensor([[1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 1, 0]], dtype=torch.uint8)})
sdpa("sdpa_valid_lens", "Valid lengths [B], all keys and none among them.",
     lambda d: {**qkv(d, 3, 2, 4, 6, 4), "valid_lens": lengths(3, 6, 0)}, stages=["masked_scores", "lse"])
sdpa("sdpa_valid_lens_per_query", "Valid lengths [B,T].",
     lambda d: {**qkv(d, 2, 2, 4, 6, 4), "valid_lens": lengths([1, 2, 6, 4], [5, 0, 3, 1])})
sdpa("sdpa_masks_composed", "Additive mask, key padding, valid lengths and causal at once.",
     lambda d: {**qkv(d, 2, 3, 6, 6, 4), "attn_mask": d.bias(2, 3, 6, 6, masked=0.15),
                "key_padding_mask": padding(6, 6, 4), "valid_lens": lengths(5, 6)}, is_causal=True,
     stages=["biased_scores", "masked_scores", "lse"])
sdpa("sdpa_masks_composed_bool", "Boolean mask, key padding and causal bottom-right at once.",
     lambda d: {**qkv(d, 2, 3, 4, 6, 4), "attn_mask": d.keep(4, 6, share=0.8), "key_padding_mask": padding(6, 6, 3)},
     is_causal=True, causal_alignment="bottom_right")

# Fully masked rows

for rule in None, "zero", "nan", "uniform":
    sdpa(f"sdpa_fully_masked{'_' + rule if rule else ''}", "Row 1 of every head is fully masked.",
         lambda d: {**qkv(d, 2, 2, 3, 5, 4), "attn_mask": put(d.keep(3, 5), 1, False)}, fully_masked=rule,
         stages=["masked_scores", "lse"])
sdpa("sdpa_fully_masked_additive", "Row 2 is -inf throughout.",
     lambda d: {**qkv(d, 2, 2, 3, 5, 4), "attn_mask": put(d.bias(3, 5), 2, -math.inf)})
sdpa("sdpa_fully_masked_everything", "No query may look at anything.",
     lambda d: {**qkv(d, 1, 2, 3, 5, 4), "key_padding_mask": padding(5, 0)}, stages=["lse"])

# Grouped and multi-query

for order in "block", "interleaved":
    sdpa(f"sdpa_gqa_{order}", "Six query heads on two key/value heads.", lambda d: qkv(d, 2, 6, 4, 5, 4, G=2),
         enable_gqa=True, gqa_order=order)
sdpa("sdpa_gqa_default", "Six query heads on three key/value heads, causal, with a mask per query head.",
     lambda d: {**qkv(d, 2, 6, 5, 5, 4, G=3), "attn_mask": d.bias(2, 6, 5, 5, masked=0.1)}, enable_gqa=True,
     is_causal=True)
sdpa("sdpa_mqa", "Five query heads on one key/value head.", lambda d: qkv(d, 2, 5, 4, 6, 4, dv=3, G=1), enable_gqa=True)

# NaN and infinities behind a mask, huge numbers


def wild(draw, value, mask, key=True, vector=True):
    """Problem [2,2,4,6] whose last key and value hold `value` in every head of batch 1."""
    tensors = {**qkv(draw, 2, 2, 4, 6, 4), **mask}
    if key:
        tensors["key"][1, :, -1] = value
    if vector:
        tensors["value"][1, :, -1, 1:3] = value
    return tensors


for name, value in ("nan", math.nan), ("inf", math.inf), ("minus_inf", -math.inf):
    sdpa(f"sdpa_{name}_in_padding", "A padded key and its value that are not finite reach nothing.",
         lambda d, value=value: wild(d, value, {"key_padding_mask": padding(6, 6, 5)}), stages=["masked_scores", "lse"])
sdpa("sdpa_nan_behind_bool_mask", "A NaN behind a boolean mask reaches nothing.",
     lambda d: wild(d, math.nan, {"attn_mask": put(d.keep(4, 6), (slice(None), -1), False)}))
sdpa("sdpa_nan_behind_additive_mask", "A NaN behind an additive -inf reaches nothing.",
     lambda d: wild(d, math.nan, {"attn_mask": put(d.bias(4, 6), (slice(None), -1), -math.inf)}))
sdpa("sdpa_nan_value_only", "A masked value is NaN, its key is not.",
     lambda d: wild(d, math.nan, {"valid_lens": lengths(6, 5)}, key=False))
sdpa("sdpa_nan_behind_causal", "Only the last query sees the last key: its row is NaN in batch 1, others are clean.",
     lambda d: wild(d, math.nan, {}), is_causal=True, causal_alignment="bottom_right")
sdpa("sdpa_nan_in_query", "A NaN in a query is that row's own matter, and leaves its masked cells 0.",
     lambda d: {**qkv(d, 1, 2, 4, 6, 4), "query": put(d.normal(1, 2, 4, 4), (0, 1, 2, 0), math.nan),
                "attn_mask": d.keep(4, 6)})
sdpa("sdpa_nan_fully_masked", "All keys and values of batch 1 are NaN and masked: zeros.",
     lambda d: {**{n: put(t, 1, math.nan) if n != "query" else t for n, t in qkv(d, 2, 2, 3, 5, 4).items()},
                "key_padding_mask": padding(5, 5, 0)})
sdpa("sdpa_huge_scores", "Scores of ±1e30 and 0: a tie shares, the rest is 0.", lambda d: {
    "query": 1e15 * torch.tensor([[[[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]]]),
    "key": 1e15 * torch.tensor([[[[1.0, 0, 0, 0], [1, 1, 0, 0], [-1, 0, 1, 0], [0, 0, -1, 0], [0, -1, -1, 0]]]]),
    "value": d.normal(1, 1, 5, 3)}, scale=1.0, stages=["scores", "masked_scores", "lse"])
sdpa("sdpa_huge_scores_causal", "Scores of ±1e30 under a causal mask.", lambda d: {
    "query": 1e15 * torch.tensor([[[[1.0, 0], [-1, 0], [0, 1], [0, -1]]]]),
    "key": 1e15 * torch.tensor([[[[-1.0, 0], [1, 0], [0, -1], [-1, 1]]]]),
    "value": d.normal(1, 1, 4, 3)}, scale=1.0, is_causal=True)
sdpa("sdpa_saturated", "Scores of some hundreds: one key takes almost all.", lambda d: {
    **qkv(d, 1, 2, 5, 7, 8), "query": d.normal(1, 2, 5, 8, std=100)}, stages=["lse"])
sdpa("sdpa_equal_keys", "Equal keys get equal weights.", lambda d: {
    **qkv(d, 1, 2, 3, 5, 4), "key": d.normal(1, 2, 1, 4).expand(1, 2, 5, 4)})

# Soft cap

sdpa("sdpa_softcap", "Soft cap without a mask.", lambda d: qkv(d, 1, 2, 5, 7, 4), softcap=0.5, stages=["capped_scores"])
for order in "before_bias", "after_bias":
    sdpa(f"sdpa_softcap_{order}", "Soft cap and an additive bias.", lambda d: {
        **qkv(d, 1, 2, 5, 7, 4), "attn_mask": 2 * d.normal(5, 7)}, softcap=1.5, softcap_order=order,
         stages=["capped_scores", "biased_scores", "masked_scores"])
    sdpa(f"sdpa_softcap_{order}_masked", "Soft cap and an additive -inf, which masks in either order.", lambda d: {
        **qkv(d, 1, 2, 5, 7, 4), "attn_mask": d.bias(5, 7)}, softcap=1.5, softcap_order=order, stages=["masked_scores"])
sdpa("sdpa_softcap_causal", "Soft cap under a causal mask.", lambda d: qkv(d, 1, 2, 6, 6, 4), softcap=1.0,
     is_causal=True)

# Presets: one problem that tells them apart


def telling(draw, T=4, S=6):
    return {**qkv(draw, 2, 4, T, S, 4, G=2), "attn_mask": put(draw.keep(T, S), 2, False)}


for preset in "torch-sdpa", "onnx", "keras", "jax":
    sdpa(f"preset_{preset.replace('-', '_')}", "Boolean mask with a row of false, causal with T ≠ S, grouped heads.",
         telling, conventions=preset, is_causal=True, enable_gqa=True)
sdpa("preset_onnx_softcap", "Soft cap and additive mask as ONNX's Attention has them.", lambda d: {
    **qkv(d, 1, 2, 5, 7, 4), "attn_mask": d.bias(5, 7)}, conventions="onnx", softcap=1.5)
sdpa("preset_flash", "Bottom-right with more queries than keys: the first rows see nothing and are 0.",
     lambda d: qkv(d, 2, 4, 6, 4, 4, G=2), conventions="flash", is_causal=True, enable_gqa=True)
sdpa("preset_overridden", "A preset of which two points are overridden.", telling, conventions="jax",
     fully_masked="zero", causal_alignment="bottom_right", is_causal=True, enable_gqa=True)
mha("preset_torch_mha", "Boolean mask, true: ignore, with a row of true, which is NaN.", lambda d: {
    "query": d.normal(2, 4, 6), **attention_params(d, 6), "attn_mask": put(~d.keep(4, 4), 2, True)}, embed_dim=6,
    num_heads=2, conventions="torch-mha", **PER_HEAD)

# The multi-head layer


def from_one(draw, *shape, params=None, **masks):
    """Self-attention: key and value are absent, so they are the query [..., D]."""
    return {"query": draw.normal(*shape), **attention_params(draw, shape[-1], **(params or {})), **masks}


def sequence_first(draw, **more):
    return from_one(draw, 5, 2, 12, **more)


def batch_first(draw, **more):
    return from_one(draw, 2, 5, 12, **more)


def cross(draw, **more):
    """B2 T4 S7, batch first; the value is the key unless given."""
    return {"query": draw.normal(2, 4, 12), "key": draw.normal(2, 7, 12), **attention_params(draw, 12), **more}


BIAS_KV = {"bias_kv": True}

mha("mha_default", "All of PyTorch's defaults: sequence first, averaged weights.", sequence_first)
mha("mha_batch_first", "Batch first.", batch_first, batch_first=True)
mha_per_head("mha_per_head", "Batch first, weights per head.", batch_first)
mha("mha_per_head_sequence_first", "Sequence first, weights per head.", sequence_first, average_attn_weights=False)
mha("mha_no_weights", "No weights asked for.", batch_first, batch_first=True, need_weights=False)
mha_per_head("mha_no_bias", "Without biases.", lambda d: batch_first(d, params={"bias": False}), bias=False)
mha_per_head("mha_one_head", "One head of the full width, an odd one.", lambda d: from_one(d, 2, 5, 17), embed_dim=17,
             num_heads=1)
mha_per_head("mha_heads_of_width_1", "As many heads as features.", lambda d: from_one(d, 2, 5, 5), embed_dim=5,
             num_heads=5)
mha_per_head("mha_odd_sizes", "T = 17, head width 9.", lambda d: from_one(d, 1, 17, 27), embed_dim=27)
mha_per_head("mha_one_token", "A sequence of one token.", lambda d: from_one(d, 2, 1, 12))
mha_per_head("mha_bfloat16_parameters", "Parameters stored as bfloat16, the input as float32.",
             lambda d: batch_first(d, params={"dtype": torch.bfloat16}))
mha_per_head("mha_cross", "Cross-attention: query, key and value from three tensors.",
             lambda d: cross(d, value=d.normal(2, 7, 12)))
mha("mha_cross_value_absent", "Cross-attention: the value is the key. Sequence first.",
    lambda d: {"query": d.normal(4, 2, 12), "key": d.normal(7, 2, 12), **attention_params(d, 12)})
mha_per_head("mha_kdim_vdim", "Keys and values of widths of their own: three projection weights.", lambda d: {
    "query": d.normal(2, 4, 12), "key": d.normal(2, 7, 5), "value": d.normal(2, 7, 9),
    **attention_params(d, 12, kdim=5, vdim=9)}, kdim=5, vdim=9)
mha("mha_kdim_no_bias", "kdim alone, without biases, sequence first.", lambda d: {
    "query": d.normal(4, 2, 12), "key": d.normal(7, 2, 5), "value": d.normal(7, 2, 12),
    **attention_params(d, 12, kdim=5, bias=False)}, kdim=5, bias=False)

# … its masks

mha_per_head("mha_key_padding", "Key padding [B,S], true: ignore.",
             lambda d: batch_first(d, key_padding_mask=padding(5, 5, 3)))
mha("mha_key_padding_sequence_first", "Key padding with averaged weights, sequence first, as U8.",
    lambda d: sequence_first(d, key_padding_mask=padding(5, 2, 4).byte()))
mha_per_head("mha_bool_mask", "Boolean mask [T,S], true: ignore.", lambda d: batch_first(d, attn_mask=~d.keep(5, 5)))
mha_per_head("mha_bool_mask_3d", "Boolean mask [B*H,T,S].", lambda d: batch_first(d, attn_mask=~d.keep(6, 5, 5)))
mha_per_head("mha_bool_mask_4d", "Boolean mask [B,H,T,S].", lambda d: batch_first(d, attn_mask=~d.keep(2, 3, 5, 5)))
mha_per_head("mha_bool_mask_keep", "Boolean mask, true: keep.", lambda d: batch_first(d, attn_mask=d.keep(5, 5)),
             mask_true="keep")
mha_per_head("mha_float_mask", "Additive mask [T,S] with -inf.", lambda d: batch_first(d, attn_mask=d.bias(5, 5)))
mha("mha_float_mask_3d", "Additive mask [B*H,T,S].", lambda d: sequence_first(d, attn_mask=d.bias(6, 5, 5)),
    average_attn_weights=False)
mha_per_head("mha_causal", "Causal.", batch_first, is_causal=True)
mha_per_head("mha_causal_cross_bottom_right", "Causal with T < S, bottom-right.", cross, is_causal=True,
             causal_alignment="bottom_right")
mha_per_head("mha_causal_and_padding", "Causal and key padding, as a decoder trains.",
             lambda d: batch_first(d, key_padding_mask=padding(5, 5, 3)), is_causal=True)
mha_per_head("mha_masks_composed", "Additive mask, key padding and causal at once.", lambda d: batch_first(
    d, attn_mask=put(d.bias(5, 5), (slice(None), 0), 0.5), key_padding_mask=padding(5, 4, 3)), is_causal=True)
mha_per_head("mha_masks_composed_bool", "Boolean mask [B*H,T,S] and key padding.", lambda d: batch_first(
    d, attn_mask=put(~d.keep(6, 5, 5), (..., 0), False), key_padding_mask=padding(5, 4, 3)))
mha_per_head("mha_valid_lens", "Valid lengths [B].", lambda d: batch_first(d, valid_lens=lengths(2, 5)))
mha("mha_valid_lens_per_query", "Valid lengths [B,T], sequence first.",
    lambda d: sequence_first(d, valid_lens=lengths([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])))
mha_per_head("mha_fully_masked", "Batch 1 is all padding: zero weights, and the output is the output bias.",
             lambda d: batch_first(d, key_padding_mask=padding(5, 3, 0)))
mha_per_head("mha_fully_masked_nan", "The same kind of problem as PyTorch has it: NaN.",
             lambda d: batch_first(d, key_padding_mask=padding(5, 3, 0)), fully_masked="nan")
mha("mha_fully_masked_averaged", "A row fully masked in every head of batch 1, and another in one head of batch 0.",
    lambda d: sequence_first(d, attn_mask=put(put(~d.keep(6, 5, 5), (slice(3, 6), 1), True), (0, 2), True)))
mha_per_head("mha_fully_masked_uniform", "A fully masked row looks everywhere alike.",
             lambda d: batch_first(d, attn_mask=put(~d.keep(5, 5), 3, True)), fully_masked="uniform")
mha_per_head("mha_nan_in_padding", "A padded token is NaN: only its own output row is.", lambda d: batch_first(
    d, query=put(d.normal(2, 5, 12), (1, 4), math.nan), key_padding_mask=padding(5, 5, 4)))
mha_per_head("mha_nan_in_masked_memory", "Keys and values are NaN where padded: nothing else is.", lambda d: cross(
    d, key=put(d.normal(2, 7, 12), (0, slice(5, 7)), math.nan), key_padding_mask=padding(7, 5, 7)))

# … appended keys, unbatched input, stages

mha("mha_add_bias_kv", "A learned key and value appended to the sequence.", lambda d: sequence_first(d, params=BIAS_KV),
    add_bias_kv=True)
mha_per_head("mha_add_zero_attn", "A key and value of zeros appended to the sequence.", batch_first, add_zero_attn=True)
mha_per_head("mha_add_both_masked", "Both appended, with causal mask and key padding, which never mask them.",
             lambda d: batch_first(d, params=BIAS_KV, key_padding_mask=padding(5, 5, 0)), add_bias_kv=True,
             add_zero_attn=True, is_causal=True)
mha("mha_add_both_float_mask", "Both appended, with an additive mask, sequence first.",
    lambda d: sequence_first(d, params=BIAS_KV, attn_mask=d.bias(5, 5)), add_bias_kv=True, add_zero_attn=True)
mha("mha_unbatched", "Input [T,D], averaged weights [T,S].", lambda d: from_one(d, 5, 12))
mha("mha_unbatched_cross", "Input [T,D] and [S,D], weights [H,T,S], mask [H,T,S].", lambda d: {
    "query": d.normal(4, 12), "key": d.normal(7, 12), **attention_params(d, 12), "attn_mask": ~d.keep(3, 4, 7)},
    average_attn_weights=False, stages=["scores", "lse"])
mha("mha_unbatched_padding", "Input [T,D] with key padding [S].",
    lambda d: from_one(d, 5, 12, key_padding_mask=padding(5, 3)[0]))
mha_per_head("mha_stages", "Every stage, with an additive mask and a causal one.",
             lambda d: batch_first(d, attn_mask=d.bias(5, 5)), is_causal=True, stages=LAYER_STAGES)
mha("mha_stages_sequence_first", "Stages are [B,H,...] in the sequence-first layout too.", sequence_first,
    average_attn_weights=False, stages=LAYER_STAGES)
mha_per_head("mha_stages_appended", "Stages with both appended keys.", lambda d: batch_first(d, params=BIAS_KV),
             add_bias_kv=True, add_zero_attn=True, stages=LAYER_STAGES)

# Encoder and decoder layers


def source(draw, *shape, **masks):
    return {"src": draw.normal(*(shape or (2, 5, 12))), **block_params(draw, 12, 20), **masks}


def target(draw, T=(2, 4, 12), S=(2, 6, 12), **masks):
    return {"tgt": draw.normal(*T), "memory": draw.normal(*S), **block_params(draw, 12, 20, decoder=True), **masks}


WEIGHTS = {"need_weights": True, **PER_HEAD}

encoder("encoder_layer_default", "All of PyTorch's defaults but the sizes: sequence first, norm after, ReLU.",
        lambda d: source(d, 5, 2, 12))
encoder("encoder_layer_batch_first", "Batch first, weights per head.", source, **WEIGHTS)
encoder("encoder_layer_norm_first", "Norm first, exact GELU.", source, norm_first=True, activation="gelu", **WEIGHTS)
encoder("encoder_layer_gelu", "Norm after, GELU, an epsilon of its own.", source, activation="gelu",
        layer_norm_eps=0.01, batch_first=True)
encoder("encoder_layer_averaged", "Weights averaged over the heads.", lambda d: source(d, 5, 2, 12), need_weights=True)
encoder("encoder_layer_bool_mask", "Boolean mask [T,T], true: ignore.", lambda d: source(d, src_mask=~d.keep(5, 5)),
        **WEIGHTS)
encoder("encoder_layer_float_mask", "Additive mask [B*H,T,T].", lambda d: source(d, src_mask=d.bias(6, 5, 5)),
        **WEIGHTS)
encoder("encoder_layer_padding", "Key padding, norm first.", lambda d: source(d, src_key_padding_mask=padding(5, 5, 3)),
        norm_first=True, **WEIGHTS)
encoder("encoder_layer_causal", "Causal, with padding: a decoder-only block.",
        lambda d: source(d, src_key_padding_mask=padding(5, 4, 5)), norm_first=True, activation="gelu", is_causal=True,
        **WEIGHTS)
encoder("encoder_layer_fully_masked", "Batch 1 is all padding: its attention adds the output bias only.",
        lambda d: source(d, src_key_padding_mask=padding(5, 5, 0)), **WEIGHTS)
encoder("encoder_layer_unbatched", "Input [T,D], weights [T,T].", lambda d: source(d, 5, 12), need_weights=True)
encoder("encoder_layer_stages", "Stages of the attention inside.", source, stages=LAYER_STAGES, norm_first=True,
        **PER_HEAD)
decoder("decoder_layer_default", "All of PyTorch's defaults but the sizes.",
        lambda d: target(d, (4, 2, 12), (6, 2, 12)))
decoder("decoder_layer_batch_first", "Batch first, both attentions' weights.", target, **WEIGHTS)
decoder("decoder_layer_norm_first", "Norm first, exact GELU.", target, norm_first=True, activation="gelu", **WEIGHTS)
decoder("decoder_layer_causal", "Causal over the target, padding in the memory.",
        lambda d: target(d, memory_key_padding_mask=padding(6, 6, 2)), tgt_is_causal=True, **WEIGHTS)
decoder("decoder_layer_masks", "Every mask: boolean and padding on the target, additive and padding on the memory.",
        lambda d: target(d, tgt_mask=put(~d.keep(4, 4), (slice(None), 0), False), tgt_key_padding_mask=padding(4, 4, 2),
                         memory_mask=put(d.bias(4, 6), (slice(None), 0), 0.0),
                         memory_key_padding_mask=padding(6, 3, 6)), **WEIGHTS)
decoder("decoder_layer_averaged", "Sequence first, weights averaged over the heads.",
        lambda d: target(d, (4, 2, 12), (6, 2, 12)), tgt_is_causal=True, need_weights=True)
decoder("decoder_layer_unbatched", "Input [T,D] and [S,D].", lambda d: target(d, (4, 12), (6, 12)), need_weights=True)

# The tutorials' examples

CAT_SAT_ON_MAT = torch.tensor([[0.21, 0.85, 0.14, 0.62], [0.45, 0.33, 0.71, 0.18],
                               [0.05, 0.12, 0.88, 0.09], [0.19, 0.79, 0.22, 0.58]])
PRINTED_T3_1 = torch.tensor([[0.2352, 0.2783, 0.2205, 0.2659], [0.2094, 0.3100, 0.2795, 0.2011],
                             [0.3360, 0.2504, 0.2338, 0.1797], [0.3234, 0.2881, 0.2501, 0.1385]])
HALF = {"dtype": torch.bfloat16}  # keeps the larger cases small


def cat_sat_on_mat(draw):
    """The tutorial gives the embeddings only: the matrices are ours, in two decimals; no output projection."""
    weights = torch.from_numpy(draw.random.uniform(-1, 1, (12, 4)).round(2)).float()
    return {"query": CAT_SAT_ON_MAT, "in_proj_weight": weights, "out_proj.weight": torch.eye(4)}


def seed_123():
    """The tutorial's tensors in its order: embeddings [4,16]; W_q, W_k, W_v [8,16]; its multi-head four [16,16]."""
    torch.manual_seed(123)
    embeddings = nn.Embedding(6, 16).weight.detach()[:4].clone()
    narrow = [nn.Linear(16, 8, bias=False).weight.detach() for _ in range(3)]
    wide = [nn.Linear(16, 16, bias=False).weight.detach() for _ in range(4)]
    return embeddings, narrow, wide


def t3_1_projected(draw):
    embeddings, narrow, _ = seed_123()
    q, k, v = (F.linear(embeddings.double(), w.double()).float() for w in narrow)
    return {"query": q, "key": k, "value": v}


def t3_1_from_embeddings(draw):
    """The layer's projections are square: head 0 is the tutorial's; head 1, with q and k of zeros, weighs all alike."""
    embeddings, (w_q, w_k, w_v), _ = seed_123()
    zeros = torch.zeros(8, 16)
    in_proj = torch.cat([w_q, zeros, w_k, zeros, w_v, w_v])
    return {"query": embeddings, "in_proj_weight": in_proj, "out_proj.weight": torch.eye(16)}


def t3_3(draw):
    embeddings, _, wide = seed_123()
    return {"query": embeddings, "in_proj_weight": torch.cat(wide[:3]), "out_proj.weight": wide[3]}


for heads, name in (1, "t0_1_cat_sat_on_mat"), (2, "t0_1_cat_sat_on_mat_two_heads"):
    mha(name, "Cat, sat, on, mat: from embeddings through Q, K, V, scores and weights to contextual embeddings.",
        cat_sat_on_mat, embed_dim=4, num_heads=heads, bias=False, average_attn_weights=False, stages=LAYER_STAGES)
mha_per_head("t0_3_per_head_weights", "The built-in layer at B2 T4 D8 H2: weights (2,2,4,4).",
             lambda d: from_one(d, 2, 4, 8), embed_dim=8, num_heads=2)
mha_per_head("t0_4_causal", "The causal triangle at B2 T4 D8 H2, in each head by itself.",
             lambda d: from_one(d, 2, 4, 8), embed_dim=8, num_heads=2, is_causal=True, stages=["masked_scores"])
mha_per_head("t1_1_padding_and_causal", "(4,16,128), H8, padding and causal: weights (4,8,16,16).", lambda d: from_one(
    d, 4, 16, 128, query=d.normal(4, 16, 128, **HALF), params=HALF, key_padding_mask=padding(16, 16, 11, 7, 3)),
    embed_dim=128, num_heads=8, is_causal=True)
mha("t1_2_sequence_first", "(16,4,128), H8, averaged: weights (4,16,16).", lambda d: from_one(
    d, 16, 4, 128, query=d.normal(16, 4, 128, **HALF), params=HALF), embed_dim=128, num_heads=8)
mha_per_head("t1_3_cross_attention", "(2,12,256) on (2,20,256), H8: weights (2,8,12,20).", lambda d: {
    "query": d.normal(2, 12, 256, **HALF), "key": d.normal(2, 20, 256, **HALF), **attention_params(d, 256, **HALF)},
    embed_dim=256, num_heads=8)
mha_per_head("t1_5_fully_masked_row", "Row 2 may look nowhere and batch 1 is all padding: zeros, no NaN.",
             lambda d: from_one(d, 2, 4, 8, attn_mask=put(torch.zeros(4, 4, dtype=torch.bool), 2, True),
                                key_padding_mask=padding(4, 4, 0)), embed_dim=8, num_heads=2)
sdpa("t3_1_self_attention", "Seed 123, four tokens, projected 16 to 8: the printed weights.", t3_1_projected,
     stages=SCORE_STAGES)
mha("t3_1_from_embeddings", "The same from the embeddings: head 0 has the printed weights.", t3_1_from_embeddings,
    embed_dim=16, num_heads=2, bias=False, average_attn_weights=False, stages=LAYER_STAGES)
mha("t3_3_multi_head", "Seed 123, four tokens, D16, H4: Q, scores and heads (4,4,4), output (4,16).", t3_3,
    embed_dim=16, num_heads=4, bias=False, average_attn_weights=False, stages=LAYER_STAGES)
mha_per_head("t3_3_batched", "The same as a batch of one.", lambda d: {**t3_3(d), "query": seed_123()[0][None]},
             embed_dim=16, num_heads=4, bias=False)
mha_per_head("t4_1_valid_lens", "X (2,4,100) on Y (2,6,100), H5, lengths [3,2]: no weight beyond.", lambda d: {
    "query": d.normal(2, 4, 100), "key": d.normal(2, 6, 100), **attention_params(d, 100, bias=False, **HALF),
    "valid_lens": lengths(3, 2)}, embed_dim=100, num_heads=5, bias=False)
encoder("t4_2_feed_forward", "The attention's output projection is zero: output - src is the block's own work.",
        lambda d: {name: tensor * 0 if "out_proj" in name else tensor for name, tensor in source(d).items()},
        norm_first=True, batch_first=True)
mha_per_head("t4_2_split_and_merge", "Splitting into heads and merging them: q, k, v and the heads' outputs.",
             lambda d: from_one(d, 2, 6, 20), embed_dim=20, num_heads=5,
             stages=["q", "k", "v", "head_outputs", "head_contributions"])


def check_tutorials(name, expected):
    """The numbers that the tutorials print."""
    if name in ("t3_1_self_attention", "t3_1_from_embeddings"):
        weights = expected["weights"].reshape(-1, 4, 4)[0]
        if not torch.equal((weights * 1e4).round(), (PRINTED_T3_1.double() * 1e4).round()):
            sys.exit(f"{name}: not the printed weights")
        checked["printed in a tutorial"] += 1
    if name == "t4_1_valid_lens":
        for weights, length in zip(expected["weights"], (3, 2)):
            if (weights[..., :length] == 0).any() or (weights[..., length:] != 0).any():
                sys.exit(f"{name}: weight beyond a valid length, or none within")
    shapes = {"t0_3_per_head_weights": (2, 2, 4, 4), "t1_1_padding_and_causal": (4, 8, 16, 16),
              "t1_2_sequence_first": (4, 16, 16), "t1_3_cross_attention": (2, 8, 12, 20), "t3_3_multi_head": (4, 4, 4),
              "t4_1_valid_lens": (2, 5, 4, 6)}
    if name in shapes and expected["weights"].shape != shapes[name]:
        sys.exit(f"{name}: weights {tuple(expected['weights'].shape)}, the tutorial has {shapes[name]}")


def main():
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [c for c in CASES if c.name.startswith(prefix)]
    if len({c.name for c in CASES}) != len(CASES):
        sys.exit("two cases of one name")
    torch.set_grad_enabled(False)
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob(f"{prefix}*.safetensors"):
        old.unlink()
    for c in chosen:
        tensors = c.make(Draw(c.name))
        expected = run(c.name, c.op, tensors, c.options)
        check_tutorials(c.name, expected)
        tensors.update({f"expected.{name}": tensor.float() for name, tensor in expected.items()})
        write_safetensors(FOLDER / f"{c.name}.safetensors", tensors,
                          {"op": c.op, "options": json.dumps(c.options), "description": c.description})
    size = sum(path.stat().st_size for path in FOLDER.glob("*.safetensors"))
    print(f"{len(chosen)} cases by PyTorch {torch.__version__}; the folder holds {size:,} bytes. PyTorch's own agree:")
    for what, count in checked.most_common():
        print(f"  {count:4} {what}")
    alone = len(chosen) - sum(checked.values()) + checked["printed in a tutorial"]
    print(f"  {alone:4} rest on the definition alone")


if __name__ == "__main__":
    main()
