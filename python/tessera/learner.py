"""Training of your own: what a simulation calls instead of the built-in models."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from tessera.batched import Batched, signature
from tessera.flat import FlatModule
from tessera.samples import samples


class Learner:
    """What Simulation(learner=...) expects; inherit from it, or be like it.

    initial   the model every node begins with, a float32 array
    tensors   how many of its values each tensor has, in order; [] is one tensor
    """

    initial: NDArray[numpy.float32]
    description = "a learner of your own"
    tensors: Sequence[int] = []

    def train(self, models: Sequence[NDArray[numpy.float32]], nodes: Sequence[int],
              seeds: Sequence[int]) -> Sequence[float]:
        """Local steps for the nodes that start at one instant: changes each models[i], a view of the node's own
        array, in place, and returns their losses. seeds[i] is a number that is the node's and the round's own."""
        raise NotImplementedError

    def evaluate(self, models: Sequence[NDArray[numpy.float32]],
                 nodes: Sequence[int]) -> Sequence[tuple[float, float]]:
        """(accuracy, loss) of each model."""
        raise NotImplementedError

    def state(self) -> bytes:
        """What it remembers between calls, as bytes for a checkpoint."""
        return b""

    def set_state(self, state: bytes) -> None:
        """What state() gave, in a run that goes on from a checkpoint."""
        if state:
            raise ValueError("a state was saved, and this learner keeps none")


class TorchLearner(Learner):
    """A `torch.nn.Module` with a loss and an optimizer of yours, on any `torch.utils.data.Dataset`.

    module     the model; every node gets a copy, which keeps its own buffers (BatchNorm's statistics)
    loss       loss(outputs, targets) -> a scalar tensor
    optimizer  a function of the parameters, such as lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9). A node's
               optimizer lives as long as the run.
    train, test   datasets
    parts      a list of indices of `train` for every node: tessera.partition(labels, nodes, "shards:per_node=2")
    batch, steps  of one local training
    accuracy   accuracy(outputs, targets) -> how many are right; by default those whose largest output is the target
    device     "cpu", "cuda", ...
    batched    whether nodes that start together take their steps together, by torch.func's vmap: the same up to
               rounding, and faster where a model alone leaves the device idle. "auto" does so on other devices than the
               CPU, unless the model draws random numbers (dropout) or cannot be batched, which it says; True does so
               everywhere, with dropout's draws being others than a loop's, or raises; False never does.

    Shared are the parameters that need a gradient. Buffers, and parameters that do not, stay with their node.
    """

    def __init__(self, module: Any, loss: Callable[[Any, Any], Any], optimizer: Callable[[list[Any]], Any], train: Any,
                 test: Any, parts: Sequence[Any], *, batch: int = 8, steps: int = 1, test_batch: int = 256,
                 accuracy: Callable[[Any, Any], Any] | None = None, device: str = "cpu",
                 batched: bool | str = "auto") -> None:
        import torch

        if batched not in ("auto", True, False):
            raise ValueError(f"batched={batched!r}: 'auto', True or False")
        self._torch = torch
        self._module = module.to(device)
        self._loss, self._make_optimizer, self._accuracy = loss, optimizer, accuracy or _count_right
        self._train, self._test, self._parts = train, test, [numpy.asarray(part) for part in parts]
        self._batch, self._steps, self._test_batch, self._device = batch, steps, test_batch, device
        self._nodes: dict[int, Any] = {}  # Those that have trained: module, its flat form and optimizer.
        self._on_trial = batched == "auto"
        self._batched = self._batch_nodes() if batched is True or batched and self._apart_from_cpu() else None
        flat = FlatModule(self._module)
        self.initial, self.tensors, self.description = flat.get(), flat.tensors, flat.description

    @property
    def batched(self) -> bool:
        """Whether nodes that start together take their steps together, as far as is known."""
        return self._batched is not None

    def train(self, models, nodes, seeds):
        if self._batched and len(models) > 1:
            try:
                return self._train_together(models, nodes, seeds)
            except Exception as reason:
                self._batched = self._unbatched(reason)  # On trial nothing has changed by then.
        return [self._train_one(*job) for job in zip(models, nodes, seeds)]

    def evaluate(self, models, nodes):
        return [self._evaluate_one(*job) for job in zip(models, nodes)]

    def state(self):
        from . import saved

        return saved.dump({node: (flat.kept(), optimizer.state_dict())
                           for node, (_, flat, optimizer) in self._nodes.items()})

    def set_state(self, state):
        from . import saved

        kept = saved.load(state, self._device)
        self._nodes = {}
        for node, (buffers, optimizer_state) in kept.items():
            _, flat, optimizer = self._of(node)
            flat.keep(buffers)
            optimizer.load_state_dict(optimizer_state)

    def state_dict(self, flat: NDArray[numpy.float32]) -> dict[str, Any]:
        """A flat model under the module's own names."""
        module = copy.deepcopy(self._module)
        FlatModule(module).put(flat)
        return module.state_dict()

    def _of(self, node):
        if node not in self._nodes:
            module = copy.deepcopy(self._module)
            flat = FlatModule(module)
            self._nodes[node] = (module, flat, self._make_optimizer(flat.trained()))
        return self._nodes[node]

    def _apart_from_cpu(self):
        return self._torch.device(self._device).type != "cpu"

    def _batch_nodes(self):
        try:
            return Batched(self._module, self._loss, "error" if self._on_trial else "different")
        except ValueError as reason:
            return self._unbatched(reason)

    def _unbatched(self, reason):
        if not self._on_trial:
            raise reason
        first_line = str(reason).strip().partition("\n")[0]
        print(f"tessera: nodes take their steps one after the other: {first_line}", file=sys.stderr)

    def _train_together(self, models, nodes, seeds):
        losses = [0.0] * len(nodes)
        for rows in self._alike(nodes):
            matrix = self._torch.stack([self._torch.from_numpy(models[i]) for i in rows]).to(self._device)
            self._torch.manual_seed(seeds[rows[0]] % 2**63)
            matrix, totals = self._batched.train(matrix, [self._of(nodes[i]) for i in rows],
                                                 self._batches([nodes[i] for i in rows], [seeds[i] for i in rows]))
            self._on_trial = False
            for i, model, total in zip(rows, matrix.cpu().numpy(), totals.tolist()):
                models[i][:], losses[i] = model, total / self._steps
        return losses

    def _alike(self, nodes):
        """Which of them can be batched: those whose optimizers have made as many steps. Usually that is all."""
        groups = {}
        for i, node in enumerate(nodes):
            groups.setdefault(signature(self._of(node)[2]), []).append(i)
        return groups.values()

    def _batches(self, nodes, seeds):
        """Features and targets of each step, with a row for every node."""
        draws = [numpy.random.Generator(numpy.random.Philox(seed)) for seed in seeds]
        for _ in range(self._steps):
            chosen = numpy.concatenate([self._chosen(node, draw) for node, draw in zip(nodes, draws)])
            yield [all_of_them.unflatten(0, (len(nodes), self._batch))
                   for all_of_them in samples(self._train, chosen, self._device)]

    def _chosen(self, node, draw):
        part = self._parts[node]
        return part[draw.integers(len(part), size=self._batch)]

    def _train_one(self, flat, node, seed):
        module, own, optimizer = self._of(node)
        own.put(flat)
        module.train()
        draw = numpy.random.Generator(numpy.random.Philox(seed))
        self._torch.manual_seed(seed % 2**63)  # Dropout and the like.
        total = 0.0
        for _ in range(self._steps):
            features, targets = samples(self._train, self._chosen(node, draw), self._device)
            optimizer.zero_grad()
            loss = self._loss(module(features), targets)
            loss.backward()
            optimizer.step()
            total += loss.detach().double()  # As a number it would have to be waited for.
        own.get(out=flat)
        return float(total) / self._steps

    def _evaluate_one(self, flat, node):
        module = self._nodes[node][0] if node in self._nodes else self._module
        kept = copy.deepcopy(module)
        FlatModule(kept).put(flat)
        kept.eval()
        right, loss, count = 0.0, 0.0, len(self._test)
        with self._torch.no_grad():
            for begin in range(0, count, self._test_batch):
                features, targets = samples(self._test, range(begin, min(begin + self._test_batch, count)),
                                            self._device)
                outputs = kept(features)
                right += float(self._accuracy(outputs, targets))
                loss += float(self._loss(outputs, targets)) * len(targets)
        return right / count, loss / count


def _count_right(outputs, targets):
    return (outputs.argmax(dim=1) == targets).sum()
