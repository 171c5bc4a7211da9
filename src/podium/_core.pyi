"""Podium's compiled core. Private: use the names of the podium package."""

from collections.abc import Mapping, Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def use_avx2(allowed: bool) -> bool:
    """
    Whether AVX2 may be used, for tests; gives whether it is, on this machine.
    """

def signal_checks() -> int:
    """
    How often a computation has looked for signals so far, for tests: it begins to look when it takes long.
    """

def handle_bus_errors(keep_before: bool) -> None:
    """
    Replace missing pages of watched mappings by zeros, and then ask Python's handler for SIGBUS to run; other bus errors go to the handler that was there when this was called to keep it.
    """

def watch_mapping(begin: int, size: int) -> int:
    """
    Watch this range of addresses; gives its place among the watched ones, or -1 if there are too many.
    """

def forget_mapping(place: int) -> None:
    """Stop watching a range, before it is unmapped."""

def lost_mappings() -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """The places of the watched ranges of which pages were missing."""

def first_infinite(values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], num_threads: int) -> int:
    """Flat index of the first infinite value, or -1."""

class QueryRun:
    @property
    def id(self) -> str: ...

    @property
    def rows(self) -> int: ...

    @property
    def line(self) -> int: ...

class LetorBlock:
    """What a run of LETOR lines held."""

    @property
    def rows(self) -> int: ...

    @property
    def labels(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def queries(self) -> list[QueryRun]: ...

    @property
    def has_qid(self) -> bool: ...

    @property
    def min_index(self) -> int: ...

    @property
    def max_index(self) -> int: ...

    @property
    def comment_ends(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def comments(self) -> bytes: ...

    @property
    def lines(self) -> int: ...

    @property
    def first_row_line(self) -> int: ...

    @property
    def first_row_column(self) -> int: ...

    @property
    def first_row_found(self) -> bytes: ...

    @property
    def ends_without_feed(self) -> bool: ...

    @property
    def last_row_entries(self) -> int: ...

    @property
    def fewest_entries(self) -> int: ...

    @property
    def most_entries(self) -> int: ...

    @property
    def fault(self) -> int: ...

    @property
    def fault_line(self) -> int: ...

    @property
    def fault_column(self) -> int: ...

    @property
    def found(self) -> bytes: ...

class LetorFile:
    """
    Blocks of an open LETOR file in order, parsed ahead by several threads.
    """

    def __init__(self, descriptor: int, size: int, absent: float, max_index: int, comments: bool, num_threads: int, block_bytes: int) -> None: ...

    def __iter__(self) -> LetorFile: ...

    def __next__(self) -> LetorBlock: ...

    @property
    def bytes_done(self) -> int: ...

def parse_letor(text: bytes, absent: float, max_index: int, comments: bool, num_threads: int) -> list[LetorBlock]:
    """Blocks of LETOR text that is in memory."""

def fill_features(blocks: Sequence[LetorBlock], features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], row: int, base: int, absent: float, num_threads: int) -> None:
    """Copies blocks into consecutive rows and frees their values."""

def format_letor(features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Sequence[str], query_of_row: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], comment_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], comments: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int, sparse: bool, edges: bool, num_threads: int) -> bytes:
    """Rows as LETOR text."""

def fill_part(block: LetorBlock, begin: int, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], base: int, absent: float) -> None:
    """Copies rows of one block, as many as the matrix has."""

class Gain(enum.Enum):
    exponential = 0

    linear = 1

    table = 2

class Empty(enum.Enum):
    zero = 0

    one = 1

    skip = 2

class Ties(enum.Enum):
    input = 0

    trec_eval = 1

    average = 2

class Convention(enum.Enum):
    textbook = 0

    letor = 1

    trec_eval = 2

class CustomMetric:
    """
    A user's metric as the core sees it: a function, and its compiled code.
    """

    def __init__(self, value: object, *, compiled_value: int, compiled: object | None) -> None: ...

class MetricSpec:
    """A metric as the core sees it; metrics make it from their parameters."""

    def __init__(self, kernel: str, *, cutoff: int | None, gain: Gain, gain_table: Sequence[float], numbers: Mapping[str, float], empty: Empty, ties: Ties, convention: Convention, custom: CustomMetric | None = None) -> None: ...

def metric_names() -> list[str]:
    """The names of the metrics that the core computes."""

def metric_values(specs: Sequence[MetricSpec], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], judged: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, retrieved: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, tie_order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, num_threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None, None))], tuple[int, int, int]]:
    """
    (values, empty, (problem, row, metric)), each [metrics × queries]; problem 0 means that all is well.
    """

def swap_deltas(spec: MetricSpec, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], judged: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, tie_order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], tuple[int, int, int]]:
    """
    ([documents × documents] of what the metric gains when two documents swap places, problem).
    """

