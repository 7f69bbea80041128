"""A worker that speaks the link's protocol and does nothing: for tests of the supervisor alone.

Its commands do what a test wants of a worker: answer, stay silent, be busy, say events, die.
`python -m tests.supervisor.standin` is a supervisor whose workers these are.
"""

import gc
import json
import os
import signal
import socket
import time
from multiprocessing import forkserver, resource_tracker
from typing import Any

import anyio
from anyio.abc import TaskGroup

from eukhed.build import PROTOCOL, SCHEMA, VERSION
from eukhed.errors import Broken, ConnectionLost, Corrupt
from eukhed.host.clock import SystemClock
from eukhed.host.process import SystemProcesses
from eukhed.paths import Places
from eukhed.wire.codec import decode, encode
from eukhed.wire.envelope import read, write
from eukhed.wire.messages import Command, Event, Failure, Hello, Response, WorkerSpec
from eukhed.wire.network import Channel, DescriptorChannel
from eukhed.wire.sockets import SocketNetwork


class Worker:
    def __init__(self, spec: WorkerSpec, network: SocketNetwork) -> None:
        self.spec, self.network = spec, network
        self.places = Places(spec.root, spec.runtime, spec.socket)
        self.own = SystemProcesses(SystemClock()).own()
        self.generation = spec.generation
        self.channel: Channel | None = None
        self.work: list[dict[str, Any]] = []
        self.closed_for: int | None = None
        self.reopens = False
        self.handed: dict[str, tuple[int, ...]] = {}
        self.sequence = 0
        self.followers: set[int] = set()
        self.counted = 0
        self.over = anyio.Event()

    def hello(self) -> bytes:
        build = os.environ.get("STANDIN_BUILD", self.spec.build)
        frozen = ["frozen"] if gc.get_freeze_count() else []
        own = self.own
        return write(
            Hello(
                PROTOCOL, SCHEMA, VERSION, build, self.generation, own.pid, list(own), frozen, 0,
                self.spec.root, self.spec.instance,
            )
        )  # fmt: skip

    def state(self) -> dict[str, Any]:
        return {
            "worker": self.spec.worker, "session": self.spec.session, "name": f"n-{self.spec.session[-4:]}",
            "instance": self.spec.instance, "sequence": self.sequence, "work": self.work, "waiting": [],
        }  # fmt: skip

    def say(self, name: str, body: dict[str, Any], client: int = 0) -> None:
        if self.channel is not None:
            self.channel.send_soon(write(Event(name, encode(body), self.spec.session, client)))

    def set_work(self, *, busy: bool) -> None:
        self.work = [{"kind": "run", "run": 1}] if busy else []
        line = {
            "session": self.spec.session, "busy": busy, "operation": "run", "recordedAt": time.time_ns() // 10**6
        }  # fmt: skip
        with open(self.places.recovery_journal(self.spec.worker), "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.say("work", self.state())

    async def listen(self, tasks: TaskGroup) -> None:
        frames = await self.network.listen(self.places.worker_socket(self.spec.worker))
        fds = await self.network.listen_descriptors(self.places.worker_descriptors_socket(self.spec.worker))
        tasks.start_soon(self._accept, frames, tasks)
        tasks.start_soon(self._accept_descriptors, fds, tasks)

    async def _accept(self, listener: Any, tasks: TaskGroup) -> None:
        while True:
            try:
                await self._greet(await listener.accept(), tasks)
            except ConnectionLost:
                continue

    async def _greet(self, channel: Channel, tasks: TaskGroup) -> None:
        await channel.send(self.hello())
        command = read(await channel.receive())
        assert isinstance(command, Command)
        assert command.type == "authenticate"
        told = decode(command.body)
        if told["token"] != self.spec.token or told["generation"] < self.generation:
            refused = Broken("wrong token or generation").as_wire()
            await channel.send(write(Failure(command.id, refused, command.client)))
            return
        self.generation = told["generation"]
        self.channel = channel
        await channel.send(write(Response(command.id, encode(self.state()), command.client)))
        tasks.start_soon(self.serve, channel, tasks)

    async def _accept_descriptors(self, listener: Any, tasks: TaskGroup) -> None:
        while True:
            channel = await listener.accept()
            tasks.start_soon(self.take_descriptors, channel)

    async def take_descriptors(self, channel: DescriptorChannel) -> None:
        try:
            while True:
                message = await channel.receive()
                if message.descriptors:  # the first one of a remade link says who it is
                    self.handed[decode(message.data)["command_id"]] = tuple(message.descriptors)
        except ConnectionLost:
            channel.close()

    async def serve(self, channel: Channel, tasks: TaskGroup) -> None:
        try:
            while True:
                command = read(await channel.receive())
                assert isinstance(command, Command)
                tasks.start_soon(self._answer, channel, command)
        except ConnectionLost:
            if self.channel is channel:
                self.channel = None
                tasks.start_soon(self._look)

    async def _look(self) -> None:
        """Register with whatever supervisor comes; it then connects to us."""
        while self.channel is None:
            try:
                channel = await self.network.connect(self.spec.socket)
                await channel.receive()
                body = {
                    "worker": self.spec.worker, "token": self.spec.token, "instance": self.spec.instance,
                    "identity": list(self.own), "session": self.spec.session,
                    "socket": self.places.worker_socket(self.spec.worker),
                }  # fmt: skip
                await channel.send(write(Command(1, "register", encode(body))))
                await channel.receive()
                channel.close()
            except ConnectionLost:
                pass
            await anyio.sleep(0.2)

    async def _answer(self, channel: Channel, command: Command) -> None:
        body = decode(command.body)
        answer = await getattr(self, f"do_{command.type}")(body, command)
        if command.id and answer is not None:
            channel.send_soon(write(Response(command.id, encode(answer), command.client)))

    async def do_client_gone(self, body: Any, command: Command) -> None:
        self.followers.discard(body["client"])

    async def do_echo(self, body: Any, command: Command) -> dict[str, Any]:
        return {"echo": body, "pid": os.getpid(), "client": command.client}

    async def do_count(self, body: Any, command: Command) -> dict[str, Any]:
        self.counted += 1
        return {"counted": self.counted}

    async def do_hold(self, body: Any, command: Command) -> None:
        await anyio.sleep_forever()

    async def do_busy(self, body: Any, command: Command) -> dict[str, Any]:
        self.set_work(busy=body["busy"])
        return {}

    async def do_die(self, body: Any, command: Command) -> None:
        if "exit" in body:
            os._exit(body["exit"])
        os.kill(os.getpid(), body["signal"])

    async def do_hang_up(self, body: Any, command: Command) -> None:
        assert self.channel is not None
        self.channel.close()

    async def do_attach(self, body: Any, command: Command) -> dict[str, Any]:
        return {"attached": True}

    async def do_emit(self, body: Any, command: Command) -> dict[str, Any]:
        for _ in range(body["count"]):
            self.sequence += 1
            event = Event("tick", encode({"n": self.sequence}), self.spec.session, None, self.sequence)
            assert self.channel is not None
            self.channel.send_soon(write(event))
        return {}

    async def do_read_handed(self, body: Any, command: Command) -> dict[str, Any]:
        assert command.command_id is not None
        with anyio.fail_after(5):
            while command.command_id not in self.handed:  # noqa: ASYNC110 - a stand-in may be plain
                await anyio.sleep(0.01)
        (descriptor,) = self.handed.pop(command.command_id)
        with os.fdopen(descriptor, "rb") as file:
            return {"data": file.read()}

    async def do_quiesce(self, body: Any, command: Command) -> dict[str, Any]:
        if self.work:
            return {"idle": False, "work": self.work}
        self.closed_for = None if self.reopens else body["quiesce"]
        return {"idle": True, "work": []}

    async def do_release(self, body: Any, command: Command) -> None:
        self.closed_for = None

    async def do_reopen_at_once(self, body: Any, command: Command) -> dict[str, Any]:
        self.reopens = True
        return {}

    async def do_leave(self, body: Any, command: Command) -> dict[str, Any]:
        if body["mode"] == "idle" and body["quiesce"] != self.closed_for:
            return {"reopened": True}
        if body["mode"] == "force":
            self.set_work(busy=False)
        self.over.set()
        return {"stopping": True}


def main(link: socket.socket, descriptors: socket.socket) -> None:
    os.setsid()
    for owner, name in (
        (forkserver._forkserver, "_forkserver_alive_fd"),
        (resource_tracker._resource_tracker, "_fd"),
    ):
        os.close(getattr(owner, name))
        setattr(owner, name, None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    anyio.run(_run, link, descriptors)
    os._exit(0)


async def _run(link: socket.socket, descriptors: socket.socket) -> None:
    network = SocketNetwork(SystemClock())
    channel, fds = await network.adopt(link), network.adopt_descriptors(descriptors)
    try:
        worker = Worker(WorkerSpec(**decode(await channel.receive())), network)
        await channel.send(worker.hello())
        begin = read(await channel.receive())
    except ConnectionLost:
        return
    assert isinstance(begin, Command)
    path = worker.places.storage(worker.spec.session)
    worker.channel = channel
    names = os.listdir(path)
    if "corrupt" in names:
        worker.say("failed", {"error": Corrupt("main.jsonl", 3, "is no JSON").as_wire()})
        channel.close()
        await channel.wait_closed()
        os._exit(1)
    if "crash" in names:
        os._exit(7)
    async with anyio.create_task_group() as tasks:
        await worker.listen(tasks)
        worker.say("ready", worker.state())
        tasks.start_soon(worker.serve, channel, tasks)
        tasks.start_soon(worker.take_descriptors, fds)
        await worker.over.wait()
        await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
