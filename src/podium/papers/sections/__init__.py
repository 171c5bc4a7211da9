"""Every system, option, protocol and claim of the source documents, and where it lives in Podium. One table."""

from podium.papers.documents import Letter
from podium.papers.sections import function_approximation, lambdarank, ranknet, slides, structrank
from podium.papers.sections.topic import Place, Topic

__all__ = ["SECTIONS", "Place", "Topic"]

SECTIONS: dict[Letter, tuple[Topic, ...]] = {
    "a": function_approximation.TOPICS,
    "b": slides.TOPICS,
    "c": ranknet.TOPICS,
    "d": lambdarank.TOPICS,
    "e": structrank.TOPICS,
}