class CdnTopology(enum.Enum):
    full = 0

    independent = 1

    random = 2

    shared = 3

    winner = 4

    given = 5

class CdnFunction(enum.Enum):
    sigmoid = 0

    gaussian = 1

class CdnMethod(enum.Enum):
    auto = 0

    exact = 1

    chebyshev = 2

class CdnSpec:
    """
    What structrank is told: which preferences meet, and in which functions.
    """

    def __init__(self, *, topology: CdnTopology, function: CdnFunction, components: int, tied: bool, learns: bool, values: Sequence[float], partners: int, mean: bool, method: CdnMethod, noise_inputs: int) -> None: ...

def probit(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    −log Φ(x), minus its slope, and its second derivative, of one x after the other.
    """

def bivariate_probit(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rho: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    −log Φ₂(x, y; ρ), minus its slopes in x, y and ρ, and its second derivatives xx, yy and xy.
    """

def force_names() -> list[str]:
    """The names of the forces that the core computes."""

class CustomForce:
    """
    A user's force as the core sees it: functions, and addresses of compiled ones.
    """

    def __init__(self, force: object, cost: object | None, *, compiled_force: int, compiled_cost: int, compiled: object | None) -> None: ...

class ForceSpec:
    """A force as the core sees it; forces make it from their parameters."""

    def __init__(self, name: str, *, sigma: float, margin: float, ties: bool, neighbors: bool, truncation: int, normalize: bool, damping: bool, noise: float, draws: int, step: float, lower_is_better: bool, alpha: float, metric: MetricSpec, classes: int, cdn: CdnSpec | None = None, custom: CustomForce | None = None) -> None: ...

class ForceInputs:
    """Labels, weights and pairs of queries, ready for forces."""

    def __init__(self, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, document_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, query_keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    def set_pairs(self, winner: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], loser: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], probability: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pair_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Pairs sorted by query, documents numbered inside their query."""

def apply_force(spec: ForceSpec, data: ForceInputs, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, round: int, num_threads: int, force: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], curvature: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, parameter_force: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None) -> None:
    """
    Writes force, curvature, cost of each query and the force on parameters into the arrays given.
    """

def preferences(data: ForceInputs) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    Winner and loser of every preference, numbered inside their query, and where each query begins.
    """

def set_joins(data: ForceInputs, first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], join_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
    """
    Pairs of preferences that meet, sorted by query, preferences numbered inside their query.
    """

def set_noise(data: ForceInputs, scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], inputs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
    """
    Scales of the documents' noise, or none; and the inputs that it is learned from [documents × inputs].
    """

class ParameterKind(enum.Enum):
    threshold = 0

    positive = 1

    correlation = 2

    real = 3

class ForceParameters:
    """
    The numbers that a force learns itself, as free numbers and as the values they stand for.
    """

    def __init__(self, spec: ForceSpec) -> None: ...

    def __len__(self) -> int: ...

    @property
    def names(self) -> list[str]: ...

    @property
    def kinds(self) -> list[ParameterKind]: ...

    def to_values(self, free: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Values from free numbers."""

    def to_free(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        Free numbers that stand for these values, or for the nearest that can be reached.
        """

    def free_force(self, free: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], force: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The force on the free numbers, given the force on the values."""

class Activation(enum.Enum):
    identity = 0

    tanh = 1

    sigmoid = 2

    relu = 3

class Optimizer(enum.Enum):
    sgd = 0

    adam = 1

class DenseNet:
    """
    A net of dense layers; parameters are W_1 [inputs × outputs], b_1, W_2, … in one vector.
    """

    def __init__(self, widths: Sequence[int], activation: Activation, output: Activation = Activation.identity) -> None: ...

    @property
    def size(self) -> int: ...

    def weight_mask(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """1 for weights, 0 for the bias of a layer."""

def net_scores(net: DenseNet, parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filled: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], num_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Scores of every row, outputs side by side."""

def net_backward(net: DenseNet, parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filled: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], force: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], num_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Σ over documents of force · ∂s/∂parameter."""

def matrix_product(a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], num_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    a · b, row after row; a row of it does not depend on the rows around it.
    """

def column_moments(features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], num_threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """Mean and deviation of every feature, missing values left out."""

class Descent:
    """A net that absorbs forces, an update a batch of queries or a pair."""

    def __init__(self, net: DenseNet, force: ForceSpec, data: ForceInputs, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filled: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], num_threads: int) -> None: ...

    @property
    def size(self) -> int: ...

    @property
    def updates(self) -> int: ...

    def set_parameters(self, parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def parameters(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def set_moments(self, first: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], updates: int) -> None: ...

    def moments(self) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]: ...

    def run(self, queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, optimizer: Optimizer, rate: float, l2: float, batch: int, per_pair: bool, cost: bool, seed: int, round: int, seen: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None) -> float:
        """
        One pass over the queries in this order; the sum of their costs where asked for.
        """

    def gradient(self, queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, per_pair: bool, seed: int, round: int, seen: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, cost: bool) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """The sums over queries of cost and of force · ∂s/∂parameter."""

