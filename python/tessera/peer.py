"""A live node inside a loop of your own."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import socket
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tessera import _tessera
from tessera.flat import flat_model
from tessera.own import lines_of

_GLANCE_SECONDS = 0.1  # How long Ctrl-C may have to wait.
_OWN_LINES = ("data", "model", "training", "partition", "device")
_running: weakref.WeakSet[Peer] = weakref.WeakSet()


class Peer:
    """One node of a live network, whose training is your loop.

        peer = tessera.Peer(model, roster="roster.toml", key="alice.key", sharing="jwins", protocol="dpsgd:rounds=100")
        while not peer.finished:
            ...                     # your own optimizer's steps on `model`
            peer.exchange()
        peer.close()

    model     a torch.nn.Module, or a float32 array; it is changed in place. Every peer begins with the same one
    file      a node's settings, the file that `tessera node` takes, or None; keywords win over it
    test      test(model) -> (accuracy, loss), called by exchange() where the line `evaluate` says so; None: the rows
              in metrics.jsonl have neither
    keep      what else belongs to a checkpoint: the optimizer, a scheduler, anything with state_dict() and
              load_state_dict(). It is copied at every exchange
    buffers   whether the module's float32 buffers, such as BatchNorm's running statistics, are shared as well
    say       a function of a line for people; by default to the standard error, as `tessera node` does; None: silence

    Further keywords are the settings of `tessera node` (roster, key, name, listen, folder, checkpoint, gather, linger,
    link, metrics, ...) and the lines of an experiment (sharing, protocol, topology, rule, codec, seed, nodes, ...).
    `name` is that of the key's file unless said, `nodes` the number of the roster's members. `sharing` and
    `protocol` may also be classes of your own (tessera.Sharing, tessera.Protocol), which then run on the node's thread,
    with the GIL.

    Shared are the parameters that need a gradient, which must be float32. Buffers, integers and parameters without a
    gradient stay with their node.

    It returns when there is a model to train: once the node has met the others, or has waited for them as long as
    `gather` says. With a checkpoint in `folder` the node goes on from there, `model` and what `keep` names included: a
    script that is started again after a crash just goes on, with waiting for its peers, too, if that is what it did.
    The network runs on threads of its own, which need no Python.
    """

    def __init__(self, model: Any, file: str | os.PathLike[str] | None = None, *,
                 test: Callable[[Any], tuple[float, float]] | None = None, keep: Any = (), buffers: bool = False,
                 say: Callable[[str], Any] | str | None = "stderr", **lines: Any) -> None:
        self.model, self.finished, self.shortfall = model, False, ""
        self._flat = flat_model(model, buffers)
        self._test, self._keep = test, list(keep) if isinstance(keep, (list, tuple)) else [keep]
        self._say = _to_stderr if say == "stderr" else say
        self._state, self._pid, self._in_loop = "new", os.getpid(), False
        keys, lines = _sorted_out(file, lines)
        self._vector = self._flat.get()
        self._live = _tessera.LivePeer(os.fspath(file) if file else "", keys, lines, self._vector, self._flat.tensors,
                                       self._flat.description, test is not None)
        self._live.start()
        self._state = "running"
        _running.add(self)
        self._next()

    @property
    def seed(self) -> int:
        """A number that is this node's and this training's own: the same in a simulation of the same experiment."""
        return self._live.seed

    def exchange(self, loss: float = 0.0) -> bool:
        """Hands in the model as your steps have left it, and waits until there is one to train again: the average with
        the others' where the protocol has rounds, at once where it has not. Returns False when the run has come to
        its end; then `model` is the last.

        `loss` is for the records. What the node ends with comes out here as an exception. One that was interrupted by
        Ctrl-C is called again; it goes on waiting.
        """
        if self.finished:
            return False
        if self._state != "running":
            raise RuntimeError("this peer has left: make a new one, which goes on from its checkpoint")
        if self._in_loop:
            self._in_loop = False
            self._live.trained(self._flat.get(), float(loss), self._memory())
        return self._next()

    def status(self) -> dict[str, Any]:
        """What `tessera status` says: rounds, peers, bytes, alarms."""
        return json.loads(self._live.status)

    def leave(self) -> None:
        """Goes now, with a checkpoint. Steps since the last exchange do not count: a peer that is made again begins
        them again. One that waits for the others finishes the round first, if it takes no more than a few seconds."""
        self._close(at_once=True)

    def close(self) -> None:
        """At the end: stays for others who have not finished, as long as `linger` says. Before the end: leaves."""
        self._close(at_once=not self.finished)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self._close(at_once=kind is not None or not self.finished)

    def _next(self):
        while True:
            call = self._live.wait(_GLANCE_SECONDS)
            self._tell()
            if call == "nothing yet":
                continue
            if call == "ended":
                self._end()
                raise RuntimeError("this peer has left")
            self._live.copy_model(self._vector)
            self._flat.put(self._vector)
            if call == "test":
                self._live.tested(*map(float, self._test(self.model)))
                continue
            self._restore()
            self.finished = call == "finished"
            self._in_loop = not self.finished
            return not self.finished

    def _close(self, at_once):
        if self._state != "running" or self._pid != os.getpid():  # A child of fork() has no such threads.
            return
        if at_once:
            self._live.leave()
        while not self._live.wait_for_end(_GLANCE_SECONDS):
            self._tell()
        self._end()

    def _end(self):
        self._state = "ended"
        _running.discard(self)
        end = self._live.end()
        self._tell()
        self.shortfall = self._live.shortfall if end == "fell short" else ""
        if self._say and end == "fell short":
            self._say(f"at the end, but its work is not done: {self.shortfall}")

    def _tell(self):
        for seconds, line in self._live.take_lines():
            if self._say:
                self._say(f"{seconds:9.3f} {line}")

    def _memory(self):
        kept = self._flat.kept()
        if not kept and not self._keep:
            return b""
        from tessera import saved  # Needs torch, which an array does not.

        return saved.dump([kept, [thing.state_dict() for thing in self._keep]])

    def _restore(self):
        memory = self._live.take_restored()
        if not memory:
            return
        from tessera import saved

        kept, states = saved.load(memory, "cpu")
        if len(states) != len(self._keep):
            raise ValueError(f"keep: the checkpoint has {len(states)} of them, and here are {len(self._keep)}")
        self._flat.keep(kept)
        for thing, state in zip(self._keep, states):
            thing.load_state_dict(state)


def make_roster(folder: str | os.PathLike[str], members: Mapping[str, str] | Sequence[str]) -> str:
    """Keys for everyone and a roster, in a folder: for networks on one machine, to try things out.

        make_roster("net", {"alice": "127.0.0.1:7401", "bob": "127.0.0.1:7402"})

    writes net/alice.key, net/alice.pub, ... and net/roster.toml, whose path it returns. A list of names will do: then
    ports are taken that are free now. Where machines belong to different people each makes its own key: `tessera
    keygen` and `tessera roster add`.
    """
    if not isinstance(members, dict):
        members = dict(zip(members, _free_addresses(len(members))))
    return _tessera.make_roster(os.fspath(folder), list(members.items()))


def _sorted_out(file, given):
    """Keywords as the node's settings and the experiment's lines, with what can be told from the others filled in."""
    node_keys, experiment_keys = dict(_tessera.node_keys()), dict(_tessera.experiment_keys())
    keys, lines = {}, {"model": "quadratic"}  # A line that needs no data; the loop takes its place.
    for key, value in given.items():
        if key in _OWN_LINES:
            raise ValueError(f"{key}={value!r}: a loop of your own brings its {key}")
        if key not in node_keys and key not in experiment_keys:
            known = ", ".join([*node_keys, *experiment_keys])
            raise ValueError(f"neither a node nor an experiment has a line '{key}'. Known: {known}.")
        (keys if key in node_keys else lines)[key] = os.fspath(value) if hasattr(value, "__fspath__") else value
    if "key" in keys and "name" not in keys and file is None:
        keys["name"] = os.path.splitext(os.path.basename(keys["key"]))[0]
    if "nodes" not in lines and "roster" in keys and file is None and "experiment" not in keys:
        lines["nodes"] = str(_tessera.members_of(keys["roster"]))
    return {key: str(value) for key, value in keys.items()}, lines_of(lines)


def _free_addresses(count):
    """Below the ports the kernel gives to outgoing connections; who starts at the same time looks elsewhere first."""
    first, ports = 20_000, 12_000
    begin = os.getpid() * 127 % ports
    free = (port for port in (first + (begin + i) % ports for i in range(ports)) if _is_free(port))
    return [f"127.0.0.1:{port}" for port in itertools.islice(free, count)]


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _to_stderr(line):
    print(line, file=sys.stderr, flush=True)


@atexit.register
def _leave_all():
    for peer in list(_running):
        peer.close()
