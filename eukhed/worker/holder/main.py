"""The holder's loop: behind its gate, then beside its command, until the command has ended.

gated     only the worker that made it is heard; its end is ours, and nothing was started
waiting   gated for a run that waits for others: workers come and go, and what it is handed is kept
running   workers come and go; output is copied where it must be, input is fed, the cap is kept
ended     the status is on the disk; a stop goes on until nothing below is left; then we leave
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # unknown to typeshed; signal.py builds enums, 5 ms a start
import _socket
import ctypes
import os
import select
import time

from eukhed.worker.holder.command import NotStarted, start, start_ticks
from eukhed.worker.holder.descendants import living, signal_all
from eukhed.worker.holder.input import Input
from eukhed.worker.holder.outputs import Outputs, now_ms
from eukhed.worker.holder.peers import Listener, Peer
from eukhed.worker.holder.place import Place, as_json
from eukhed.worker.holder.streams import NO_ROOM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eukhed.worker.holder.place import Plan

SET_CHILD_SUBREAPER = 36
STOP_LOOK_MS = 20
KILL_PATIENCE_MS = 5000
FULL_DISK_PAUSE_S = 1
PEERS_MAX = 16
HEARD = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM, _signal.SIGUSR1, _signal.SIGUSR2)


class Holder:
    """One command and what it needs. One task, one loop; all state is here."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.place = Place(plan["directory"])
        self.peers = [Peer(_socket.socket(fileno=plan["channel"]))]  # the newest is the last, and drives
        self.wakeups, wakeups_in = os.pipe()
        for fd in (self.wakeups, wakeups_in):
            os.set_blocking(fd, False)
        _signal.set_wakeup_fd(wakeups_in, warn_on_full_buffer=False)
        for number in (*HEARD, _signal.SIGCHLD):
            _signal.signal(number, lambda *_: None)  # a handler, for what is ignored is inherited
        ctypes.CDLL(None, use_errno=True).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.listener = Listener(self.place)
        self.outputs = Outputs(plan, self.place)
        self.input = Input(plan, self.outputs)
        self.poll = select.poll()
        self.watched: dict[int, int] = {}
        self.pid = 0
        self.started: bytes = b""
        self.status: bytes = b""
        self.stopping = False
        self.kill_at = 0  # of the stop that is under way

    # behind the gate

    def gate(self) -> bool:
        """Wait for the word to go. False when the channel closed first.

        Then nothing is written: another holder may be made for the same run, in the same directory, and
        what this one said would be taken for the end of that one's command.
        """
        peer = self.peers[0]
        peer.sock.setblocking(True)
        while message := peer.receive():
            if message == b"g":
                peer.sock.setblocking(False)
                return True
            if message == b"q":
                peer.sock.setblocking(False)
                return self._stay() if peer.send(message) else False
            if not self._obey(peer, message):  # what is typed early is for the command, once it is there
                break
        return False

    def _stay(self) -> bool:
        """The same for a run that waits for others, however long: False when a worker says that it never starts."""
        while True:
            waits = select.poll()
            for fd in (self.wakeups, self.listener.fd, *(peer.fd for peer in self.peers)):
                waits.register(fd, select.POLLIN)
            for fd, _ in waits.poll():
                peer = next((peer for peer in self.peers if peer.fd == fd), None)
                if peer is None:
                    self._ready(fd, 0)
                    continue
                while (message := peer.receive()) is not None:
                    if message in {b"g", b"x"}:
                        return message == b"g"
                    if not message or not self._obey(peer, message):
                        self._lose(peer)
                        break

    def start(self) -> bool:
        """Execute the command and tell what became of it."""
        try:
            streams = (self.input.child_fd, *self.outputs.child_fds())
            self.pid, notes = start(self.plan, self.place, streams, self.outputs.slave)
        except NotStarted as why:
            self._write_status({"error": why.message, "exit": why.status})
            told = {"errno": why.number, "error": why.message, "exit": why.status}
            self._tell(b"f" + as_json(told).encode())
            return False
        self.outputs.started()
        self.input.started()
        facts = {"pid": self.pid, "start": start_ticks(self.pid), "notes": notes}
        self.started = b"s" + as_json(facts).encode()
        self._tell(self.started)
        return True

    # beside the command

    def run(self) -> None:
        """Serve until the command has ended and, after a stop, until nothing is left of it."""
        self._watch()
        while not self._over():
            for fd, events in self.poll.poll(self._wait_ms()):
                self._ready(fd, events)
            self.outputs.tick()
            if self.stopping:
                self._go_on_stopping()
            elif not self.peers and not self.plan["survive"] and not self.status:
                self._stop(_signal.SIGTERM, self.plan["grace_ms"])
            self._watch()

    def _over(self) -> bool:
        """Whether there is nothing more to do; a stop that came with the end is still obeyed."""
        if self.status and not self.stopping:
            for peer in list(self.peers):
                self._hear(peer)
        return bool(self.status) and not self.stopping

    def _watch(self) -> None:
        """Poll for what can make progress now, and only for that."""
        wanted = dict.fromkeys(
            (self.wakeups, self.listener.fd, *(peer.fd for peer in self.peers)), select.POLLIN
        )
        if not self.status:
            wanted |= self.outputs.watched()
            for fd, events in self.input.watched().items():
                wanted[fd] = wanted.get(fd, 0) | events
        if wanted != self.watched:
            self.watched = wanted
            self.poll = select.poll()
            for fd, events in wanted.items():
                self.poll.register(fd, events)

    def _wait_ms(self) -> int | None:
        if self.stopping:
            return STOP_LOOK_MS
        return self.outputs.wait_ms(now_ms())

    def _ready(self, fd: int, events: int) -> None:
        if fd == self.wakeups:
            os.read(fd, 4096)
            self._reap()
        elif fd == self.listener.fd:
            self._accept()
        elif peer := next((peer for peer in self.peers if peer.fd == fd), None):
            if peer.settle():
                self._hear(peer)
            else:
                self._lose(peer)
        else:
            self.outputs.ready(fd)
            if events & (select.POLLOUT | select.POLLERR):
                self._feed()
            if events & select.POLLERR:
                self.input.broken()

    def _feed(self) -> None:
        self.input.feed_it()
        for peer in list(self.peers):
            if not peer.settle():
                self._lose(peer)

    def _accept(self) -> None:
        if not (peer := self.listener.accept()):
            return
        if len(self.peers) >= PEERS_MAX:
            self._lose(self.peers[0])
        self.peers.append(peer)
        for message in (self.started, self.status):
            if message and not peer.send(message):
                self._lose(peer)
                return

    def _lose(self, peer: Peer) -> None:
        self.peers.remove(peer)
        peer.close()

    def _hear(self, peer: Peer) -> None:
        while (message := peer.receive()) is not None:
            if not message:
                self._lose(peer)
                return
            if peer is self.peers[-1] and not self._obey(peer, message):
                self._lose(peer)
                return

    def _obey(self, peer: Peer, message: bytes) -> bool:
        """Do what the driving worker asks; False when it does not keep to the protocol."""
        kind, body = message[:1], message[1:]
        if kind == b"i":
            return self.input.put(peer, body)
        if kind == b"z":
            self.input.end()
        elif kind in {b"w", b"r"}:
            self._resize(message)
        elif kind == b"l":
            self.outputs.look_now()
        elif kind == b"k":
            number, grace_ms = body.split()
            self._stop(int(number), int(grace_ms))
        return True

    def _resize(self, message: bytes) -> None:
        rows, columns = message[1:].split()
        self.outputs.resize(int(rows), int(columns), now_ms() if message[:1] == b"r" else None)

    def _tell(self, message: bytes) -> None:
        for peer in list(self.peers):
            if not peer.send(message):
                self._lose(peer)

    # the end

    def _reap(self) -> None:
        """Bury orphans; the command itself only when all that it wrote was read."""
        while found := self._dead_child():
            if found == self.pid:
                self._command_ended()
            else:
                os.waitpid(found, 0)

    def _dead_child(self) -> int:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return 0
        return found.si_pid if found else 0

    def _command_ended(self) -> None:
        self.outputs.drain()
        _, code = os.waitpid(self.pid, 0)
        self.pid = 0
        if os.WIFSIGNALED(code):
            self._write_status({"signal": os.WTERMSIG(code)})
        else:
            self._write_status({"exit": os.WEXITSTATUS(code)})
        self._tell(self.status)

    def _write_status(self, facts: dict[str, object]) -> None:
        facts = {"exit": None, "signal": None, "error": None} | facts
        facts |= {"ended_ms": time.time_ns() // 1_000_000}
        facts |= {"sizes": self.outputs.sizes(), "dropped": self.outputs.dropped()}
        while not self._written(facts):
            time.sleep(FULL_DISK_PAUSE_S)  # nothing is left to serve; what is known must not be lost
        self.status = b"e" + as_json(facts).encode()

    def _written(self, facts: dict[str, object]) -> bool:
        try:
            self.outputs.flush()  # a status that outlives a power loss tells of output that does
            self.place.write("status", facts)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            return False
        return True

    # a stop

    def _stop(self, number: int, grace_ms: int) -> None:
        kill_at = now_ms() + grace_ms
        self.kill_at = min(self.kill_at, kill_at) if self.stopping else kill_at
        self.stopping = True
        signal_all(number, self._group())
        signal_all(_signal.SIGCONT, self._group())  # who is stopped cannot end in peace

    def _go_on_stopping(self) -> None:
        self._reap()
        late_ms = now_ms() - self.kill_at
        left = len(living()) if late_ms < 0 else signal_all(_signal.SIGKILL, self._group())
        if (not self.pid and not left) or late_ms > KILL_PATIENCE_MS:
            self.stopping = False
            self._tell(b"k%d" % left)  # what is left belongs to another user

    def _group(self) -> int | None:
        return self.pid or None


def hold(plan: Plan) -> None:
    """The whole life of a holder. Does not return."""
    kept = sorted(plan["descriptors"])
    for below, above in zip([2, *kept], [*kept, 1 << 30], strict=True):
        os.closerange(below + 1, above)
    for fd in kept:
        os.set_inheritable(fd, False)
    try:
        holder = Holder(plan)
        if holder.gate() and holder.start():
            holder.run()
        holder.listener.close()  # nothing is left of a command that was not executed, either
    except BaseException as error:  # noqa: BLE001 - written down for whoever finds the run without a status
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_globals['__name__']}:{trace.tb_lineno}" if trace else ""
        Place(plan["directory"]).write(
            "trouble", {"error": f"{type(error).__name__}: {error}", "where": where}
        )
        os._exit(1)
    os._exit(0)
