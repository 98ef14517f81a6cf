# SPDX-License-Identifier: Apache-2.0
"""Embedding lookup, with positions added."""

from problems import embedding


def table(draw, V, D, *ids, more=None):
    return {"ids": draw.ids(*ids, below=V), "weight": draw.normal(V, D), **(more or {})}


embedding("embedding", "Rows of the table: [T] to [T,D].", lambda d: table(d, 11, 6, 7))
embedding("embedding_batched", "Ids [B,T].", lambda d: table(d, 5, 4, 3, 6), positions="none")
embedding("embedding_odd_width", "Width 1 and a vocabulary of one.", lambda d: table(d, 1, 1, 2, 3))
embedding("embedding_scaled", "Rows times the root of D, no positions.", lambda d: table(d, 9, 6, 2, 4),
          scale_embeddings=True)
embedding("embedding_sinusoidal", "Sine and cosine added.", lambda d: table(d, 9, 8, 2, 6), positions="sinusoidal")
embedding("embedding_sinusoidal_odd", "An odd width ends with a sine.", lambda d: table(d, 9, 7, 5),
          positions="sinusoidal")
embedding("embedding_sinusoidal_offset", "Places from 1000 on, scaled rows: the places are added after.",
          lambda d: table(d, 9, 6, 2, 5), positions="sinusoidal", position_offset=1000, scale_embeddings=True)
embedding("embedding_sinusoidal_width_1", "Width 1: the sine of the place.", lambda d: table(d, 4, 1, 5),
          positions="sinusoidal")
embedding("embedding_learned", "Learned places added.", lambda d: table(
    d, 9, 6, 2, 5, more={"position_embeddings": d.normal(5, 6)}), positions="learned")
embedding("embedding_learned_offset", "Learned places from 3 on, up to the last there is.", lambda d: table(
    d, 9, 5, 4, more={"position_embeddings": d.normal(7, 5)}), positions="learned", position_offset=3)
embedding("embedding_learned_scaled", "Scaled rows and learned places, more places than tokens.", lambda d: table(
    d, 9, 5, 2, 4, more={"position_embeddings": d.normal(16, 5)}), positions="learned", scale_embeddings=True)
embedding("embedding_no_ids", "An empty batch.", lambda d: table(d, 9, 5, 0, 4), positions="sinusoidal")
