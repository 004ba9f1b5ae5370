"""The emulator as one thing: drives, sign-in, push, faults and log behind one HTTP address."""

import asyncio
import json
import random
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.graph_emulator.clock import Clock
from tests.graph_emulator.drive import Drive, Refused
from tests.graph_emulator.faults import Fault, Faults
from tests.graph_emulator.graph import GraphService, Mounted
from tests.graph_emulator.http_server import HttpServer, Request, Response
from tests.graph_emulator.oauth import OAuth
from tests.graph_emulator.push import Push
from tests.graph_emulator.request_log import OUTSIDE, Entry, RequestLog, operation_of
from tests.graph_emulator.switches import Account, Switches

TOKEN = "emulator-token"
DRIVE_IDS = {Account.PERSONAL: "0BCDEF0123456789", Account.BUSINESS: "b!emulated-drive"}


@dataclass
class Emulator:
    """One account of Microsoft Graph on loopback. A context manager that serves from a thread of its own.

    Everything here may be used from the test's thread while requests run.

    Attributes:
        fixed_base: "https://graph.microsoft.com" style answers, whatever address a client used. For clients
            that cannot be told another host; contents and uploads get the hosts that the service uses.
    """

    account: Account = Account.PERSONAL
    drive_id: str = ""
    seed: int = 0
    switches: Switches = field(default_factory=Switches)
    clock: Clock = field(default_factory=Clock)
    fixed_base: bool = False
    refresh_token: str = "refresh-token"
    tls: ssl.SSLContext | None = None
    host: str = "127.0.0.1"
    port: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.rng = random.Random(self.seed)
        self.faults = Faults(self.clock)
        self.log = RequestLog()
        self.crashes: list[Exception] = []
        self.oauth = OAuth(self.clock, self.rng, {TOKEN}, {self.refresh_token})
        self.push = Push(self.clock, self.switches, self.rng)
        self.graph = GraphService(
            self.switches, self.push, self.rng, self._content_base, self._graph_base, self._upload_base
        )
        self.drive = self.add_drive(self.drive_id or DRIVE_IDS[self.account])
        self.drive_id = self.graph.mine = self.drive.drive_id
        self.content_port = 0
        self._server = HttpServer(self._handle, self.push.serve)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    # --- addresses -----------------------------------------------------------------------------------

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """For CLAUDE_MEMORY_GRAPH_URL."""
        return f"{self.origin}/v1.0"

    @property
    def environ(self) -> dict[str, str]:
        """What makes our own client use the emulator."""
        return {"CLAUDE_MEMORY_GRAPH_URL": self.url, "CLAUDE_MEMORY_GRAPH_TOKEN": TOKEN}

    def _graph_base(self, request: Request) -> str:
        return "https://graph.microsoft.com" if self.fixed_base else f"{request.scheme}://{request.host}"

    def _content_base(self, request: Request) -> str:
        if self.fixed_base:
            return "https://my.microsoftpersonalcontent.com"
        return f"{request.scheme}://{request.host.split(':')[0]}:{self.content_port}"

    def _upload_base(self, request: Request) -> str:
        return "https://up.1drv.com" if self.fixed_base else self._content_base(request)

    # --- for tests -----------------------------------------------------------------------------------

    def add_drive(self, drive_id: str, account: Account | None = None) -> Drive:
        """One more drive that this account can reach, such as a document library."""
        drive = Drive(drive_id, account or self.account, self.clock, self.switches, self.lock)
        self.graph.mount(drive)
        drive.on_change = self.push.notify
        return drive

    def mounted(self, drive: Drive | None = None) -> Mounted:
        """A drive and its delta feed."""
        wanted = (drive or self.drive).drive_id
        return next(m for m in self.graph.mounted.values() if m.drive.drive_id == wanted)

    def share(self, drive: Drive, path: str) -> str:
        """A sharing link for an item."""
        link = f"https://1drv.example/f/{len(self.graph.shares)}"
        self.graph.shares[link] = (drive.drive_id, drive.find(path).item_id)
        return link

    def fault(self, **fields: object) -> None:
        """Set a fault for the next requests; fields as in `Fault`."""
        with self.lock:
            self.faults.add(Fault(**fields))  # type: ignore[arg-type]

    @contextmanager
    def counting(self) -> Iterator[RequestLog]:
        """A fresh count of requests."""
        with self.lock:
            self.log.clear()
        yield self.log

    # --- serving -------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen, on the loop that runs."""
        self.port = await self._server.listen(self.host, self.port, self.tls)
        self.content_port = await self._server.listen(self.host, 0, self.tls)

    async def stop(self) -> None:
        """End all connections."""
        await self._server.close()

    def __enter__(self) -> Self:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()
        loop = self._loop

        def run() -> None:
            asyncio.set_event_loop(loop)
            loop.run_until_complete(self.start())
            started.set()
            loop.run_forever()
            loop.run_until_complete(self.stop())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

        self._thread = threading.Thread(target=run, name="graph-emulator", daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError("the emulator did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _handle(self, request: Request) -> Response:
        operation = operation_of(request)
        with self.lock:
            response = self._answer(request, operation)
            response.headers.setdefault("Date", self.clock.http_date())
            self.log.add(
                Entry(
                    operation,
                    request.method,
                    request.target,
                    request.host,
                    "authorization" in request.headers,
                    len(request.body),
                    0 if response.wire == "lose" else response.status,
                    self.clock.now(),
                )
            )
        return response

    def _answer(self, request: Request, operation: str) -> Response:
        if operation not in OUTSIDE and (refusal := self.faults.refusal()):
            return refusal
        fault = self.faults.next(operation, request.target)
        if fault is not None and not (fault.after or fault.status == 0):
            return fault.response(None)
        if fault is not None and fault.wire in ("lose", "stall") and not fault.after:
            return fault.response(None)
        real = self._serve(request)
        return real if fault is None else fault.response(real)

    def _serve(self, request: Request) -> Response:
        try:
            outside = self.graph.serve_outside(request)
            if outside is not None:
                return outside
            if "/v1.0" not in request.path:
                return self.oauth.serve(request)
            return self.graph.serve(request, self.oauth.scope_of(request.headers.get("authorization", "")))
        except Refused as refused:
            error: dict[str, object] = {"code": refused.code, "message": refused.message}
            error["innerError"] = {"date": self.clock.stamp(), "request-id": "emulated"}
            if refused.inner:
                error["innerError"] = {"code": refused.inner}
            return Response.of_json({"error": error}, refused.status)
        except (json.JSONDecodeError, UnicodeDecodeError):
            return Response.of_json({"error": {"code": "BadRequest", "message": "Malformed JSON"}}, 400)
        except Exception as error:  # a fault of the emulator itself: tests look at it when they end
            self.crashes.append(error)
            return Response.of_json({"error": {"code": "generalException", "message": repr(error)}}, 500)
