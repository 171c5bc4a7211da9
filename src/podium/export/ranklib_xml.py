"""Reading RankLib's ensembles of trees (LambdaMART and MART): XML below a few lines of comments.

The rules are those of `Split.eval` and `Ensemble.eval` (src/main/java/ciir/umass/edu/learning/tree in codelibs/ranklib): the
first feature is number 1, x ≤ threshold goes left, a missing value is 0 (`DenseDataPoint.getFeatureValue`), and every sum of
value · weight is rounded to float32.

The parser below knows neither document types nor entities, and no depth of nesting is too much for it.
"""

from __future__ import annotations

from xml.parsers import expat

from podium.export.floats import largest_at_most, round32
from podium.export.reading import BadModelError, ReadModel, ReadTree, build_model, feature_count, require

KINDS = ("LambdaMART", "MART")
MOST_TEXT = 1000
NO_CHILD = -(2**31)
INSIDE = {
    "": ("ensemble",),
    "ensemble": ("tree",),
    "tree": ("split",),
    "split": ("feature", "threshold", "split", "output"),
}


def read_ranklib(raw: bytes) -> ReadModel:
    """Return the model of a RankLib file."""
    lines = raw.decode("utf-8", "strict").splitlines()
    kind = next((line.removeprefix("##").strip() for line in lines if line.startswith("##")), KINDS[0])
    require(kind in KINDS, f"it is a model of {kind!r}; {' and '.join(KINDS)} can be imported")
    text = "\n".join(line for line in lines if not line.startswith("##")).strip()
    trees = _EnsembleParser().parse(text)
    return ReadModel(build_model(trees, n_features=_count_features(trees), base=[0.0], sums="float32"))


def _count_features(trees: list[ReadTree]) -> int:
    """Return the largest number of a feature: the file does not say how many there are."""
    return feature_count(max((feature for tree in trees for feature in tree.feature), default=-1) + 1)


class _EnsembleParser:
    """Builds trees while expat reads the file."""

    def __init__(self) -> None:
        self.trees: list[ReadTree] = []
        self.weight = 1.0
        self.open: list[tuple[str, int]] = []  # the splits that the reader is in: the side of each, and its node
        self.path: list[str] = []
        self.text: list[str] = []
        self.ended = False

    def parse(self, text: str) -> list[ReadTree]:
        parser = expat.ParserCreate(encoding="utf-8")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        try:
            parser.Parse(text.encode(), True)
        except expat.ExpatError as error:
            raise BadModelError(f"its XML is damaged: {error}") from None
        require(self.ended, "there is no ensemble in it")
        return self.trees

    def _refuse(self, *_: object) -> None:
        raise BadModelError("it declares a document type or an entity, which no RankLib model does")

    def _text(self, text: str) -> None:
        if text.strip():
            require(sum(map(len, self.text)) + len(text) < MOST_TEXT, "a number has too many digits")
            self.text.append(text)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.text = []
        above = self.path[-1] if self.path else ""
        require(tag in INSIDE.get(above, ()), f"there is a <{tag}> where none may be")
        self.path.append(tag)
        if tag == "tree":
            self.weight = round32(float(attributes["weight"]))
            self.trees.append(ReadTree([], [], [], [], [], []))
        elif tag == "split":
            side = attributes.get("pos", "root")
            wanted = ("left", "right") if above == "split" else ("root",)
            require(side in wanted, f"a split stands on the side {side!r}")
            require(above == "tree" or self.open[-1][1] >= 0, "a split has children before its feature")
            self.open.append((side, -1))

    def _end(self, tag: str) -> None:
        self.path.pop()
        text, self.text = "".join(self.text).strip(), []
        if tag == "ensemble":
            self.ended = True
        elif tag in ("feature", "threshold", "output"):
            self._number(tag, text)
        elif tag == "split":
            self._close()
        elif tag == "tree":
            require(bool(self.trees[-1].value), "a tree is empty")

    def _number(self, tag: str, text: str) -> None:
        tree, (side, node) = self.trees[-1], self.open[-1]
        if tag == "feature":
            require(node == -1, "a split has two features")
            self.open[-1] = (side, len(tree.feature))
            require(int(text) >= 1, "a feature has a number below 1")
            tree.feature.append(feature_count(int(text)) - 1)
            tree.threshold.append(float("nan"))
            tree.missing_left.append(False)
            tree.left.append(NO_CHILD)
            tree.right.append(NO_CHILD)
        elif tag == "threshold":
            require(node >= 0, "a threshold stands before its feature")
            tree.threshold[node] = largest_at_most(round32(float(text)))
            tree.missing_left[node] = tree.threshold[node] >= 0
        else:
            require(node == -1, "a split has a feature and an output")
            tree.value.append(round32(float(text)) * self.weight)
            self.open[-1] = (side, -1 - len(tree.value))

    def _close(self) -> None:
        """A split ends: its parent gets to know it."""
        tree, (side, node) = self.trees[-1], self.open.pop()
        require(node != -1, "a split has neither a feature nor an output")
        if not self.open:
            return
        parent = self.open[-1][1]
        children = tree.left if side == "left" else tree.right
        require(children[parent] == NO_CHILD, f"a split has two children on the {side}")
        children[parent] = node if node >= 0 else node + 1
