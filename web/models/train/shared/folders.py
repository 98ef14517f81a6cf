"""The places of what training reads and writes."""
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
MODELS = ROOT / "web/models"
GOLDEN = ROOT / "tests/golden/built_in"


def build(name):
    """The folder, outside of git, in which the training of this model keeps what it can use again."""
    folder = ROOT / "build/train" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
