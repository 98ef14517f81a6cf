#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden cases: tests/golden/cases/NAME.safetensors, one attention problem each, with PyTorch's results.

    /usr/bin/python3 tests/golden/make.py            # all cases
    /usr/bin/python3 tests/golden/make.py sdpa_gqa   # those whose name starts so

It needs PyTorch 1.13, which is Debian 12's python3-torch. (PyTorch 2.6 has written the same bytes for the cases of
PyTorch's own layers.) The cases are committed, so you only run this when you change them.

A file holds
    __metadata__   op, options (JSON) and description. An absent option has PyTorch's default; fully_masked is "zero".
    inputs         query, key, value, masks, valid_lens, src, tgt, memory; parameters under PyTorch's state-dict names.
    expected.*     the results that a run must give under the rest of the name: expected.output; expected.weights when
                   need_weights asks for them; one tensor for each name in options.stages; and for a decoder layer
                   expected.memory_weights, those of its attention to the memory. They are no part of the problem.

The numbers
    Inputs and parameters are drawn as float32 (or the type that the case names). Each case has a seed of its own name,
    so that a new case changes no other. Everything after that is float64, and is rounded once, to float32, when stored.
    definition/ spells out attention with every stage and the rules for masked cells, from the formulas as they were
    published. published.py compares the results with PyTorch's own layers and functions wherever these can express the
    problem. Each definition that PyTorch does not have is compared with a second form of itself: sparsemax with the
    conditions of a projection, entmax with bisection, rotation by complex numbers with sine and cosine, T5's buckets
    with its logarithm, a cache with the full pass. Any disagreement beyond float64's rounding stops the script. The
    summary counts the cases that PyTorch could not check, and the cases that show each word of the vocabulary: there
    must be at least two of them in every operation that has the word.

    make.py      runs the cases, writes the files, and counts
    problems/    the cases by theme
    draw.py      their inputs
    definition/  masks, positions, normalizers, dropout → attention → layers
    run.py       a function for each operation, and the options that it has
    files.py     safetensors files
    published.py PyTorch's own answers

