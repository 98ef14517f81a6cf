"""Weights in safetensors files: matrices as 8-bit integers with a scale for each row, everything else as F16.

The form is that of compressed-tensors ("int-quantized", symmetric, strategy "channel"): NAME.weight I8 [rows, columns] beside
NAME.weight_scale F16 [rows, 1], and a weight is the product of both. QUANTIZATION says so in config.json.
"""
import json
import struct

import numpy
import torch

DTYPES = {"F16": torch.float16, "F32": torch.float32, "I32": torch.int32, "I8": torch.int8}
QUANTIZATION = {
    "quant_method": "compressed-tensors", "format": "int-quantized", "quantization_status": "compressed",
    "config_groups": {"group_0": {"targets": ["Linear", "Embedding"], "weights": {
        "num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"}}},
    "ignore": [],
}
COMPRESS = False  # the engine does not read 8-bit weights yet


def save_tensors(path, tensors, metadata=None):
    """Writes a safetensors file: length, JSON header padded to 8 bytes, data. tensors: name -> torch tensor."""
    header, blobs, offset = {"__metadata__": metadata} if metadata else {}, [], 0
    for name, tensor in tensors.items():
        dtype = next(key for key, value in DTYPES.items() if value == tensor.dtype)
        blob = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def load_tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    types = {"F16": numpy.float16, "F32": numpy.float32, "I32": numpy.int32, "I8": numpy.int8}
    return {name: torch.from_numpy(numpy.frombuffer(data[slice(*entry["data_offsets"])], types[entry["dtype"]])
                                   .reshape(entry["shape"]).copy()) for name, entry in header.items()}


def save_model(folder, config, tensors):
    """Writes config.json and model.safetensors of F32 weights under their names at Hugging Face."""
    stored = compressed(tensors) if COMPRESS else {name: tensor.half() for name, tensor in tensors.items()}
    config = config | ({"quantization_config": QUANTIZATION} if COMPRESS else {})
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_tensors(folder / "model.safetensors", stored, {"format": "pt"})


def compressed(tensors, bits=8):
    """Returns what a file stores of these F32 weights, in their order. Fewer `bits` use fewer of the integers."""
    out, largest = {}, 2 ** (bits - 1) - 1
    for name, tensor in tensors.items():
        if tensor.dim() != 2 or not name.endswith(".weight"):
            out[name] = tensor.half()
            continue
        scale = (tensor.abs().amax(1, keepdim=True) / largest).half()
        scale[scale == 0] = torch.finfo(torch.half).tiny
        out[name] = (tensor / scale.float()).round().clamp(-largest, largest).to(torch.int8)
        out[name + "_scale"] = scale
    return out


def expanded(stored):
    """Returns the F32 weights that a file stores."""
    scales = {name for name in stored if name.endswith(".weight_scale")}
    return {name: tensor.float() * stored[name + "_scale"].float() if name + "_scale" in scales else tensor.float()
            for name, tensor in stored.items() if name not in scales}
