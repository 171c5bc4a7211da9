"""Any nn.Module as the function class of a ranker."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.hashing import counter_uniform
from podium.errors import DataError, MissingExtraError, ParameterError
from podium.models import GradientModel, GradientSpec
from podium.models.inputs import InputMap

try:
    import torch
except ImportError:
    raise MissingExtraError("torch is not installed; pip install 'podium[torch]'") from None

Floats = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]
ROWS = 65_536  # scored at a time


def module(given: Any, *, standardize: bool = True) -> ModuleSpec:
    """Return a module as the model of `podium.Ranker(model=…)`.

    Args:
        given: an nn.Module from [rows × features] to [rows] or [rows × outputs], which is copied and begins as it is; or a
            function without arguments that makes one, which is called with PyTorch's seed set from the ranker's.
        standardize: whether features are brought to mean 0 and variance 1 first; missing ones become the mean.

    How many threads PyTorch uses is its own affair (`torch.set_num_threads`), and may show in the last bits. The module is held in evaluation mode, so dropout is off and batch statistics are fixed: for those, write the loop
    yourself with `podium.torch.loss`. A ranker over a module is pickled, not saved: a file cannot hold its code.
    """
    return ModuleSpec(given, standardize)


class ModuleSpec(GradientSpec):
    """A module, or a function that makes one, before it has seen data."""

    name = "torch"

    def __init__(self, given: torch.nn.Module | Callable[[], torch.nn.Module], standardize: bool) -> None:
        if not isinstance(given, torch.nn.Module) and not callable(given):
            raise ParameterError("module", given, "must be an nn.Module, or a function that makes one")
        self.given, self.standardize = given, standardize

    def __str__(self) -> str:
        given = self.given
        named = f"{given.__module__}:{given.__qualname__}" if hasattr(given, "__qualname__") else repr(given)
        return f"torch({named}, standardize={self.standardize})"

    def start(
        self, data: RankingData, *, n_outputs: int, seed: int, restart: int = 0, num_threads: int = 1
    ) -> TorchModel:
        """Return a copy of the module, or a new one; the state of PyTorch's random numbers is left unchanged."""
        if isinstance(self.given, torch.nn.Module):
            if restart:
                raise ParameterError(
                    "restart_rounds", rule="needs new weights", remedy="give a function that makes the module"
                )
            made = copy.deepcopy(self.given)
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(int(2**53 * counter_uniform(seed, restart, 1)[0]))
                made = self.given()
        return TorchModel(
            made, InputMap.of(data, standardize=self.standardize, num_threads=num_threads), data.n_features, n_outputs
        )


class TorchModel(GradientModel):
    """A module with the map that standardizes its inputs."""

    def __init__(self, made: torch.nn.Module, map: InputMap, n_features: int, n_outputs: int) -> None:
        self.module, self.map = made.eval().cpu(), map
        self.n_features, self.n_outputs = n_features, n_outputs
        self.learned = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        if not self.learned:
            raise DataError("the module has no parameters to learn")

    @property
    def vector(self) -> Floats:
        """All parameters that take gradients, in the module's order."""
        return np.concatenate([p.detach().numpy().astype(np.float64).reshape(-1) for p in self.learned])

    @vector.setter
    def vector(self, values: Floats) -> None:
        at = 0
        with torch.no_grad():
            for parameter in self.learned:
                size = parameter.numel()
                part = torch.from_numpy(np.array(values[at : at + size])).reshape(parameter.shape)
                parameter.copy_(part.to(parameter.dtype))
                at += size

    def _outputs(self, features: Features) -> torch.Tensor:
        inputs = torch.from_numpy(self.map(features)).to(self.learned[0].dtype)
        out = self.module(inputs)
        shape = (len(features),) if self.n_outputs == 1 else (len(features), self.n_outputs)
        if out.numel() != np.prod(shape) or len(out) != len(features):
            raise DataError(f"the module gave shape {tuple(out.shape)} for {len(features)} rows; {shape} is needed")
        return out.reshape(shape)

    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """Return the outputs of the module."""
        self.check_features(features)
        with torch.no_grad():
            parts = [self._outputs(features[begin : begin + ROWS]) for begin in range(0, len(features), ROWS)]
            return np.asarray(torch.cat(parts).numpy(), np.float64)

    def backward(self, features: Features, force: Floats, *, num_threads: int = 1) -> Floats:
        """Σ λ_i · ∂s_i/∂parameter, by the module's own backward."""
        outputs = self._outputs(features)
        pushed = torch.from_numpy(np.ascontiguousarray(force)).to(outputs.dtype).reshape(outputs.shape)
        found = torch.autograd.grad(outputs, self.learned, pushed, allow_unused=True)
        parts = [torch.zeros_like(p) if g is None else g for g, p in zip(found, self.learned, strict=True)]
        return np.concatenate([part.numpy().astype(np.float64).reshape(-1) for part in parts])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The module's state and the map of inputs."""
        return {**self.map.arrays, **{name: value.numpy() for name, value in self.module.state_dict().items()}}

    def settings(self) -> dict[str, Any]:
        """Return a description of the module, from which it cannot be made again."""
        return {"module": repr(self.module)}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> TorchModel:
        """Raise a ParameterError: the code of a module is not in its arrays."""
        raise ParameterError(
            "model", rule="of PyTorch cannot be made from arrays alone", remedy="pickle the ranker instead"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchModel, (self.module, self.map, self.n_features, self.n_outputs)
