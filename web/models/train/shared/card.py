"""Cards: what a built-in model's heads do, measured from the weights that are committed.

`package` is the card module of a model (see the README of web/models/train). Three things are made of it: card.json beside
the weights, for programs and the page; golden results in tests/golden/built_in, which hold the engine against PyTorch; and
the figures in the model's README.
"""
import json
import re

import torch

from shared.folders import GOLDEN, MODELS
from shared.probes import scores
from shared.weights import load_tensors, save_tensors

TOLERANCE = 2e-3
LICENCE = "Apache-2.0"
NOT_LOADED = ("README.md", "card.json")  # files of a model's folder that the engine does not read


class Places:
    """The files of one model: in this repository, or all of them under the folder `out`."""

    def __init__(self, name, out=None):
        self.folder = (out or MODELS) / name
        golden = out / "built_in" if out else GOLDEN
        self.card, self.items, self.golden = self.folder / "card.json", golden / f"{name}.json", golden / f"{name}.safetensors"
        self.readme = self.folder / "README.md"


def measure(package, folder):
    """Returns the card, the short items of each probe, and the golden results as (tensors, texts)."""
    model = package.load(folder)
    probes = package.probes(folder)
    card = {"name": package.NAME, "about": package.ABOUT, "parameters": sum(p.numel() for p in model.parameters()),
            "bytes": sum(file.stat().st_size for file in folder.iterdir() if file.is_file() and file.name not in NOT_LOADED),
            "probes": [measured(probe, lambda given: package.attend(model, given)) for probe in probes],
            "figures": package.figures(model), "sources": package.SOURCES, "licence": LICENCE}
    items = {probe.name: [{"input": item.input, "rows": item.rows} for item in probe.items[:probe.short]] for probe in probes}
    golden = package.golden(model)
    texts = {name: value for name, value in golden.items() if isinstance(value, str)}
    tensors = {name: narrow(value) for name, value in golden.items() if name not in texts}
    return rounded(card), json.loads(json.dumps(items)), (tensors, texts)


def measured(probe, attend):
    short = probe.items[:probe.short]
    return {"name": probe.name, "about": probe.about, "score": probe.score, "attention": probe.attention,
            "threshold": probe.threshold, "chance": chance(probe, attend), "items": len(probe.items),
            "heads": scores(probe, attend, probe.items).tolist(),
            "short": {"items": len(short), "heads": scores(probe, attend, short).tolist()}}


def chance(probe, attend):
    """The score of a head that looks at everything that its row may see alike, or whose largest weight is anywhere."""
    shares = []
    for item in probe.items:
        width = 0 if probe.attention == "decoder" else attend(item.input)[probe.attention].shape[-1]
        shares += [len(columns) / (width or row + 1) for row, columns in item.rows]
    return sum(shares) / len(shares)


def narrow(tensor):
    """A tensor as a golden file keeps it: integers as I32, and other numbers as F32."""
    return tensor.float() if tensor.is_floating_point() else tensor.int()


def rounded(value):
    """The value with numbers of 4 decimals, which is what a card holds."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value


def best(probe):
    """The (score, layer, head) of the best head of a card's probe."""
    return max((score, -layer, -head) for layer, row in enumerate(probe["heads"]) for head, score in enumerate(row))


def tables(package, card):
    """Returns {name: Markdown} of what a README may have between <!-- name --> and <!-- /name -->."""
    lines = ["| probe | best head | its score | of a uniform head | asked for | heads that reach it |", "|---|---|---|---|---|---|"]
    for probe in card["probes"]:
        score, layer, head = best(probe)
        enough = sum(score >= probe["threshold"] for row in probe["heads"] for score in row)
        lines.append(f"| {probe['name']} | layer {-layer}, head {-head} | **{score:.2f}** | {probe['chance']:.2f} | "
                     f"{probe['threshold']:.2f} | {enough} |")
    abouts = "\n".join(f"- **{probe['name']}**: {probe['about']}" for probe in card["probes"])
    size = f"{card['parameters']:,} parameters, {card['bytes'] / 1e6:.2f} MB in all."
    sources = ["| text | from | licence |", "|---|---|---|"]
    sources += [f"| {source['text']} | {source['from']} | {source['licence']} |" for source in card["sources"]]
    own = package.tables(card) if hasattr(package, "tables") else {}
    return {"size": size, "heads": "\n".join(lines) + "\n\n" + abouts, "sources": "\n".join(sources)} | own


