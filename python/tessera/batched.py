"""Local steps of many nodes at once: one vmap over the nodes' parameters instead of a loop over the nodes."""

# Their steps treat every value by itself, so that the parameters of many nodes may lie in one tensor.
_ELEMENTWISE = ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop")


class Batched:
    """A module and its loss for many nodes at once; raises ValueError where that cannot be.

    random   "error" refuses a module that draws numbers, such as dropout; with "different" every node draws its own
    """

    def __init__(self, module, loss, random):
        vmap, grad_and_value, functional_call = _functions(module)
        self._module, self._functional_call = module, functional_call

        def loss_of(parameters, buffers, features, targets):
            outputs = functional_call(module, {**parameters, **buffers}, (features,))
            return loss(outputs, targets), buffers  # Which the module has changed in place.

        self._gradients = vmap(grad_and_value(loss_of, has_aux=True), randomness=random)

    def train(self, matrix, nodes, batches):
        """Steps of nodes whose optimizers have one `signature`. `matrix` has their parameters, a row for each, `nodes`
        their (module, flat, optimizer), `batches` features and targets of all for every step. Returns the new matrix
        and the sum of the losses of each. Until `keep` is called, the nodes are what they were."""
        import torch

        self._module.train()
        modules, flats, optimizers = zip(*nodes)
        parameters = _parameters(self._module, matrix)
        buffers = _stacked([dict(module.named_buffers()) for module in modules])
        joint = JointOptimizer(optimizers, [flat.trained() for flat in flats], list(parameters.values()))
        total = torch.zeros(len(nodes), dtype=torch.float64, device=matrix.device)
        for features, targets in batches:
            gradients, (losses, buffers) = self._gradients(parameters, buffers, features, targets)
            joint.step([gradients[name] for name in parameters])
            total += losses
        joint.hand_back()
        _hand_back(buffers, modules)
        return torch.cat([value.flatten(1) for value in parameters.values()], dim=1), total


class JointOptimizer:
    """One optimizer over the stacked parameters of nodes that each have one of the same kind."""

    def __init__(self, optimizers, parameters, stacked):
        first = optimizers[0]
        if type(first).__name__ not in _ELEMENTWISE or type(first).__module__.split(".")[0] != "torch":
            raise ValueError(f"{type(first).__name__} may treat a tensor as a whole: one of "
                             f"{', '.join(_ELEMENTWISE)} can be batched")
        self._optimizers, self._parameters, self._stacked = optimizers, parameters, stacked
        place = {id(parameter): i for i, parameter in enumerate(parameters[0])}
        self._joint = type(first)([{**group, "params": [stacked[place[id(p)]] for p in group["params"]]}
                                   for group in first.param_groups])
        for i, target in enumerate(stacked):
            states = [optimizer.state[own[i]] for optimizer, own in zip(optimizers, parameters)
                      if own[i] in optimizer.state]
            if states:
                self._joint.state[target] = {key: _joined(key, [state[key] for state in states])
                                             for key in states[0]}

    def step(self, gradients):
        for parameter, gradient in zip(self._stacked, gradients):
            parameter.grad = gradient
        self._joint.step()

    def hand_back(self):
        """To every optimizer what is its own: rows of the joint one's state."""
        for row, (optimizer, own) in enumerate(zip(self._optimizers, self._parameters)):
            for parameter, joint in zip(own, self._stacked):
                if joint in self._joint.state:
                    optimizer.state[parameter] = {key: value[row] if _is_stacked(key, value) else _copied(value)
                                                  for key, value in self._joint.state[joint].items()}


def signature(optimizer):
    """What optimizers must have in common to be one: settings, and how many steps they have made."""
    groups = [[(key, repr(value)) for key, value in group.items() if key != "params"]
              for group in optimizer.param_groups]
    states = [[(key, float(value) if key == "step" else value is None)
               for key, value in optimizer.state.get(parameter, {}).items()]
              for group in optimizer.param_groups for parameter in group["params"]]
    return repr((groups, states))


def _functions(module):
    """vmap and what goes with it: torch.func's, or functorch's, which came with torch 1.13."""
    try:
        from torch.func import functional_call, grad_and_value, vmap
    except ImportError:
        try:
            from functorch import grad_and_value, vmap
            from torch.nn.utils.stateless import functional_call
        except ImportError:
            raise ValueError("this torch has no torch.func, which came with 2.0") from None
        names = [value for each in module.modules() for value in each._parameters.values() if value is not None]
        if len(names) > len(set(names)):
            raise ValueError("a parameter has two names, which torch before 2.0 cannot batch") from None
    return vmap, grad_and_value, functional_call


def _parameters(module, matrix):
    """Columns of the matrix under the names and in the shapes of the module's parameters."""
    named = {name: value for name, value in module.named_parameters() if value.requires_grad}
    columns = matrix.split([value.numel() for value in named.values()], dim=1)
    return {name: column.reshape(-1, *value.shape).clone() for (name, value), column in zip(named.items(), columns)}


def _stacked(dicts):
    import torch

    return {name: torch.stack([each[name] for each in dicts]) for name in dicts[0]}


def _hand_back(buffers, modules):
    for row, module in enumerate(modules):
        for name, buffer in module.named_buffers():
            buffer.copy_(buffers[name][row])


def _is_stacked(key, value):
    return key != "step" and hasattr(value, "shape")


def _joined(key, values):
    import torch

    return torch.stack(values) if _is_stacked(key, values[0]) else _copied(values[0])


def _copied(value):
    return value.clone() if hasattr(value, "clone") else value
