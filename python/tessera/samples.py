"""Several samples of a dataset of torch as two tensors."""

import numpy


def samples(dataset, indices, device):
    """(features, targets) with a row for each index."""
    import torch

    if type(dataset) is torch.utils.data.Subset:
        return samples(dataset.dataset, [dataset.indices[index] for index in indices], device)
    if type(dataset) is torch.utils.data.TensorDataset:
        rows = torch.as_tensor(numpy.asarray(indices, dtype="int64"))
        features, targets = (tensor[rows].to(device) for tensor in dataset.tensors)
        return features, targets
    features, targets = zip(*(dataset[int(index)] for index in indices))
    return _stacked(features, device), _stacked(targets, device)


def _stacked(values, device):
    import torch

    if torch.is_tensor(values[0]):
        return torch.stack(values).to(device)
    return torch.as_tensor(numpy.asarray(values)).to(device)