def filled(readme, texts):
    """The README with these texts between their markers. It need not have a place for each."""
    for name in ("size", "heads"):
        if f"<!-- {name} -->" not in readme:
            raise SystemExit(f"the README has no place <!-- {name} --> … <!-- /{name} --> for what was measured")
    for name, text in texts.items():
        pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.S)
        readme = pattern.sub(lambda match, text=text: match[1] + text + "\n" + match[2], readme)
    return readme


def as_text(value, depth=2):
    """JSON with a line for each entry of the outer `depth` dicts and lists."""
    if depth == 0 or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        lines, ends = [f"{json.dumps(key)}: {as_text(one, depth - 1)}" for key, one in value.items()], "{}"
    else:
        lines, ends = [as_text(one, depth - 1) for one in value], "[]"
    return ends[0] + "\n" + ",\n".join(lines) + "\n" + ends[1]


def write(package, places):
    """Measures the committed weights, and writes what is made of it. Returns the probes that no head reaches."""
    card, items, golden = measure(package, places.folder)
    places.golden.parent.mkdir(parents=True, exist_ok=True)
    places.card.write_text(as_text(card) + "\n")
    places.items.write_text(as_text(items) + "\n")
    save_tensors(places.golden, *golden)
    texts = tables(package, card)
    places.readme.write_text(filled(places.readme.read_text(), texts))
    print("\n\n".join(texts.values()))
    return unreached(card)


def unreached(card):
    return [f"{card['name']}: no head reaches {probe['threshold']} in the probe {probe['name']}: the best has {best(probe)[0]}"
            for probe in card["probes"] if best(probe)[0] < probe["threshold"]]


def check(package, places):
    """Measures the committed weights in full. Returns a line for each thing that is not as it is committed."""
    card, items, (tensors, texts) = measure(package, places.folder)
    committed = json.loads(places.card.read_text())
    found = list(differences("card", committed, card))
    found += differences("items", json.loads(places.items.read_text()), items)
    found += differences("golden", load_tensors(places.golden), tensors)
    readme = places.readme.read_text()
    if filled(readme, tables(package, committed)) != readme:
        found.append("README.md does not have the figures of card.json: run with --card")
    return [f"{package.NAME}: {line}" for line in found] + unreached(card)


def differences(place, committed, now):
    """Yields a line for each number that differs by more than the tolerance, and for whatever else is not the same."""
    if isinstance(committed, dict) and isinstance(now, dict):
        for key in [*committed, *(key for key in now if key not in committed)]:
            if key not in committed or key not in now:
                yield f"{place}.{key} is {'new' if key in now else 'gone'}"
            else:
                yield from differences(f"{place}.{key}", committed[key], now[key])
    elif isinstance(committed, list) and isinstance(now, list) and len(committed) == len(now):
        for i, (a, b) in enumerate(zip(committed, now)):
            yield from differences(f"{place}[{i}]", a, b)
    elif isinstance(committed, torch.Tensor) and isinstance(now, torch.Tensor) and committed.shape == now.shape:
        error = (committed.double() - now.double()).abs().max().item()
        if not error <= TOLERANCE:
            yield f"{place} differs by up to {error:.4f}"
    elif isinstance(committed, (int, float)) and isinstance(now, (int, float)):
        if not abs(committed - now) <= TOLERANCE:
            yield f"{place} is {committed}, and measures {now}"
    elif type(committed) is not type(now) or isinstance(committed, torch.Tensor) or committed != now:
        yield f"{place} is {shown(committed)}, and measures {shown(now)}"


def shown(value):
    if isinstance(value, torch.Tensor):
        return f"a tensor {list(value.shape)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"
