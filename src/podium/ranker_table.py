"""The named rankers, in one table: the name on the command line, and the module in `podium.rankers` and class.

The public names of the package, `podium.rankers`, the command line and the stub for type checkers follow from it. It imports
nothing, so that `import podium` stays fast.
"""

RANKER_PLACES = {
    "ranknet": "pairs:RankNet",
    "lambdarank": "pairs:LambdaRank",
    "lambdamart": "trees:LambdaMART",
    "mart": "trees:MART",
    "rankboost": "boost:RankBoost",
    "adarank": "boost:AdaRank",
    "listnet": "lists:ListNet",
    "listmle": "lists:ListMLE",
    "kernel-ranknet": "pairs:KernelRankNet",
    "ranksvm": "svm:RankSVM",
    "structrank": "structrank:StructRank",
    "ordinal": "ordinal:OrdinalRegression",
    "prank": "perceptrons:PRank",
    "quadratic-prank": "perceptrons:QuadraticPRank",
    "oap-bpm": "perceptrons:OAPBPM",
    "rankprop": "rankprop:RankProp",
}
RANKER_MODULES = {place.partition(":")[2]: place.partition(":")[0] for place in RANKER_PLACES.values()}  # by class
