"""Runs many seeds: `python -m tests.simulation --seeds 0-2000 --profile all`."""

import argparse
import multiprocessing
import sys
import time

from tests.simulation.profiles import PROFILES
from tests.simulation.script import draw
from tests.simulation.shrink import shrunk
from tests.simulation.world import run


def _one(task: tuple[str, int]) -> tuple[str, int, str | None]:
    profile, seed = task
    try:
        return profile, seed, run(draw(profile, seed)).violation
    except Exception as error:
        return profile, seed, f"crash: {error!r}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", default="0-200", help="first-last (the last one excluded), or one seed")
    parser.add_argument("--profile", default="all", help=f"all, or one of: {', '.join(PROFILES)}")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--trace", action="store_true", help="print what happened (one seed)")
    parser.add_argument("--shrink", action="store_true", help="print the shortest script that fails alike")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last) if last else int(first) + 1)
    profiles = list(PROFILES) if options.profile == "all" else [options.profile]
    if options.trace or options.shrink:
        return _closely(profiles[0], seeds[0], shrink=options.shrink)
    failed = 0
    with multiprocessing.Pool(options.jobs) as pool:
        for profile in profiles:
            began = time.perf_counter()
            bad = [(s, v) for _, s, v in pool.imap(_one, [(profile, seed) for seed in seeds], chunksize=8) if v]
            took = time.perf_counter() - began
            failed += len(bad)
            print(f"{profile:15} {len(seeds):6} seeds  {len(bad):4} violations  {len(seeds) / took:6.1f} seeds/s")
            for seed, violation in bad[:10]:
                print(f"    seed {seed}: {violation[:300]}")
    return 1 if failed else 0


def _closely(profile: str, seed: int, *, shrink: bool) -> int:
    script = draw(profile, seed)
    if shrink:
        script = shrunk(script)
        print(script.source())
    result = run(script)
    print("\n".join(result.trace))
    print(result.violation or f"holds; at rest after {result.rounds_to_rest} rounds")
    return 1 if result.violation else 0


if __name__ == "__main__":
    sys.exit(main())
