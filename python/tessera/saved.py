"""State dicts of torch as bytes that can be read back without calling anything they name.

Tensors are saved by torch; the tree they hang in is JSON, since torch 1.13 cannot read a float safely.
"""

import io
import json

import torch


def dump(tree):
    tensors, saved = [], io.BytesIO()
    torch.save([json.dumps(_plain(tree, tensors)), tensors], saved)
    return saved.getvalue()


def load(saved, device):
    try:
        text, tensors = torch.load(io.BytesIO(saved), map_location=device, weights_only=True)
        return _tree(json.loads(text), tensors)
    except Exception as error:
        raise ValueError(f"what a checkpoint holds of torch's state cannot be read: {error}") from error


def _plain(tree, tensors):
    if isinstance(tree, torch.Tensor):
        tensors.append(tree)
        return {"tensor": len(tensors) - 1}
    if isinstance(tree, dict):
        return {"dict": [[_plain(key, tensors), _plain(value, tensors)] for key, value in tree.items()]}
    if isinstance(tree, (list, tuple)):
        return {type(tree).__name__: [_plain(each, tensors) for each in tree]}
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return tree
    raise TypeError(f"an optimizer's state holds a {type(tree).__name__}: only tensors, numbers, texts and "
                    "collections of them can be saved in a checkpoint")


def _tree(plain, tensors):
    if not isinstance(plain, dict):
        return plain
    (kind, value), = plain.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {_tree(key, tensors): _tree(each, tensors) for key, each in value}
    return {"list": list, "tuple": tuple}[kind](_tree(each, tensors) for each in value)
