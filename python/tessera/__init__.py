"""Decentralized learning that sends just what is needed, from Python.

    import tessera
    run = tessera.Simulation(nodes=16, model="logistic", sharing="jwins", protocol="dpsgd:rounds=20")
    for row in run:
        print(row["round"], row["accuracy"], row["bytes_sent_per_node"])

`Simulation` takes every line that an experiment's file has, as keyword arguments, or the file itself. `TorchLearner`
brings your own `torch.nn.Module`; any object with `train` and `evaluate` will do. `Peer` is a live node inside a loop
of your own. `kernels` are functions on arrays.
"""

from tessera import kernels
from tessera._tessera import Share, made, partition
from tessera.learner import Learner, TorchLearner
from tessera.own import Protocol, Sharing
from tessera.peer import Peer, make_roster
from tessera.simulation import Simulation, compare, report

__all__ = ["Learner", "Peer", "Protocol", "Share", "Sharing", "Simulation", "TorchLearner", "compare", "kernels",
           "make_roster", "partition", "report"]
__version__ = made()["version"]
