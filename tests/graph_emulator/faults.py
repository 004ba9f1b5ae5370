"""Faults: rules that a test sets, and chaos that a seed decides, the same for the same sequence of requests."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime

from tests.graph_emulator.clock import Clock
from tests.graph_emulator.http_server import Response

HTML = b"<!DOCTYPE html><html><head><title>Gateway</title></head><body>Please sign in to the network.</body></html>"


@dataclass
class Fault:
    """One fault.

    Attributes:
        operations: names of operations (see `operations.py`) it befalls; empty means every one.
        times: how often; negative for ever.
        skip: so many matching requests go well before.
        status, code, inner, headers, body: the answer; status 0 leaves the real one.
        html: the answer is a web page.
        after: the service does what was asked first; only the answer goes wrong.
        wire: what happens on the wire, as in `Response.wire`.
        delay: seconds before the answer.
    """

    operations: tuple[str, ...] = ()
    times: int = 1
    skip: int = 0
    status: int = 0
    code: str = "generalException"
    inner: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    html: bool = False
    after: bool = False
    wire: str = ""
    delay: float = 0.0

    def response(self, real: Response | None) -> Response:
        """The answer under this fault; `real` is what the service did, when it did it."""
        if not self.status:
            answer = real or Response()
            return replace(answer, wire=self.wire, delay=self.delay)
        if self.html:
            body, kind = HTML, "text/html; charset=utf-8"
        elif self.body is not None:
            body, kind = self.body, "application/json"
        else:
            error: dict[str, object] = {"code": self.code, "message": f"emulated {self.status}"}
            if self.inner:
                error["innerError"] = {"code": self.inner}
            body, kind = json.dumps({"error": error}).encode(), "application/json"
        return Response(self.status, body, {"Content-Type": kind, **self.headers}, self.wire, self.delay)


@dataclass
class Chaos:
    """Random faults. The same seed gives the same fault to the n-th request of one kind for one target.

    Attributes:
        rate: probability per request.
        operations: which operations; empty means every one of Graph.
    """

    seed: int
    rate: float
    kinds: tuple[str, ...] = ("429", "503", "504html", "500", "lose", "lose_after", "reset", "truncate", "401", "423")
    operations: tuple[str, ...] = ()
    counted: Counter[str] = field(default_factory=Counter)

    def draw(self, operation: str, target: str) -> Fault | None:
        """The fault of this request, or None."""
        if self.operations and operation not in self.operations:
            return None
        key = f"{operation} {target}"
        self.counted[key] += 1
        dice = random.Random(f"{self.seed} {key} {self.counted[key]}")
        if dice.random() >= self.rate:
            return None
        return _KINDS[dice.choice(self.kinds)]


_KINDS = {
    "429": Fault(status=429, code="activityLimitReached", headers={"Retry-After": "0"}),
    "503": Fault(status=503, code="serviceNotAvailable"),
    "504html": Fault(status=504, html=True),
    "500": Fault(status=500),
    "500after": Fault(status=500, after=True),
    "lose": Fault(wire="lose"),
    "lose_after": Fault(wire="lose", after=True),
    "reset": Fault(wire="reset", after=True),
    "truncate": Fault(wire="truncate", after=True),
    "401": Fault(status=401, code="InvalidAuthenticationToken"),
    "423": Fault(status=423, code="resourceLocked"),
}


class Faults:
    """What befalls the next requests."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rules: list[Fault] = []
        self.chaos: Chaos | None = None
        self.throttled_until = 0.0
        self._throttle = Response()
        self.sent_while_throttled = 0

    def add(self, fault: Fault) -> Fault:
        """Set a rule; earlier rules go first."""
        self._rules.append(replace(fault))
        return fault

    def clear(self) -> None:
        """Everything goes well again."""
        self._rules.clear()
        self.chaos = None
        self.throttled_until = 0.0

    def throttle(self, seconds: float, *, status: int = 429, as_date: bool = False) -> None:
        """From now on, for so long, every request of Graph is refused with Retry-After."""
        self.throttled_until = self._clock.now() + seconds
        after = str(int(seconds))
        if as_date:
            after = format_datetime(datetime.fromtimestamp(self.throttled_until, UTC), usegmt=True)
        fault = Fault(status=status, code="activityLimitReached", headers={"Retry-After": after})
        self._throttle = fault.response(None)
        self.sent_while_throttled = -1  # the first refusal is how the client learns of it

    def refusal(self) -> Response | None:
        """The answer while throttled."""
        if self._clock.now() >= self.throttled_until:
            return None
        self.sent_while_throttled += 1
        return self._throttle

    def next(self, operation: str, target: str) -> Fault | None:
        """The fault of this request, or None."""
        for rule in self._rules:
            if rule.operations and operation not in rule.operations:
                continue
            if rule.skip > 0:
                rule.skip -= 1
                continue
            if rule.times == 0:
                continue
            rule.times -= 1
            return rule
        return self.chaos.draw(operation, target) if self.chaos else None


def lost(operations: Iterable[str], times: int = 1) -> Fault:
    """The service does it and the answer is lost: the client cannot know."""
    return Fault(tuple(operations), times=times, after=True, wire="lose")