class NadarayaWatsonKernel:
    """
    The mean label of references, each weighed by a kernel with one width a feature.
    """

    def __init__(self, references: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def set_widths(self, widths: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def scores(self, inputs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_mass: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], keep: bool, num_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        Scores of every row; with `keep` a backward over the same rows is quicker.
        """

    def backward(self, inputs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_mass: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], force: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], kept: bool, num_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        Σ over documents of force · ∂s/∂width; `kept` where the last scores kept were of the same rows and votes.
        """

class Growth(enum.Enum):
    leaf = 0

    depth = 1

    symmetric = 2

class Sampling(enum.Enum):
    force = 0

    uniform = 1

class BoostSettings:
    """How trees are grown; checked in Python."""

    def __init__(self, *, learning_rate: float, num_leaves: int, max_depth: int, growth: Growth, l1: float, l2: float, min_curvature: float, min_gain: float, min_documents: int, random_strength: float, random_thresholds: bool, row_sampling: float, sampling: Sampling, query_sampling: float, column_sampling: float, monotone: Sequence[int], histogram_bytes: int) -> None: ...

class Bins:
    """How features are cut into bins."""

    def cuts(self, arg: int, /) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    def __len__(self) -> int: ...

def make_bins(features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], sample: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_bins: int, categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], num_threads: int) -> Bins: ...

class BinColumns:
    """Documents as bins."""

class BoostedTree:
    """A tree over bins."""

    @property
    def n_leaves(self) -> int: ...

    def forces(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def set_values(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Gives the leaves other values than the Newton step's."""

class Booster:
    """The training documents as bins, and the growing of trees from them."""

    def __init__(self, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], bins: Bins, query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], share_bytes: bool, num_threads: int) -> None: ...

    def grow(self, force: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], curvature: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], settings: BoostSettings, draw: int) -> BoostedTree: ...

    def bin(self, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> BinColumns: ...

    def add(self, tree: BoostedTree, columns: BinColumns | None, *, scale: float, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], output: int, outputs: int) -> None: ...

    def tree_arrays(self, tree: BoostedTree) -> dict[str, object]: ...

    def recall_tree(self, *, feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], set: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], documents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> BoostedTree: ...

@overload
def any_infinite(features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], num_threads: int) -> bool: ...

@overload
def any_infinite(features: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], num_threads: int) -> bool:
    """Whether a feature is infinite, or too large for float32."""

class Forest:
    """Trained trees, compiled for scoring."""

    def __init__(self, *, n_features: int, outputs: int, node_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], leaf_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], set: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], category_features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], category_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], categories: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def scores(self, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], num_threads: int) -> None: ...

    @overload
    def scores(self, features: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], num_threads: int) -> None: ...

    @overload
    def leaves(self, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], num_threads: int) -> None: ...

    @overload
    def leaves(self, features: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], num_threads: int) -> None: ...

class ForestShap:
    """Trained trees, ready to say what each feature adds to a score."""

    def __init__(self, *, n_features: int, outputs: int, node_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], leaf_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], set: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], category_features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], category_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], categories: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], documents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def attributions(self, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], num_threads: int) -> None: ...

class OnlineDocuments:
    """Documents to learn from one by one."""

    def __init__(self, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filled: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Perceptrons:
    """Linear PRanks that learn side by side, one a share."""

    def __init__(self, width: int, thresholds: int, shares: Sequence[float]) -> None: ...

    def weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def thresholds(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def set(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def run(self, documents: OnlineDocuments, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, seed: int, round: int, num_threads: int) -> tuple[int, int, int]:
        """One pass in this order: documents taken, mistakes, levels off."""

class QuadraticLearner:
    """PRank with xᵀ A x + w·x + c held whole."""

    def __init__(self, width: int, thresholds: int) -> None: ...

    def thresholds(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def function(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def set(self, function: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def run(self, documents: OnlineDocuments, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, num_threads: int) -> tuple[int, int, int]:
        """One pass in this order: documents taken, mistakes, levels off."""

class SupportLearner:
    """PRank with Σ α (1 + x·x_s)² over at most `budget` documents."""

    def __init__(self, width: int, budget: int, thresholds: int) -> None: ...

    def thresholds(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def alpha(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def keys(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

    def inputs(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def set(self, inputs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def run(self, documents: OnlineDocuments, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, num_threads: int) -> tuple[int, int, int]:
        """One pass in this order: documents taken, mistakes, levels off."""

def quadratic_scores(function: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filled: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], num_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """xᵀ A x + w·x + c of every row; A, w, c in one vector."""

def quadratic_backward(features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], filled: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], force: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], num_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Σ over documents of force · ∂f/∂(A, w, c)."""
