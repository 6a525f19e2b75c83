"""What a sharing of your own looks like, passed to Simulation or Peer instead of a line."""

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

    def start(self, model):
        """The model every node begins with, before the first training."""

    def pack(self, model, seed):
        """What to tell of the model as it is now: all values, or (indices, values) with indices of uint32 that
        increase. `seed` is a number that is this node's and this call's own."""
        raise NotImplementedError

    def merge(self, model, others):
        """Folds in what others told, [(weight, indices or None, values, sender)] in an order that is always the same;
        their weights sum to less than one, and the rest is the node's own. Changes the model in place, or returns
        another. Called with [] when a round ends without averaging."""
        raise NotImplementedError

    def state(self):
        """What it remembers, as bytes for a checkpoint."""
        if vars(self):
            raise ValueError(f"{type(self).__name__} remembers {', '.join(vars(self))}: write state() and set_state() "
                             "for checkpoints")
        return b""

    def set_state(self, state):
        if state:
            raise ValueError(f"a state was saved, and {type(self).__name__} keeps none")


def as_line(value, register, line):
    """An experiment's line for a class of one's own; a text stays what it is."""
    if isinstance(value, str):
        return value
    if not callable(value):
        raise ValueError(f"{line}: a text, a class, or a function that makes an object, and this is a "
                         f"{type(value).__name__}")
    name = f"{value.__module__}.{value.__qualname__}"
    register(name, value)
    return f"python:class='{name}'"


def lines_of(lines):
    """The lines as texts."""
    ways = {"sharing": _tessera.register_sharing}
    return {key: as_line(value, ways[key], key) if key in ways else str(value) for key, value in lines.items()}
