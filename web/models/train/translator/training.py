"""Trains the translator on sentences that the grammar makes up as it goes."""
import time

import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from shared.checkpoint import Checkpoint
from shared.optimiser import Muon, update
from shared.weights import save_model
from translator.grammar import Grammar
from translator.model import Marian, translate
from translator.pairs import held_out, training_pairs
from translator.tokenizer import END, PAD, Tokenizer, vocabulary

STEPS, ROWS, CHUNK = 2400, 128, 16  # a chunk of so many batches is sorted by length, so that little is padding
MATRIX_RATE, OTHER_RATE, WARM_UP = 0.01, 2e-3, 200
GUIDED, GUIDANCE = (1, 0), 0.5  # the layer and head whose weights on the source are taught to be the alignment
CONFIG = {
    "architectures": ["MarianMTModel"], "model_type": "marian", "is_encoder_decoder": True,
    "d_model": 96, "encoder_layers": 3, "decoder_layers": 3, "encoder_attention_heads": 6, "decoder_attention_heads": 6,
    "encoder_ffn_dim": 192, "decoder_ffn_dim": 192, "activation_function": "swish", "max_position_embeddings": 64,
    "scale_embedding": True, "static_position_embeddings": True, "normalize_before": False, "normalize_embedding": False,
    "add_final_layer_norm": False, "add_bias_logits": False, "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True, "attention_dropout": 0.0, "activation_dropout": 0.0, "dropout": 0.0, "num_hidden_layers": 3,
}


def config_of(tokenizer):
    end, pad = tokenizer.ids[END], tokenizer.ids[PAD]
    return CONFIG | {"vocab_size": len(tokenizer.ids), "bos_token_id": end, "eos_token_id": end, "forced_eos_token_id": end,
                     "pad_token_id": pad, "decoder_start_token_id": pad}


class Batch:
    """Pairs with padding. `next` [B,T] are the tokens that rows emit, and `aligned` [B,T,S] marks the tokens' sources."""

    def __init__(self, pairs, tokenizer):
        def rows(lists):
            return pad_sequence([torch.tensor(row) for row in lists], True, tokenizer.pad)
        self.source, self.target = rows([pair.source for pair in pairs]), rows([pair.target for pair in pairs])
        self.next = rows([pair.target[1:] + [tokenizer.end] for pair in pairs])
        self.aligned = torch.zeros(*self.target.shape, self.source.shape[1])
        for i, pair in enumerate(pairs):
            for row, columns in pair.rows:
                self.aligned[i, row, columns] = 1


class Training:
    def __init__(self, tokenizer):
        torch.manual_seed(1)
        self.tokenizer, self.grammar = tokenizer, Grammar(2)
        self.model = Marian(config_of(tokenizer))
        matrices = [p for name, p in self.model.named_parameters() if p.dim() == 2 and "layers" in name]
        others = [p for p in self.model.parameters() if not any(p is matrix for matrix in matrices)]
        self.matrices, self.others = Muon(matrices, 0), torch.optim.AdamW(others, 0, (0.9, 0.98), weight_decay=0.01)
        parts = {"model": self.model, "matrices": self.matrices, "others": self.others}
        self.checkpoint = Checkpoint("tiny-translator", parts, {"sentences": self.grammar.random})
        self.step = self.checkpoint.restore().get("step", 0)
        self.started, self.unseen = time.time(), held_out(tokenizer, 100, seed=3)

    def run(self):
        while self.step < STEPS:
            pairs = training_pairs(self.tokenizer, self.grammar, ROWS * CHUNK)
            pairs.sort(key=lambda pair: (len(pair.target), len(pair.source)))
            batches = [pairs[at:at + ROWS] for at in range(0, len(pairs), ROWS)]
            self.grammar.random.shuffle(batches)
            for batch in batches:
                self.advance(Batch(batch, self.tokenizer))
            self.checkpoint.save({"step": self.step}, now=self.step >= STEPS)

    def advance(self, batch):
        words, alignment = self.losses(batch)
        left = max(0, 1 - self.step / STEPS)
        rate = min(1, (self.step + 1) / WARM_UP, 1.3 * left)
        update(self.model, words + GUIDANCE * alignment, [(self.matrices, MATRIX_RATE), (self.others, OTHER_RATE)], rate)
        self.step += 1
        if self.step % 100 == 0:
            self.report(words.item(), alignment.item())

    def losses(self, batch):
        """The mean loss of the emitted tokens, and that of the guided head's weights on their sources."""
        model, pad = self.model, self.tokenizer.pad
        states, _, mask = model.encode(batch.source)
        states, _, crosses = model.decode(batch.target, states[-1], mask)
        counted = batch.next != pad
        words = F.cross_entropy(model.logits(states[-1][counted]), batch.next[counted])
        layer, head = GUIDED
        found = (crosses[layer][:, head] * batch.aligned).sum(-1)
        return words, -(found[counted] + 1e-6).log().mean()

    @torch.no_grad()
    def report(self, words, alignment):
        rows = translate(self.model, [pair.source for pair in self.unseen])
        right = sum(row == pair.target[1:] for row, pair in zip(rows, self.unseen))
        batch = Batch(self.unseen, self.tokenizer)
        states, _, mask = self.model.encode(batch.source)
        crosses = torch.stack(self.model.decode(batch.target, states[-1], mask)[2])  # [L,B,H,T,S]
        rows = batch.aligned.sum(-1) > 0
        top = (crosses * batch.aligned[:, None]).amax(-1) == crosses.amax(-1)
        shares = top.transpose(1, 2)[:, :, rows].double().mean(-1)
        print(f"{time.time() - self.started:6.0f} s  step {self.step:5d}  loss {words:.3f} {alignment:.3f}  right {right} %  "
              f"alignment {' '.join(f'{share:.2f}' for share in shares.flatten())}", flush=True)


def train():
    """Trains, or goes on training. Returns the model, the tokenizer and a sentence about the training."""
    tokenizer = Tokenizer(vocabulary())
    training = Training(tokenizer)
    training.run()
    spent = training.checkpoint.core_seconds() / 60
    return training.model, tokenizer, f"This took {training.step:,} steps of {ROWS} pairs, and {spent:.0f} minutes of a core."


def save(folder, model, tokenizer):
    save_model(folder, model.config, model.state_dict())
    tokenizer.save(folder / "tokenizer.json")
