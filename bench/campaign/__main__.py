"""Do predictions hold, does the plan choose well, and is Liquid's claim met?

python -m bench.campaign [--part data,prediction,choice,sluice,liquid,margin,million] [--setting cityscapes-60,…]
                         [--work DIR] [--files 5000] [--seconds 10] [--repeats 5] [--record]

Needs a quiet machine, root (control groups throttle the disk), and about 12 GB in the work folder. Everything that was
found is kept there: a campaign that was stopped goes on when it is started again with the same options, and starts over
when its `profile.json` files are removed. `data` copies and builds, and is the only part that may run on a machine that
is not quiet; the others do what is missing. On two cores: data 4 minutes, profiles 1, prediction 13, choice 28 (half of
it for either dataset: `--setting imagenet`), sluice 5, liquid 5, margin 2, million 0.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path

from bench.campaign import choice, liquid, margin, million, prediction, sluice_gain
from bench.campaign.data import Data
from bench.campaign.log import Log
from bench.campaign.settings import CORPORA, Setting, chosen

PARTS = ("data", "prediction", "choice", "sluice", "liquid", "margin", "million")
ROOT = Path(__file__).parents[2]


def main() -> None:
    """Run the parts that were asked for; exit 1 if a target was missed."""
    parser = argparse.ArgumentParser(description="Do predictions hold, and does the plan choose well?")
    parser.add_argument("--part", default=",".join(PARTS), help=f"Parts, among {', '.join(PARTS)}.")
    parser.add_argument("--setting", default="", help="Names, or beginnings of names, separated by commas.")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "penstock-campaign")
    parser.add_argument("--files", type=int, default=5000, help="Number of distinct files of a dataset.")
    parser.add_argument("--seconds", type=float, default=10.0, help="Seconds of a window that is judged.")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--rivals", type=Path, default=ROOT.parent / "rivals", help="Folder with the environments of rivals."
    )
    parser.add_argument("--record", action="store_true", help="Append the results to bench/results/campaign.jsonl.")
    options = parser.parse_args()
    parts = options.part.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    options.work.mkdir(parents=True, exist_ok=True)
    settings = chosen(options.setting)
    began = time.monotonic()
    wanted = {setting.corpus.name for setting in settings}
    data = {name: Data(corpus, options.work, options.files) for name, corpus in CORPORA.items() if name in wanted}
    for name, mine in data.items():
        print(f"{name}: {options.files} files", flush=True)
        mine.prepare()
    if parts == ["data"]:
        return
    for mine in data.values():
        mine.profile()
    log = Log(options.work / f"log-{options.files}-{_digest(data)}.jsonl", record=options.record)
    met = {part: _run(part, settings, data, log, options) for part in PARTS[1:] if part in parts}
    print(f"took {(time.monotonic() - began) / 60:.1f} minutes")
    for part, is_met in met.items():
        print(f"{part}: {'met' if is_met else 'MISSED'}")
    sys.exit(not all(met.values()))


def _digest(data: dict[str, Data]) -> str:
    """Return a digest of the profiles, so that findings about other predictions are not reused."""
    profiles = [one.profile_path.read_bytes() for one in data.values()]
    return blake2b(b"".join(profiles), digest_size=4).hexdigest()


def _run(part: str, settings: list[Setting], data: dict[str, Data], log: Log, options: argparse.Namespace) -> bool:
    print(f"--- {part}", flush=True)
    if part == "prediction":
        return prediction.run(settings, data, log, seconds=options.seconds, repeats=options.repeats)
    if part == "choice":
        return choice.run(settings, data, log, seconds=0.25 * options.seconds, repeats=options.repeats)
    if part == "sluice":
        return sluice_gain.run(settings, data, log, seconds=options.seconds / 2, repeats=options.repeats)
    names = {setting.corpus.name for setting in settings}
    mine = [data[name] for name in data if name in names]
    if part == "liquid":
        return liquid.run(mine, log, options.rivals, seconds=options.seconds / 2, repeats=options.repeats)
    if part == "margin":
        return margin.run(mine, log, seconds=options.seconds / 2, repeats=options.repeats)
    return million.run(mine, log)


if __name__ == "__main__":
    main()
