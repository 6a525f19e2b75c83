"""Three live nodes, each a process with its own loop of PyTorch: two classes each, all three learnt by everyone."""
import multiprocessing
import tempfile

import torch
import tessera

means = 2 * torch.randn(3, 16, generator=torch.Generator().manual_seed(1))
labels = torch.arange(900) % 3
features = means[labels] + torch.randn(900, 16, generator=torch.Generator().manual_seed(2))


def node(folder, name, own_classes):
    torch.manual_seed(3)  # Everyone begins with the same model.
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    own = torch.nonzero(sum(labels == label for label in own_classes)).ravel()
    with tessera.Peer(model, keep=optimizer, roster=f"{folder}/roster.toml", key=f"{folder}/{name}.key",
                      folder=f"{folder}/{name}", topology="ring", sharing="jwins", protocol="dpsgd:rounds=30",
                      say=None) as peer:
        while not peer.finished:
            torch.manual_seed(peer.seed % 2**63)
            for _ in range(4):
                batch = own[torch.randint(len(own), (16,))]
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(features[batch]), labels[batch]).backward()
                optimizer.step()
            peer.exchange()
    right = (model(features).argmax(dim=1) == labels).float().mean()
    print(f"{name} has seen {own_classes} and is right in {100 * right:.0f}% of all three", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        names = {"alice": (0, 1), "bob": (1, 2), "carol": (2, 0)}
        tessera.make_roster(folder, list(names))
        processes = [multiprocessing.Process(target=node, args=(folder, *each)) for each in names.items()]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        raise SystemExit(any(process.exitcode for process in processes))
