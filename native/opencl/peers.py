# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of figures.py: for each row of `headlens bench --large`, calls on the same GPU that compute the same.
PyTorch and transformers may be missing, and then rows have no peer."""
import math
import time

try:
    import torch
    import torch.nn.functional as F
    HAS_PEER = torch.cuda.is_available()
except ImportError:
    HAS_PEER = False

VERSION = torch.__version__ if HAS_PEER else None
MOST_CALLS = 1000  # in one round


def prepare():
    """Makes fp32 mean fp32: PyTorch may otherwise round products to TF32."""
    if HAS_PEER:
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False


def new(precision, *shape):
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    return torch.randn(*shape, device="cuda", dtype=dtype)


def product(row, precision):
    x, w = new(precision, row["tokens"], row["width"]), new(precision, row["out"], row["width"])
    return {"cuBLAS": lambda: x @ w.T}


def core(row, precision):
    q = new(precision, row["batch"], row["heads"], row["queries"], row["head_dim"])
    k, v = (new(precision, row["batch"], row["kv_heads"], row["keys"], row["head_dim"]) for _ in range(2))
    if row["maps"]:
        scale = 1 / math.sqrt(row["head_dim"])

        def maps():
            weights = torch.softmax((q * scale) @ k.mT, -1)
            return weights, weights @ v
        return {"softmax(q kᵀ) v": maps}
    grouped = {"enable_gqa": True} if row["kv_heads"] != row["heads"] else {}
    return {"SDPA": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=row["causal"], **grouped)}


def one_map(row, precision):
    """A map is pooled by the operation for it, or as a mean over two axes, of which either may be faster."""
    width = row["model"]["width"] // row["model"]["heads"]
    q, k = new(precision, 1, 1, row["rows"], width), new(precision, 1, 1, row["tokens"], width)
    weights = lambda: torch.softmax((q / math.sqrt(width)) @ k.mT, -1)
    if not row["pool"]:
        return {"softmax(q kᵀ)": weights}
    side = row["tokens"] // row["pool"]
    return {"softmax(q kᵀ), avg_pool2d": lambda: F.avg_pool2d(weights(), side),
            "softmax(q kᵀ), mean": lambda: weights().view(row["pool"], side, row["pool"], side).mean((1, 3))}


def whole_model(row, precision):
    """The same architecture with random weights. Maps need the eager attention; decoding may take the fastest."""
    try:
        import transformers  # here, since it takes seconds
    except ImportError:
        return {}
    config = transformers.AutoConfig.for_model(**row["model"]["config"])
    dtype = torch.bfloat16 if row["model"]["weights"] == "bf16" else new(precision, 1).dtype
    ids = torch.arange(row["tokens"], device="cuda")[None] * 7919 % config.vocab_size
    if row["kind"] == "model":
        model = transformers.AutoModel.from_config(config, attn_implementation="eager").to("cuda", dtype).eval()
        return {"transformers": lambda: model(ids, output_attentions=True)}
    model = transformers.AutoModelForCausalLM.from_config(config).to("cuda", dtype).eval()

    def decode():
        past = None
        for i in range(row["tokens"]):
            step = model(ids[:, i:i + 1], past_key_values=past, use_cache=True)
            past = step.past_key_values
        return step.logits
    return {"transformers": decode}


KINDS = {"product": product, "core": core, "map": one_map, "model": whole_model, "decode": whole_model}


def calls_in(seconds, once):
    """The number of calls in a round of so many seconds, when a call takes `once`."""
    return max(1, min(MOST_CALLS, round(seconds / max(once, 1e-6))))


class Peer:
    """One way to compute a row, warmed up."""

    def __init__(self, name, call, seconds):
        self.name, self.call = name, call
        self.time(1)
        self.once = self.time(2)
        self.calls = calls_in(seconds, self.once)

    def time(self, calls):
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.inference_mode():
            for _ in range(calls):
                self.call()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / calls

    def round(self):
        return self.time(self.calls)


def find(row, precision, seconds):
    """Returns the fastest peer of a row, whose rounds take about so many seconds, or None where there is none."""
    if not HAS_PEER:
        return None
    torch.cuda.empty_cache()
    ways = KINDS[row["kind"]](row, precision)
    return min((Peer(name, call, seconds) for name, call in ways.items()), key=lambda peer: peer.once, default=None)
