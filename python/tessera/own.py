"""What a sharing or a protocol of your own looks like, passed to Simulation or Peer instead of a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from tessera import _tessera


class Sharing:
    """What a node tells its peers, and how it folds in what it hears; inherit from it, or be like it.

        class Full(tessera.Sharing):
            def pack(self, model, seed):
                return model

            def merge(self, model, others):
                before = model.copy()
                for weight, indices, values, sender in others:
                    model += numpy.float32(weight) * (values - before)

        tessera.Simulation(sharing=Full, ...)

    The class itself is passed, or a function that makes an object; every node gets one, made without arguments. Calls
    come in this order: start, then pack and merge in turn. All arrays are copies, float32, and the object may keep
    them. What it remembers are its own attributes; with `state` and `set_state` they survive a checkpoint.

    dimension   an attribute, of sharings that tell of another vector than the model (a wavelet's coefficients): its
                length, known once start() was called
    """

    def start(self, model: NDArray[numpy.float32]) -> None:
        """The model every node begins with, before the first training."""

    def pack(self, model: NDArray[numpy.float32], seed: int) -> Any:
        """What to tell of the model as it is now: all values, or (indices, values) with indices of uint32 that
        increase. `seed` is a number that is this node's and this call's own."""
        raise NotImplementedError

    def merge(self, model: NDArray[numpy.float32], others: Sequence[tuple[float, Any, Any, int]]) -> Any:
        """Folds in what others told, [(weight, indices or None, values, sender)] in an order that is always the same;
        their weights sum to less than one, and the rest is the node's own. Changes the model in place, or returns
        another. Called with [] when a round ends without averaging."""
        raise NotImplementedError

    def state(self) -> bytes:
        """What it remembers, as bytes for a checkpoint."""
        return _no_state(self, vars(self))

    def set_state(self, state: bytes) -> None:
        """What state() gave, in a run that goes on from a checkpoint."""
        if state:
            raise ValueError(f"a state was saved, and {type(self).__name__} keeps none")


class Protocol:
    """When a node speaks, and to whom; inherit from it. Gossip with whoever told last, in the shape of SWIFT:

        class Gossip(tessera.Protocol):
            synchronous, rounds = False, 100

            def __init__(self):
                self.newest = {}                            # Of every peer.

            def on_start(self, node):
                node.train()

            def on_trained(self, node):
                node.send(node.pack(), node.peers())
                node.merge([(1 / (len(self.newest) + 1), share) for share in self.newest.values()])
                self.newest.clear()
                self.rounds_done += 1
                node.finish() if self.rounds_done == self.rounds else node.train()

            def on_share(self, node, share):
                self.newest[share.sender] = share

    The class itself is passed, or a function that makes an object; every node gets one, made without arguments. A hook
    is told what happened and acts by the verbs of `node`; nothing else happens to the node meanwhile, and afterwards
    `node` is of no use.

    rounds          after how many a node finishes
    rounds_done     how many it has completed, which the object counts up; of a protocol without rounds, trainings
    synchronous     whether nodes go through rounds together; if not, results are told by time
    waits_for_ever  whether a node goes on only when every peer it expects was heard

    node.id, node.nodes, node.now, node.peers(round) by the topology, node.seed(number) of the node's own
    node.train()                          comes back as on_trained
    node.pack() -> share                  what the sharing tells of the model as it is now
    node.send(share, peers, round=0, degree=0, own=b"")   comes back at the peers as on_share; `own` are up to 255 bytes
    node.merge([(weight, share)])         folds in shares that were heard; in an order of your own, so sort them
    node.wake_after(seconds)              comes back as on_wake
    node.finish(), node.refuse(sender, reason), node.note(what)   the last two are counted in the summary

    A share has sender, round, degree, own, age (trainings its model has seen) and values. bytes(share) and
    tessera.Share.from_bytes(...) are for state() and set_state().
    """

    rounds, rounds_done = 0, 0
    synchronous, waits_for_ever = True, True

    def on_start(self, node: _tessera.Node) -> None:
        """The first event; also after a crash, with the state of a checkpoint. Training under way then is lost."""
        raise NotImplementedError

    def on_trained(self, node: _tessera.Node) -> None:
        """The training that was asked for is done."""
        raise NotImplementedError

    def on_share(self, node: _tessera.Node, share: _tessera.Share) -> None:
        """A share that is decoded and fits the model. What it says of its round is the sender's word."""
        raise NotImplementedError

    def on_refused(self, node: _tessera.Node, share: _tessera.Share) -> None:
        """The peer sent one that was turned away for what is in it; only sender, round, degree and age are known."""

    def on_wake(self, node: _tessera.Node) -> None:
        """The time asked for has passed; also times that were asked for before."""

    def waiting_for(self) -> str:
        """What it cannot go on without, for people: "round 12 from nodes 3, 7"."""
        return ""

    def state(self) -> bytes:
        """What it remembers, rounds_done included, as bytes for a checkpoint."""
        return _no_state(self, vars(self))

    def set_state(self, state: bytes) -> None:
        """What state() gave, in a run that goes on from a checkpoint."""
        if state:
            raise ValueError(f"a state was saved, and {type(self).__name__} keeps none")


def _no_state(own, remembered):
    if remembered:
        raise ValueError(f"{type(own).__name__} remembers {', '.join(remembered)}: write state() and set_state() for "
                         "checkpoints")
    return b""


def as_line(value, register, line):
    """An experiment's line for a class of one's own; a text stays what it is."""
    if isinstance(value, str):
        return value
    if not callable(value):
        raise ValueError(f"{line}: a text, a class, or a function that makes an object, and this is a "
                         f"{type(value).__name__}")
    name = f"{value.__module__}.{value.__qualname__}"
    register(name, value)
    row = "python" if getattr(value, "synchronous", True) else "python-asynchronous"
    return f"{row}:class='{name}'"


def lines_of(lines):
    """The lines as texts."""
    ways = {"sharing": _tessera.register_sharing, "protocol": _tessera.register_protocol}
    return {key: as_line(value, ways[key], key) if key in ways else str(value) for key, value in lines.items()}
