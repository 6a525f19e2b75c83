"""What tests of live peers have in common: networks on loopback whose processes and threads all end."""

import contextlib
import tempfile
import threading

import tessera

DEADLINE = 120.0  # Seconds, far more than anything here takes: a machine may be busy.


class Network:
    """A roster of nodes n0, n1, ... in a folder of its own."""

    def __init__(self, folder, count):
        self.folder, self.count = folder, count
        self.roster = tessera.make_roster(folder, [f"n{i}" for i in range(count)])

    def settings(self, node, **more):
        """A node's, with a checkpoint every round."""
        return dict(roster=self.roster, key=f"{self.folder}/n{node}.key", folder=f"{self.folder}/n{node}",
                    checkpoint="0s", gather="60s", say=None) | more

    def on_threads(self, loop, nodes=None):
        """loop(node) on a thread for every node; what they return. What one raises comes out."""
        results, failures = {}, []

        def run(node):
            try:
                results[node] = loop(node)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=run, args=(node,), daemon=True) for node in nodes or range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        if failures:
            raise failures[0]
        if any(thread.is_alive() for thread in threads):
            raise TimeoutError("a peer's loop did not end")
        return [results[node] for node in sorted(results)]


@contextlib.contextmanager
def network(count):
    with tempfile.TemporaryDirectory() as folder:
        yield Network(folder, count)
