# SPDX-License-Identifier: Apache-2.0
"""Encoder and decoder layers."""

from draw import block_params, lengths, padding, put
from problems import LAYER_STAGES, PER_HEAD, decoder, encoder



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

# Activations and norms


def block_of(draw, shape, width=20, decoder=False, memory=(2, 6, 12), **more):
    inputs = {"tgt": draw.normal(*shape), "memory": draw.normal(*memory)} if decoder else {"src": draw.normal(*shape)}
    return {**inputs, **block_params(draw, shape[-1], width, decoder=decoder, **more)}


def without_biases(tensors):
    return {n: t for n, t in tensors.items() if not n.endswith("bias")}


SWIGLU, RMS = {"gated": True}, {"norm_bias": False}

encoder("encoder_layer_relu", "ReLU and LayerNorm named, norm first.", source, activation="relu", norm="layer_norm",
        norm_first=True, **WEIGHTS)
encoder("encoder_layer_gelu_tanh", "GELU by tanh, norm after, sequence first.", lambda d: source(d, 5, 2, 12),
        activation="gelu_tanh", norm="layer_norm")
encoder("encoder_layer_gelu_tanh_wide", "GELU by tanh on inputs of some tens, norm first, epsilon 1e-12 as in BERT.",
        lambda d: {**source(d), "src": d.normal(2, 5, 12, std=30)}, activation="gelu_tanh", norm_first=True,
        layer_norm_eps=1e-12, **WEIGHTS)
encoder("encoder_layer_swiglu", "SwiGLU: the first F rows of linear1 gate the others.",
        lambda d: block_of(d, (2, 5, 12), **SWIGLU), activation="swiglu", **WEIGHTS)
encoder("encoder_layer_swiglu_odd", "SwiGLU of width 7, norm first, unbatched.",
        lambda d: block_of(d, (5, 12), 7, **SWIGLU), activation="swiglu", dim_feedforward=7, norm_first=True,
        need_weights=True)
encoder("encoder_layer_rms_norm", "RMSNorm after each block, which has no bias.",
        lambda d: block_of(d, (2, 5, 12), **RMS), norm="rms_norm", **WEIGHTS)
encoder("encoder_layer_rms_norm_first", "RMSNorm first, an epsilon of its own, sequence first, all biases gone.",
        lambda d: without_biases(block_of(d, (5, 2, 12), **RMS)), norm="rms_norm", norm_first=True, bias=False,
        layer_norm_eps=0.1, need_weights=True)
encoder("encoder_layer_no_bias", "LayerNorm without biases, and none elsewhere.",
        lambda d: without_biases(source(d)), bias=False, **WEIGHTS)
encoder("encoder_layer_one_token", "A sequence of one token.", lambda d: source(d, 2, 1, 12), activation="gelu",
        **WEIGHTS)
encoder("encoder_layer_valid_lens", "Valid lengths in the layer.", lambda d: source(d, valid_lens=lengths(3, 0)),
        **WEIGHTS)
decoder("decoder_layer_gelu_tanh", "GELU by tanh, norm first.", target, activation="gelu_tanh", norm_first=True,
        **WEIGHTS)
decoder("decoder_layer_swiglu_rms", "SwiGLU and RMSNorm, sequence first.", lambda d: block_of(
    d, (4, 2, 12), decoder=True, memory=(6, 2, 12), **SWIGLU, **RMS), activation="swiglu", norm="rms_norm",
        tgt_is_causal=True, need_weights=True)
decoder("decoder_layer_rms_norm_first", "RMSNorm first, no biases.", lambda d: without_biases(block_of(
    d, (2, 4, 12), decoder=True, **RMS)), norm="rms_norm", norm_first=True, bias=False, **WEIGHTS)
decoder("decoder_layer_memory_causal", "Causal over the memory too.", target, tgt_is_causal=True,
        memory_is_causal=True, **WEIGHTS)
decoder("decoder_layer_memory_causal_masks", "Causal over the memory, bottom-right, with masks of both.",
        lambda d: target(d, tgt_mask=d.bias(2, 3, 4, 4), tgt_key_padding_mask=padding(4, 3, 4),
                         memory_mask=~d.keep(6, 4, 6, share=0.8), memory_key_padding_mask=padding(6, 6, 5)),
        memory_is_causal=True, causal_alignment="bottom_right", **WEIGHTS)
decoder("decoder_layer_stages", "Stages of the self-attention.", target, stages=LAYER_STAGES, tgt_is_causal=True,
        **PER_HEAD)
ALL_STAGES = [*LAYER_STAGES, "dropout_mask", "dropped_weights"]
MEMORY_STAGES = [f"memory_{stage}" for stage in ALL_STAGES]
decoder("decoder_layer_memory_stages", "Every stage of both attentions, masks on the memory, a soft cap.",
        lambda d: target(d, memory_mask=d.bias(4, 6), memory_key_padding_mask=padding(6, 6, 4)),
        stages=[*ALL_STAGES, *MEMORY_STAGES], softcap=2.0, **PER_HEAD)
decoder("decoder_layer_memory_stages_dropout", "The attention over the memory drops other cells; unbatched.",
        lambda d: target(d, (4, 12), (6, 12)), stages=MEMORY_STAGES, dropout_p=0.3, seed=5)
