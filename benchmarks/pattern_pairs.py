"""When two descriptions mean one pattern: `python -m benchmarks.pattern_pairs`.

Prints, for each threshold, how many rewordings are taken for the same pattern and how many near misses are.
"""

import json
from pathlib import Path

from benchmarks.devices import report
from memory_cache.pattern_similarity import SAME_PATTERN, Profile, similarity

PAIRS = Path(__file__).with_name("pattern_pairs.json")


def main() -> None:
    """Measure and report."""
    pairs = json.loads(PAIRS.read_text("utf-8"))
    scores = {
        kind: [similarity(Profile.of(first), Profile.of(second)) for first, second in pairs[kind]]
        for kind in ("same", "different")
    }
    rows, figures = [], {}
    for threshold in (0.45, 0.5, 0.55, 0.6, 0.65, 0.7):
        found, mistaken = (
            sum(score >= threshold for score in scores[kind]) / len(scores[kind]) for kind in ("same", "different")
        )
        mark = "   (in use)" if threshold == SAME_PATTERN else ""
        rows.append(
            (f"from {threshold:.2f}", f"rewordings found {found:6.1%}   near misses taken {mistaken:6.1%}{mark}")
        )
        figures[str(threshold)] = {"found": found, "mistaken": mistaken}
    report("pattern_pairs", rows, {"pairs": {kind: len(scores[kind]) for kind in scores}, "thresholds": figures})


if __name__ == "__main__":
    main()
