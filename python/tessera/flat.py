"""A model as one float32 vector, which is what nodes tell each other of."""

import numpy


class FlatArray:
    """A numpy array that is the model itself."""

    def __init__(self, array):
        if not isinstance(array, numpy.ndarray) or array.dtype != numpy.float32 or array.ndim != 1:
            raise ValueError("model: a torch.nn.Module, or a one-dimensional numpy array of float32")
        self._array = array
        self.tensors = [array.size]
        self.description = f"an array of {array.size}"

    def get(self):
        return numpy.ascontiguousarray(self._array)

    def put(self, flat):
        self._array[:] = flat

    def kept(self):
        return {}

    def keep(self, kept):
        pass


class FlatModule:
    """A torch.nn.Module's parameters that need a gradient, in its order, and with `buffers` also its float32 buffers.

    Everything else stays with the node: other buffers (BatchNorm counts its batches in integers) and parameters
    without a gradient.
    """

    def __init__(self, module, buffers=False):
        import torch

        self._torch, self._module = torch, module
        parameters = {name: value for name, value in module.named_parameters() if value.requires_grad}
        for name, value in parameters.items():
            if value.dtype != torch.float32:
                raise ValueError(f"{name} is {value.dtype}: parameters that are trained must be float32")
        self._shared = parameters
        if buffers:
            state = module.state_dict(keep_vars=True)  # Without the buffers that are not to be saved.
            self._shared = parameters | {name: value for name, value in module.named_buffers()
                                         if name in state and value.dtype == torch.float32}
        if not self._shared:
            raise ValueError("model: it has no parameters that need a gradient")
        self.tensors = [value.numel() for value in self._shared.values()]
        self.description = f"{type(module).__name__}, {sum(self.tensors)} parameters, torch {torch.__version__}"

    def trained(self):
        """The parameters that need a gradient, for an optimizer."""
        return [parameter for parameter in self._module.parameters() if parameter.requires_grad]

    def get(self, out=None):
        with self._torch.no_grad():
            parts = [value.reshape(-1) for value in self._values()]
            if len({part.device for part in parts}) == 1 and parts[0].device.type != "cpu":
                parts = [self._torch.cat(parts)]  # One copy from there instead of one for each.
            return numpy.concatenate([part.cpu().numpy() for part in parts], out=out)

    def put(self, flat):
        torch, begin = self._torch, 0
        # torch has no tensors that may only be read.
        whole = torch.from_numpy(flat if flat.flags.writeable else flat.copy())
        values = self._values()
        whole = whole.to(values[0].device)  # One copy to there instead of one for each.
        with torch.no_grad():
            for name, value in zip(self._shared, values):
                end = begin + value.numel()
                value.copy_(whole[begin:end].view_as(value))
                if name.endswith("running_var"):
                    value.clamp_(min=0)  # Averaging a part of a wavelet's coefficients may leave less than nothing.
                begin = end

    def kept(self):
        """What is not shared, for a checkpoint."""
        state = self._module.state_dict()
        return {name: value.clone() for name, value in state.items() if name not in self._shared}

    def keep(self, kept):
        self._module.load_state_dict(kept, strict=False)

    def _values(self):
        # By name each time: module.to() and the like put other tensors in their place.
        parameters, buffers = dict(self._module.named_parameters()), dict(self._module.named_buffers())
        return [(parameters[name] if name in parameters else buffers[name]).detach() for name in self._shared]


def flat_model(model, buffers=False):
    return FlatModule(model, buffers) if hasattr(model, "named_parameters") else FlatArray(model)
