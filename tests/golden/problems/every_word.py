# SPDX-License-Identifier: Apache-2.0
"""Every option in every kind of layer: the same problems in the multi-head layer, the encoder layer and the decoder
layer, batch first and sequence first, the latter with grouped heads."""

import collections

import torch

from definition.masks import PRESETS
from draw import attention_params, block_params, lengths, padding, places, put, qkv
from problems import LAYER_STAGES, decoder, encoder, mha, mha_per_head, sdpa
from problems.blocks import without_biases
from problems.normalizers import KINDS

Form = collections.namedtuple("Form", "name B T S D heads groups first")
FORMS = [Form("batch_first", 2, 4, 5, 6, 2, 2, True), Form("sequence_first", 1, 5, 3, 8, 4, 2, False)]
WIDTH = 3  # of the feed-forward block
STAGES = [*LAYER_STAGES, "dropout_mask", "dropped_weights", "present_key", "present_value"]


def rows(draw, form, length):
    return draw.normal(*((form.B, length, form.D) if form.first else (length, form.B, form.D)))


def in_each(name, description, masks, block=None, forms=FORMS, **options):
    """`masks` takes a Draw and a form, and returns tensors under the multi-head layer's names. `block` holds the
    options that only encoder and decoder layers have. An option with a pair of values has one for each form."""
    block = block or {}
    gated = {"gated": block.get("activation") == "swiglu", "norm_bias": block.get("norm") != "rms_norm"}
    kept = (lambda tensors: tensors) if options.get("bias", True) else without_biases

    def named(side, words):
        names = {"attn_mask": f"{side}_mask", "key_padding_mask": f"{side}_key_padding_mask"}
        return {names.get(word, word): value for word, value in words.items()}

    for form in forms:
        sizes = {"embed_dim": form.D, "num_heads": form.heads, "average_attn_weights": False}
        sizes.update({"batch_first": True} if form.first else {"num_kv_heads": form.groups})
        said = {**sizes, **{x: y[FORMS.index(form)] if isinstance(y, tuple) else y for x, y in options.items()}}
        whole = {"dim_feedforward": WIDTH, "need_weights": True, **block, **said}
        of_target = {f"tgt_{x}" if x == "is_causal" else x: y for x, y in whole.items()}
        if "stages" in options and not form.first:
            of_target["stages"] = [*STAGES, *(f"memory_{stage}" for stage in STAGES if "present" not in stage)]
        own = {"kv_width": form.D // form.heads * form.groups}

        def layer(d, form=form, own=own):
            return {"query": rows(d, form, form.T), **kept(attention_params(d, form.D, **own)), **masks(d, form)}

        def source(d, form=form, own=own):
            return {"src": rows(d, form, form.T), **kept(block_params(d, form.D, WIDTH, **own, **gated)),
                    **named("src", masks(d, form))}

        def target(d, form=form, own=own):
            return {"tgt": rows(d, form, form.T), "memory": rows(d, form, form.S),
                    **kept(block_params(d, form.D, WIDTH, decoder=True, **own, **gated)),
                    **named("tgt", masks(d, form))}

        mha(f"{name}_mha_{form.name}", description, layer, **said)
        encoder(f"{name}_encoder_{form.name}", description, source, **whole)
        decoder(f"{name}_decoder_{form.name}", description, target, **of_target)


def blind(mask, row):
    """Hides all keys from one query."""
    return put(mask, (..., row, slice(None)), False)


# Every point of the conventions, named one by one

in_each("every_keep", "Boolean mask, true: keep, with a row of false, which is uniform; the cap comes after the bias.",
        lambda d, f: {"attn_mask": blind(d.keep(f.T, f.T), 2), "alibi_slopes": torch.linspace(1, -0.5, f.heads)},
        mask_true="keep", fully_masked="uniform", masked_nan="blocked", softcap=1.25, softcap_order="after_bias",
        gqa_order="interleaved", causal_alignment="top_left", is_causal=True,
        block={"activation": "relu", "norm": "layer_norm"})
in_each("every_ignore", "Boolean mask [B*H,T,T], true: ignore, with a row of true, which is NaN; the cap comes first.",
        lambda d, f: {"attn_mask": ~blind(d.keep(f.B * f.heads, f.T, f.T), 1),
                      "relative_bias": d.normal(f.heads, 5)},
        mask_true="ignore", fully_masked="nan", masked_nan="spreads", softcap=0.75, softcap_order="before_bias",
        gqa_order="block", causal_alignment="bottom_right", scale=0.6,
        block={"layer_norm_eps": 0.01, "activation": "gelu"})

# Positions

in_each("every_place", "Rotation with all its words and ALiBi, in a dilated window that a global token is exempt from.",
        lambda d, f: {"key_padding_mask": padding(f.T, *[f.T, 3][:f.B]),
                      "global_tokens": places(f.T, *[[1], []][:f.B])},
        rotary=("interleaved", "half"), rotary_dim=2, rotary_base=100, rotary_scale=2, alibi=True, dilation=2,
        window_left=2, window_right=(1, 0), temperature=(0.75, 2), sink=0.5,
        block={"norm_first": True, "activation": "gelu_tanh"})
in_each("every_bucket", "T5's buckets of the past alone, a prefix, the two largest of each row.",
        lambda d, f: {"t5_bias": d.normal(6, f.heads), "prefix_lens": lengths(*[3, 0][:f.B])}, is_causal=True,
        t5_bidirectional=False, t5_max_distance=5, normalizer="top_k", top_k=2,
        block={"activation": "swiglu", "norm": "rms_norm"})

# Every stage, with dropout; documents, lengths, head masks

in_each("every_stage", "Every stage, with dropout and a head mask, over documents and valid lengths.",
        lambda d, f: {"key_documents": d.ids(f.B, f.T, below=2), "query_documents": d.ids(f.B, f.T, below=2),
                      "valid_lens": lengths(*[3, 0][:f.B]), "head_mask": put(torch.ones(f.heads), 1, 0.5),
                      "sinks": d.normal(f.heads)},
        dropout_p=(0.3, 0.5), seed=(3, 2**33 + 1), fully_masked="zero", stages=STAGES)
sdpa("every_stage_sdpa", "Every stage and the averaged weights.", lambda d: qkv(d, 2, 3, 4, 5, 4, dv=2),
     average_attn_weights=True, rotary="half", stages=["q", "k", "v", "scores", "lse"])
sdpa("every_stage_sdpa_grouped", "The same of grouped heads, causal.", lambda d: qkv(d, 1, 4, 6, 6, 2, G=2),
     average_attn_weights=True, enable_gqa=True, is_causal=True, stages=["q", "k", "v", "lse"])

# Normalisers

for kind, more in KINDS.items():
    in_each(f"every_{kind}", "An additive mask with -inf.", lambda d, f: {"attn_mask": d.bias(f.T, f.T)},
            normalizer=kind, bias=False, forms=FORMS[1:], **more)

# Presets, with a row of true and a row of false, one of which sees no key


def telling(draw, f):
    return {"attn_mask": put(blind(draw.keep(f.T, f.T), 1), 3, True)}


for preset in PRESETS:
    in_each(f"every_preset_{preset.replace('-', '_')}", "The preset in each kind of layer.", telling,
            conventions=preset, bias=False, **({"softcap": 1.5} if preset == "onnx" else {}),
            block={"norm_first": preset in ("jax", "flash")})

# The output alone

mha("every_no_weights", "No weights asked for, sequence first, causal.", lambda d: {
    "query": d.normal(5, 2, 8), **attention_params(d, 8)}, embed_dim=8, num_heads=2, need_weights=False,
    is_causal=True)
mha_per_head("every_no_weights_cross", "No weights asked for, T < S, places that end with the keys.", lambda d: {
    "query": d.normal(2, 3, 8), "key": d.normal(2, 7, 8), **attention_params(d, 8)}, embed_dim=8, num_heads=4,
    need_weights=False, is_causal=True, causal_alignment="bottom_right")

# One query on thousands of keys

sdpa("one_query_5000", "T = 1, S = 5000, stored as float16.",
     lambda d: qkv(d, 1, 1, 1, 5000, 2, dv=1, dtype=torch.float16), stages=["lse"], need_weights=None)
mha("one_query_5000_mha", "T = 1, S = 5000 in the layer; keys stored as float16, which are the values too.", lambda d: {
    "query": d.normal(1, 1, 2), "key": d.normal(1, 5000, 2, dtype=torch.float16), **attention_params(d, 2)},
    embed_dim=2, num_heads=1, batch_first=True)
