"""Probabilities of pairs: combined along chains, completed, checked against scores, and made from people's votes.

P_ij is the probability that document i should stand above document j. Scores s give P_ij = 1 / (1 + e^{−(s_i − s_j)}),
so log odds add along a chain of documents and sum to 0 round a cycle; what people say need not.
[RankNet, ICML 2005, §3; Ranking as Function Approximation, §5.1]
"""

from podium.posteriors.bradley_terry import BradleyTerry, Gap, bradley_terry
from podium.posteriors.chains import adjacencies, complete
from podium.posteriors.consistent import Consistency, Cycle, consistency
from podium.posteriors.odds import combine, from_log_odds, log_odds
from podium.posteriors.vote_files import read_votes
from podium.posteriors.votes import Votes

__all__ = [
    "BradleyTerry",
    "Consistency",
    "Cycle",
    "Gap",
    "Votes",
    "adjacencies",
    "bradley_terry",
    "combine",
    "complete",
    "consistency",
    "from_log_odds",
    "log_odds",
    "read_votes",
]
