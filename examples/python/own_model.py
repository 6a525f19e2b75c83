"""Your own PyTorch model on sixteen nodes that each hold two classes: full sharing against JWINS."""
import torch
import tessera

classes, width = 10, 64
means = torch.randn(classes, width, generator=torch.Generator().manual_seed(1))
labels = torch.arange(2000) % classes
features = means[labels] + torch.randn(2000, width, generator=torch.Generator().manual_seed(2))
data = torch.utils.data.TensorDataset(features, labels)
train, test = torch.utils.data.Subset(data, range(1600)), torch.utils.data.Subset(data, range(1600, 2000))
parts = tessera.partition(labels[:1600].tolist(), nodes=16, partition="shards:per_node=2")

for sharing in ("full", "jwins"):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(width, 64), torch.nn.ReLU(), torch.nn.Linear(64, classes))
    learner = tessera.TorchLearner(model, torch.nn.functional.cross_entropy, lambda p: torch.optim.SGD(p, lr=0.05),
                                   train, test, parts, batch=8, steps=4)
    run = tessera.Simulation(learner=learner, nodes=16, topology="regular:degree=4", protocol="dpsgd:rounds=30",
                             sharing=sharing, evaluate="every=10")
    for row in run:
        print(f'{sharing:6} round {row["round"]:3}  accuracy {row["accuracy"]:.3f}  {row["bytes_sent_per_node"]:9.0f} bytes')
