"""A loop with a transport of its own: tessera decides what is told, packs it into bytes and folds it in."""
import numpy
from tessera import kernels

nodes, size = 6, 5000
random = numpy.random.default_rng(1)
start = numpy.zeros(size, "float32")
models = [start + random.standard_normal(size).astype("float32") for _ in range(nodes)]
sharings = [kernels.Sharing("jwins", start) for _ in range(nodes)]

sent = 0
for round_ in range(41):
    if round_ % 10 == 0:
        print(f"round {round_:2}  the nodes are {numpy.std(models, axis=0).mean():.4f} apart  {sent / nodes:8.0f} bytes per node")
    told = [sharing.pack(model, seed=nodes * round_ + i) for i, (sharing, model) in enumerate(zip(sharings, models))]
    for i in range(nodes):  # A ring; your sockets go here.
        heard = [(1 / 3, message) for peer in ((i - 1) % nodes, (i + 1) % nodes) for message in told[peer]]
        sharings[i].merge(models[i], heard)
        sent += sum(2 * len(message) for message in told[i])
