"""Training that was interrupted goes on from its last checkpoint."""
import random
import time

import torch

from shared.folders import build

EVERY = 60  # seconds


class Checkpoint:
    """Keeps the state of one training in build/train/NAME/checkpoint.pt.

    `parts` are objects with state_dict and load_state_dict: models and optimisers. `randoms` are instances of
    random.Random and torch.Generator. Both are dicts; what is in them is restored in its place.
    """

    def __init__(self, name, parts, randoms):
        self.path = build(name) / "checkpoint.pt"
        self.parts, self.randoms = parts, randoms
        self.saved = time.time()
        self.spent = 0  # seconds of a core, of all runs before this one

    def restore(self):
        """Restores the parts, and returns the progress that was saved with them, or an empty dict at the first start."""
        if not self.path.exists():
            return {}
        state = torch.load(self.path)
        for name, part in self.parts.items():
            part.load_state_dict(state["parts"][name])
        for name, source in self.randoms.items():
            set_state(source, state["randoms"][name])
        self.spent = state["spent"]
        print(f"going on with {self.path}: {state['progress']}", flush=True)
        return state["progress"]

    def save(self, progress, now=False):
        """Saves everything with `progress`, a dict of plain values, when a minute has passed since the last time, or now."""
        if not now and time.time() - self.saved < EVERY:
            return
        self.saved = time.time()
        state = {"parts": {name: part.state_dict() for name, part in self.parts.items()},
                 "randoms": {name: get_state(source) for name, source in self.randoms.items()},
                 "progress": progress, "spent": self.core_seconds()}
        whole = self.path.with_suffix(".new")
        torch.save(state, whole)
        whole.replace(self.path)  # a run that is stopped while it writes leaves the checkpoint before

    def core_seconds(self):
        """The time that all runs together have used of a core."""
        return self.spent + time.process_time()


def get_state(source):
    return source.getstate() if isinstance(source, random.Random) else source.get_state()


def set_state(source, state):
    if isinstance(source, random.Random):
        source.setstate(state)
    else:
        source.set_state(state)
