"""Pictures as PNG files of 8-bit RGB whose rows are not filtered, so that any program with zlib reads them in a few lines."""
import struct
import zlib

import numpy

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path, image):
    """Writes bytes [height,width,3]."""
    height, width, _ = image.shape
    rows = numpy.concatenate([numpy.zeros((height, 1), numpy.uint8), image.reshape(height, -1)], 1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))


def read_png(path):
    """Reads what write_png wrote."""
    data, at, chunks = path.read_bytes(), len(SIGNATURE), {}
    while at < len(data):
        length = struct.unpack_from(">I", data, at)[0]
        chunks[data[at + 4:at + 8]] = data[at + 8:at + 8 + length]
        at += 12 + length
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    rows = numpy.frombuffer(zlib.decompress(chunks[b"IDAT"]), numpy.uint8).reshape(height, 1 + 3 * width)
    if rows[:, 0].any():
        raise ValueError(f"{path}: has filtered rows; expected a file that write_png wrote")
    return rows[:, 1:].reshape(height, width, 3)
