"""The five source documents, and every table and figure in them: which experiment makes it again, or why none can.

One table; `podium papers list` prints it, and the page of the source documents shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Letter = Literal["a", "b", "c", "d", "e"]


@dataclass(frozen=True)
class Document:
    """A source document.

    Attributes:
        letter: what the names of its experiments begin with.
        title: its title.
        published: authors, place and year.
    """

    letter: Letter
    title: str
    published: str


@dataclass(frozen=True)
class Display:
    """A table or figure of a document, or another statement with figures in it.

    Attributes:
        document: the letter of the document.
        section: the section that contains it.
        name: as the document calls it.
        shows: what it shows.
        experiments: the experiments that make it again.
        page: a page of the docs that makes it again without an experiment.
        reason: why it cannot be made again, or what of it cannot.
    """

    document: Letter
    section: str
    name: str
    shows: str
    experiments: tuple[str, ...] = ()
    page: str = ""
    reason: str = ""

    @property
    def state(self) -> str:
        """Whether it is reproduced, in a word or two."""
        if self.experiments or self.page:
            return "reproduced in part" if self.reason else "reproduced"
        return "nothing to reproduce" if self.reason == DRAWING else "not reproduced"


DOCUMENTS = (
    Document("a", "Ranking as Function Approximation", "Burges 2005"),
    Document("b", "Learning to Rank: From RankNet to LambdaRank to LambdaMART", "slides, Fuka 2016"),
    Document("c", "Learning to Rank using Gradient Descent (RankNet)", "Burges et al., ICML 2005"),
    Document("d", "Learning to Rank with Nonsmooth Cost Functions (LambdaRank)", "Burges, Ragno and Le, NIPS 2006"),
    Document("e", "Structured Ranking Learning using CDNs (StructRank)", "Huang and Frey, NIPS 2008"),
)
DRAWING = "no measurement is shown, only how something works"
ENGINE = "the data is a search engine's and not public"

DISPLAYS = (
    Display(
        "a", "§1.2", "Table 1", "three mathematicians, each stronger than the next", page="posteriors.md#consistency"
    ),
    Display("a", "§5.1", "Figure 1", "RankNet's cost, and combined probabilities", ("a-figure1",)),
    Display("a", "§5.1", "Theorem 1, Lemma 1", "adjacency posteriors determine all others", ("a-theorem1",)),
    Display("a", "§6", "Figure 2", "the forces on two documents with a margin", ("a-figure2",)),
    Display("a", "§6", "Theorem 2", "when a force has a cost, and when that is convex", page="laws.md#the-five-laws"),
    Display(
        "b", "pointwise, pairwise", "Tables 2.7, 2.8", "input, output, model and loss of each approach",
        page="forces.md", reason="they are definitions, which the forces implement, and show nothing that is measured",
    ),
    Display("b", "RankNet, LambdaRank", "figures", "a cost, a net, two orders of documents", reason=DRAWING),
    Display("c", "§2", "text", "RankProp ranks better than regression on the labels", ("c-rankprop",)),
    Display("c", "§3", "Figure 1", "RankNet's cost, and combined probabilities", ("a-figure1",)),
    Display("c", "§5.1", "text", "1,000 vectors learned to zero error", ("c-zero-error",)),
    Display("c", "§5.1", "Table 1", "pairs in the right order on artificial data", ("c-table1", "c-table1-variants")),
    Display("c", "§5.2", "Table 2", "training on ties", ("c-table2",)),
    Display(
        "c", "§6", "Table 3", "the sizes of a search engine's data", page="reproduced/index.md#how-a-command-works",
        reason=f"{ENGINE}; the sizes of the sets used instead are listed there",
    ),
    Display(
        "c", "§6", "Table 4", "six systems by NDCG@15", ("c-table4",),
        reason=f"{ENGINE}; the order of the systems is tested on another search engine's",
    ),
    Display(
        "c", "§6", "Table 5", "NDCG@15 on the training set", ("c-table5",),
        reason=f"{ENGINE}; what the paper reads from it is tested on another search engine's",
    ),
    Display(
        "c", "§6", "Table 6", "training times", ("c-table6",),
        reason=f"{ENGINE}; the order of the times is tested on another search engine's",
    ),
    Display("d", "§6.1", "Figure 1", "the speed of one update per query", ("d-figure1",)),
    Display("d", "§6.1", "text", "updates per pair and per query converge alike and take the same time", ("d-updates",)),
    Display("d", "§6.2", "text", "ten λ-functions, and the one that was chosen", ("d-forces",)),
    Display("d", "§6.3", "text", "rates from 1e-7 to 1e-2, × 0.8, new weights after 50 epochs", ("d-figure2-rates",)),
    Display("d", "§6.3.1", "Figure 2", "LambdaRank and RankNet on artificial data", ("d-figure2", "d-figure2-rates")),
    Display(
        "d", "§6.3.2", "Figure 2, intranet", "the same on 400 queries of an intranet",
        reason="the data is not public; its protocol is podium cv --parts 2+2+1",
    ),
    Display(
        "d", "§6.4", "Figure 3", "the same on a search engine's data",
        reason=f"{ENGINE}; the same systems on public sets are in d-forces and forces-by-classes",
    ),
    Display("e", "§2", "Figure 1", "a cumulative distribution network, and a density", reason=DRAWING),
    Display("e", "§3", "Figure 2", "an order graph, and learning from several", reason=DRAWING),
    Display("e", "§3.1", "Figure 3", "an order graph becomes a network", reason=DRAWING),
    Display("e", "§5", "Figure 4", "NDCG, precision and MAP on OHSUMED", ("e-figure4",)),
    Display(
        "e", "§5", "supplement", "TREC 2004 of LETOR 2.0",
        reason="the supplement is not one of the documents, and its figures are not printed in the paper",
    ),
)  # fmt: skip