Shapes: B batch, H heads, G key/value heads, T queries, S keys, P past keys, d head width, dv value width, D model width
"""

import collections
import importlib
import json
import pathlib
import sys

sys.dont_write_bytecode = True

import torch  # noqa: E402

import run  # noqa: E402
from definition.normalizers import NORMALIZERS, normalize  # noqa: E402
from draw import Draw  # noqa: E402
from files import safetensors  # noqa: E402
from problems import CASES  # noqa: E402
from published import checked  # noqa: E402

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "cases"
EXACT_BEYOND = 1e6  # larger scores must be exact in float32, since no tolerance could tell their weights apart

# Options of which each of these values has to be shown. Of all others one value is enough.
VALUES = {
    "conventions": ["torch-mha", "torch-sdpa", "onnx", "keras", "jax", "flash"],
    "mask_true": ["keep", "ignore"], "causal_alignment": ["top_left", "bottom_right"],
    "fully_masked": ["zero", "nan", "uniform"], "masked_nan": ["blocked", "spreads"],
    "gqa_order": ["block", "interleaved"], "softcap_order": ["before_bias", "after_bias"],
    "normalizer": [kind for kind in NORMALIZERS if kind != "softmax"],
    "rotary": ["half", "interleaved"], "t5_bidirectional": [False], "positions": ["sinusoidal", "learned"],
    "activation": ["relu", "gelu", "gelu_tanh", "swiglu"], "norm": ["layer_norm", "rms_norm"],
}
STAGES = ["q", "k", "v", "scores", "scaled_scores", "capped_scores", "biased_scores", "masked_scores", "weights",
          "dropped_weights", "dropout_mask", "lse", "head_outputs", "head_contributions", "present_key",
          "present_value"]
STAGES += [f"memory_{stage}" for stage in STAGES if not stage.startswith("present_")]
TENSORS = ["attn_mask", "key_padding_mask", "src_mask", "src_key_padding_mask", "tgt_mask", "tgt_key_padding_mask",
           "memory_mask", "memory_key_padding_mask", "position_embeddings", *run.ATTENTION_TENSORS]
DTYPES = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64"}
OFTEN_ENOUGH = 2


def vocabulary():
    words = {word for words in run.OPTIONS.values() for word in words} - {"stages"}
    return [*sorted(words - set(VALUES)), *(f"{word}={value}" for word in VALUES for value in VALUES[word]),
            *TENSORS, *(f"stage {stage}" for stage in STAGES), *DTYPES.values(), "unbatched", "batch_first",
            "sequence first", "empty batch", "one query", "one key"]


def words_of_operation(op):
    """The words that each operation must show by itself: its options, its stages, and the tensors that guide
    attention."""
    for word in run.OPTIONS[op]:
        if word != "stages":
            yield from (f"{word}={value}" for value in VALUES[word]) if word in VALUES else [word]
    if op == "embedding":
        return
    yield from run.ATTENTION_TENSORS
    whole = op != "scaled_dot_product_attention"  # its output is that of the heads, so it has no stages of them
    yield from (f"stage {stage}" for stage in STAGES if (whole or not stage.startswith("head_"))
                and (op == "transformer_decoder_layer" or not stage.startswith(run.MEMORY)))


def words_of(c, tensors):
    """The words of the vocabulary that a case shows."""
    yield from (word for word in c.options if word not in VALUES)
    yield from (f"{word}={c.options[word]}" for word in VALUES if word in c.options)
    yield from (name for name in TENSORS if name in tensors)
    yield from (f"stage {stage}" for stage in c.options.get("stages", []))
    yield from {DTYPES[t.dtype] for t in tensors.values() if t.dtype in DTYPES}
    first = next((tensors[x] for x in ("query", "src", "tgt") if x in tensors), None)
    if first is None:
        return
    layer, rows = "embed_dim" in c.options, tensors.get("key", tensors.get("memory", first))
    if first.dim() == 2:
        yield "unbatched"
    elif layer and not c.options.get("batch_first"):
        yield "sequence first"
    if 0 in first.shape:
        yield "empty batch"
    along = 0 if layer and not c.options.get("batch_first") else -2
    if first.shape[along] == 1:
        yield "one query"
    if rows.shape[along] == 1 and "past_key" not in tensors:
        yield "one key"


def check_large(c, tensors):
    """Where scores are beyond EXACT_BEYOND, their weights must be the same when they are rounded to float32 first."""
    stages = ["biased_scores", "masked_scores", "weights"]
    seen = run.run(c.name, c.op, tensors, {**c.options, "stages": stages}) if c.op != "embedding" else {}
    if not seen or not (seen["biased_scores"].nan_to_num(0, 0, 0).abs() > EXACT_BEYOND).any():
        return
    if c.op != "scaled_dot_product_attention" or seen["masked_scores"].dim() != 4:
        sys.exit(f"scores beyond {EXACT_BEYOND:g} outside scaled_dot_product_attention [B,H,T,d]")
    again, _ = normalize(seen["masked_scores"].float().double(), {**c.options, **tensors})
    live = (seen["masked_scores"] > -torch.inf).any(-1)
    if not torch.allclose(again[live], seen["weights"][live], rtol=1e-6, atol=1e-9):
        sys.exit("the weights depend on the rounding of large scores")


def main():
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    for theme in sorted((HERE / "problems").glob("[a-z]*.py")):
        importlib.import_module(f"problems.{theme.stem}")
    chosen = [c for c in CASES if c.name.startswith(prefix)]
    if len({c.name for c in CASES}) != len(CASES):
        sys.exit("two cases have the same name")
    torch.set_grad_enabled(False)
    shown, files = collections.defaultdict(collections.Counter), {}
    for c in chosen:
        tensors = c.make(Draw(c.name))
        try:
            expected = run.run(c.name, c.op, tensors, c.options)
            check_large(c, tensors)
            if c.check:
                c.check(tensors, expected)
        except SystemExit as stop:
            sys.exit(f"{c.name}: {stop}")
        shown[c.op].update(set(words_of(c, tensors)))
        tensors.update({f"expected.{name}": tensor.float() for name, tensor in expected.items()})
        metadata = {"op": c.op, "options": json.dumps(c.options), "description": c.description}
        files[c.name] = safetensors(tensors, metadata)
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob(f"{prefix}*.safetensors"):
        old.unlink()
    for name, content in files.items():
        (FOLDER / f"{name}.safetensors").write_bytes(content)
    report(chosen, shown, whole=not prefix)


def report(chosen, shown, whole):
    size = sum(path.stat().st_size for path in FOLDER.glob("*.safetensors"))
    print(f"{len(chosen)} cases by PyTorch {torch.__version__}; the folder holds {size:,} bytes. PyTorch's own agree:")
    for what, names in sorted(checked.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):4} {what}")
    by_pytorch = set().union(*checked.values(), set())
    print(f"  {len({c.name for c in chosen} - by_pytorch):4} rest on the definition and its second form alone")
    print("Cases that show each word:")
    total = sum(shown.values(), collections.Counter())
    print("  " + ", ".join(f"{word} {total[word]}" for word in vocabulary()))
    rare = [word for word in vocabulary() if total[word] < OFTEN_ENOUGH]
    rare += [f"{word} in {op}" for op in run.OPTIONS for word in words_of_operation(op)
             if shown[op][word] < OFTEN_ENOUGH]
    if whole and rare:
        sys.exit(f"fewer than {OFTEN_ENOUGH} cases show: {', '.join(rare)}")


if __name__ == "__main__":
    main()
