"""Runs many seeds: `python -m tests.simulation --seeds 0-2000 --profile all`."""

import argparse
import multiprocessing
import sys
import time
from contextlib import suppress

from tests.simulation.profiles import PROFILES
from tests.simulation.script import draw
from tests.simulation.shrink import shrunk
from tests.simulation.world import run

_SLICE = 250


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
    return _many(profiles, seeds, options.jobs)


def _many(profiles: list[str], seeds: range, jobs: int) -> int:
    """Every profile over a slice of the seeds, then over the next: a run that was ended goes on at a later seed."""
    began = time.perf_counter()
    violations: dict[str, list[tuple[int, str]]] = {profile: [] for profile in profiles}
    seconds = dict.fromkeys(profiles, 0.0)
    done = 0
    with multiprocessing.Pool(jobs) as pool, suppress(KeyboardInterrupt):
        for start in range(0, len(seeds), _SLICE):
            part = seeds[start : start + _SLICE]
            for profile in profiles:
                since = time.perf_counter()
                for _, seed, violation in pool.imap(_one, [(profile, seed) for seed in part], chunksize=8):
                    if violation:
                        violations[profile].append((seed, violation))
                        print(f"{profile}, seed {seed}: {violation[:300]}", flush=True)
                seconds[profile] += time.perf_counter() - since
            done += len(part)
            took = time.perf_counter() - began
            print(f"seeds {seeds[0]}-{part[-1] + 1} of every profile done, {took:.0f} s", file=sys.stderr, flush=True)
    for profile in profiles:
        bad = violations[profile]
        pace = done / seconds[profile] if done else 0.0
        print(f"{profile:15} {done:6} seeds  {len(bad):4} violations  {pace:6.1f} seeds/s")
    failed = sum(map(len, violations.values()))
    took = time.perf_counter() - began
    print(f"{'total':15} {done * len(profiles):6} seeds  {failed:4} violations  {took:6.0f} s")
    return 1 if failed or done < len(seeds) else 0


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
