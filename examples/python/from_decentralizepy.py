"""A class in the shape of decentralizepy's Sharing, and ten lines that make it tell what JWINS would."""
import pickle

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from tessera import kernels


class FullSharing:
    """Their interface: a model as something to send, what came as a model, and the average with it."""

    def __init__(self, rank, model):
        self.rank, self.model, self.communication_round = rank, model, 0

    def get_data_to_send(self, degree):
        return pickle.dumps(self.serialized_model() | {"degree": degree})

    def serialized_model(self):
        return {"params": {name: value.numpy() for name, value in self.model.state_dict().items()}}

    def deserialized_model(self, data):
        return {name: torch.from_numpy(value) for name, value in data["params"].items()}

    def _averaging(self, peer_data):
        weights = [1 / (max(len(peer_data), data["degree"]) + 1) for data in peer_data]
        mean = {name: (1 - sum(weights)) * value for name, value in self.model.state_dict().items()}
        for weight, data in zip(weights, peer_data):
            for name, value in self.deserialized_model(data).items():
                mean[name] += weight * value
        self.model.load_state_dict(mean)
        self.communication_round += 1


class Jwins(FullSharing):
    def __init__(self, rank, model):
        super().__init__(rank, model)
        self.sharing = kernels.Sharing("jwins", self.flat(), tensors=[p.numel() for p in model.parameters()])

    def flat(self):
        return parameters_to_vector(self.model.parameters()).detach().numpy()

    def serialized_model(self):
        return {"params": self.sharing.pack(self.flat(), seed=self.communication_round * 1000 + self.rank)}

    def _averaging(self, peer_data):
        mean, degree = self.flat(), len(peer_data)
        self.sharing.merge(mean, [(1 / (max(degree, data["degree"]) + 1), message)
                                  for data in peer_data for message in data["params"]])
        vector_to_parameters(torch.from_numpy(mean), self.model.parameters())
        self.communication_round += 1


def run(kind, nodes=6, rounds=40):
    means = torch.randn(6, 32, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(1200) % 6
    features = means[labels] + torch.randn(1200, 32, generator=torch.Generator().manual_seed(2))
    sharings, sent = [], 0
    for rank in range(nodes):
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 6))
        sharings.append(kind(rank, model))
    for _ in range(rounds):
        for rank, sharing in enumerate(sharings):  # Two classes each.
            own = torch.nonzero((labels == rank) | (labels == (rank + 1) % nodes)).ravel()
            optimizer = torch.optim.SGD(sharing.model.parameters(), lr=0.1)
            for _ in range(4):
                batch = own[torch.randint(len(own), (16,))]
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(sharing.model(features[batch]), labels[batch]).backward()
                optimizer.step()
        told = [sharing.get_data_to_send(degree=2) for sharing in sharings]
        sent += sum(2 * len(data) for data in told)
        for rank, sharing in enumerate(sharings):
            sharing._averaging([pickle.loads(told[(rank + step) % nodes]) for step in (-1, 1)])
    right = [(s.model(features).argmax(dim=1) == labels).float().mean() for s in sharings]
    print(f"{kind.__name__:11}  {sent / nodes:9.0f} bytes per node  {100 * sum(right) / nodes:.0f}% right")


for kind in (FullSharing, Jwins):
    run(kind)
