# SPDX-License-Identifier: Apache-2.0
"""Case files. Safetensors are written by hand, so that every machine writes the same bytes."""

import json
import struct

import torch

DTYPES = {torch.float64: "F64", torch.int32: "I32", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
          torch.uint8: "U8", torch.bool: "BOOL"}


def safetensors(tensors, metadata):
    """Tensors of wide types come first, so that every tensor is aligned to its own elements."""
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header, body = {"__metadata__": metadata}, b""
    for name in order:
        data = tensors[name].contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": DTYPES[tensors[name].dtype], "shape": list(tensors[name].shape),
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def read_safetensors(path):
    """The tensors of a file, by name."""
    file, types = path.read_bytes(), {name: dtype for dtype, name in DTYPES.items()}
    begin = 8 + struct.unpack("<Q", file[:8])[0]
    header = json.loads(file[8:begin])
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(bytearray(file[begin:][slice(*entry["data_offsets"])]),
                                   dtype=types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}
