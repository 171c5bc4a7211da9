"""The slides from RankNet to LambdaMART, part by part."""

from podium.papers.sections.topic import Topics, checked_by, command, experiment, name, page, topic

TOPICS: Topics = (
    topic("Why learning to rank", "linear models: fast, intuitive, easy to obtain", command("podium train train.txt --force listnet --model linear --epochs 3 --out linear.podium"), page("models.md")),
    topic("Why learning to rank", "tuning parameters by hand is difficult and overfits", page("tuning.md#search-for-settings"), name("podium.tune")),
    topic("Evaluation measure", "WTA, pairwise error, MAP and NDCG", page("metrics.md#the-table"), command("podium evaluate baseline.scores train.txt -m wta -m map -m ndcg@5")),
    topic("Framework", "training data → learning system → ranking system → test data", page("start/engineer.md"), command("podium train train.txt --valid vali.txt --ranker lambdamart --n-estimators 20 --out model.podium")),
    topic("Pointwise", "classification: categories, ranked by expected gain", command("podium train train.txt --force multiclass --model trees --schedule \"boosting(rounds=5)\" --out classes.podium"), page("forces.md")),
    topic("Pointwise", "regression on the labels", name("podium.MART"), command("podium train train.txt --ranker mart --n-estimators 5 --out mart.podium")),
    topic("Pointwise", "ordinal classification: thresholds on a score", name("podium.OrdinalRegression"), command("podium train train.txt --ranker ordinal --epochs 3 --out ordinal.podium")),
    topic("Pointwise", "fast and of low complexity, but blind to pairs and to the query", experiment("forces-by-classes")),
    topic("Pairwise", "classification of differences of scores", name("podium.RankNet"), name("podium.RankSVM"), name("podium.RankBoost")),
    topic("Pairwise", "regression of differences of scores", command("podium train train.txt --force pairwise_regression --epochs 3 --out gaps.podium"), checked_by("tests/contracts/test_forces.py::test_pairwise_regression_adds_up_its_pairs")),
    topic("Pairwise", "queries have very different numbers of pairs: weigh queries alike", command("podium train train.txt --ranker ranksvm --set query_norm=true --out alike.podium"), page("forces.md")),
    topic("Pairwise", "only the order counts and not the position, which LambdaRank's forces add", name("podium.LambdaRank"), command('podium laws "lambdarank(ndcg@10)" --draws 5')),
    topic("Listwise", "measure-specific: L = exp(−NDCG)", name("podium.AdaRank"), page("trees.md#adarank"), command("podium train train.txt --ranker adarank --n-estimators 10 --out adarank.podium"), checked_by("tests/unit/test_adarank.py::test_features_and_weights_are_those_of_the_twin_round_by_round")),
    topic("Listwise", "not measure-specific: likelihoods of lists", name("podium.ListNet"), name("podium.ListMLE"), name("podium.StructRank"), command("podium train train.txt --force xendcg --epochs 2 --out xendcg.podium")),
    topic("Listwise", "generally better than other methods, and complex", experiment("forces-by-classes")),
    topic("RankNet", "target and modeled probability, cross entropy, its derivative", page("forces.md"), checked_by("tests/contracts/test_forces.py::test_force_and_curvature_are_the_slopes_of_the_cost")),
    topic("RankNet", "gradient descent with rates from 1e-3 to 1e-5", command("podium train train.txt --ranker ranknet --optimizer sgd --learning-rate 1e-4 --epochs 3 --out sgd.podium"), page("training.md#training-as-the-papers-did")),
    topic("RankNet", "a small step along the gradient lowers the cost", checked_by("tests/unit/test_source_claims.py::test_a_small_step_along_the_gradient_lowers_the_cost")),
    topic("RankNet", "a net scores documents: f(Σ w f(Σ w x + b) + b)", page("models.md#nets")),
    topic("Speed up RankNet", "λ_i sums the pairs of a document: one update per query", experiment("d-figure1"), checked_by("tests/contracts/test_models.py::test_pair_by_pair_and_query_by_query_are_one_gradient")),
    topic("LambdaRank", "the gradient at the top counts more; λ_ij = ρ·|ΔZ|", name("podium.LambdaRank"), page("metrics.md#swap-deltas")),
    topic("LambdaMART", "regression trees instead of nets; a leaf's value is Σ λ / Σ w", name("podium.LambdaMART"), page("trees.md"), checked_by("tests/unit/test_trees.py::test_lambdamart_is_the_naive_lambdamart")),
)  # fmt: skip
