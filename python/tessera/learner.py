"""Training of your own: what a simulation calls instead of the built-in models."""

import copy

import numpy

from tessera.flat import FlatModule


class Learner:
    """What Simulation(learner=...) expects; inherit from it, or be like it.

    initial   the model every node begins with, a float32 array
    tensors   how many of its values each tensor has, in order; [] is one tensor
    """

    description = "a learner of your own"
    tensors = []

    def train(self, models, nodes, seeds):
        """Local steps for the nodes that start at one instant: changes each models[i], a view of the node's own
        array, in place, and returns their losses. seeds[i] is a number that is the node's and the round's own."""
        raise NotImplementedError

    def evaluate(self, models, nodes):
        """(accuracy, loss) of each model."""
        raise NotImplementedError

    def state(self):
        """What it remembers between calls, as bytes for a checkpoint."""
        return b""

    def set_state(self, state):
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

    Shared are the parameters that need a gradient. Buffers, and parameters that do not, stay with their node.
    """

    def __init__(self, module, loss, optimizer, train, test, parts, *, batch=8, steps=1, test_batch=256,
                 accuracy=None, device="cpu"):
        import torch

        self._torch = torch
        self._module = module.to(device)
        self._loss, self._make_optimizer, self._accuracy = loss, optimizer, accuracy or _count_right
        self._train, self._test, self._parts = train, test, [numpy.asarray(part) for part in parts]
        self._batch, self._steps, self._test_batch, self._device = batch, steps, test_batch, device
        self._nodes = {}  # Those that have trained: module, its flat form and optimizer.
        flat = FlatModule(self._module)
        self.initial, self.tensors, self.description = flat.get(), flat.tensors, flat.description

    def train(self, models, nodes, seeds):
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

    def state_dict(self, flat):
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

    def _samples(self, dataset, indices):
        pairs = [dataset[int(index)] for index in indices]
        features, targets = zip(*pairs)
        return self._stacked(features), self._stacked(targets)

    def _stacked(self, values):
        torch = self._torch
        if torch.is_tensor(values[0]):
            return torch.stack(values).to(self._device)
        return torch.as_tensor(numpy.asarray(values)).to(self._device)

    def _train_one(self, flat, node, seed):
        module, own, optimizer = self._of(node)
        own.put(flat)
        module.train()
        draw = numpy.random.Generator(numpy.random.Philox(seed))
        self._torch.manual_seed(seed % 2**63)  # Dropout and the like.
        total = 0.0
        for _ in range(self._steps):
            part = self._parts[node]
            features, targets = self._samples(self._train, part[draw.integers(len(part), size=self._batch)])
            optimizer.zero_grad()
            loss = self._loss(module(features), targets)
            loss.backward()
            optimizer.step()
            total += float(loss.detach())
        own.get(out=flat)
        return total / self._steps

    def _evaluate_one(self, flat, node):
        module = self._nodes[node][0] if node in self._nodes else self._module
        kept = copy.deepcopy(module)
        FlatModule(kept).put(flat)
        kept.eval()
        right, loss, count = 0.0, 0.0, len(self._test)
        with self._torch.no_grad():
            for begin in range(0, count, self._test_batch):
                features, targets = self._samples(self._test, range(begin, min(begin + self._test_batch, count)))
                outputs = kept(features)
                right += float(self._accuracy(outputs, targets))
                loss += float(self._loss(outputs, targets)) * len(targets)
        return right / count, loss / count


def _count_right(outputs, targets):
    return (outputs.argmax(dim=1) == targets).sum()
