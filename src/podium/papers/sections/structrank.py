"""StructRank (NIPS 2008), section by section."""

from podium.papers.sections.topic import Topics, checked_by, command, experiment, name, page, topic

TOPICS: Topics = (
    topic("§1", "an observation gives preferences on a few objects: partial orderings are enough", name("podium.Pairs"), checked_by("tests/unit/test_structrank.py::test_preferences_given_as_pairs_alone_are_learned_from")),
    topic("§2", "cumulative distribution networks: the joint CDF as a product of local functions (eq 1)", page("forces.md#structrank-preferences-that-depend-on-each-other"), checked_by("tests/unit/test_source_claims.py::test_a_network_of_preferences_is_a_distribution_function")),
    topic("§3", "order graphs from labels or from pairwise preferences", page("data.md"), checked_by("tests/unit/test_structrank_force.py::test_preferences_of_labels_are_those_given_one_by_one")),
    topic("§3", "labels of different observations need not be comparable: only preferences within a query count", page("structrank.md")),
    topic("§3", "the loss −log F of all preferences of an observation at once (eq 4–6)", page("structrank.md"), checked_by("tests/unit/test_structrank_force.py::test_the_formula_on_two_preferences")),
    topic("§3.1", "a preference variable per edge; all of them connected, or some", command('podium laws "structrank(independent)" --draws 5'), command('podium laws "structrank(random)" --draws 5')),
    topic("§3.1", "one network at a time, in an online fashion", checked_by("tests/unit/test_structrank.py::test_a_pass_takes_one_step_per_query_along_those_slopes")),
    topic("§4", "the Nadaraya–Watson estimator with one width per feature (eq 7)", page("models.md#nadarayawatson"), command('podium train train.txt --force listnet --model "nadaraya-watson(references=50)" --epochs 2 --out nw.podium'), checked_by("tests/contracts/test_nadaraya_watson.py::test_scores_and_slopes_are_the_formulas")),
    topic("§4", "bivariate sigmoids with weights w₁, w₂ > 0 (eq 8–9)", page("forces.md#structrank-preferences-that-depend-on-each-other"), name("podium.StructRank")),
    topic("§4", "the constraints θ ≥ 0 and ‖θ‖₁ ≤ t (eq 10)", checked_by("tests/unit/test_structrank.py::test_no_step_leaves_the_feasible_set"), page("structrank.md")),
    topic("§5", "precision, MAP and NDCG", page("metrics.md#the-table"), command("podium evaluate baseline.scores train.txt -m p@5 -m map -m ndcg@5")),
    topic("§5", "OHSUMED: five folds of 63, 21 and 22 queries", experiment("e-figure4"), name("podium.read_folds")),
    topic("§5", "features normalized within each observation", command("podium data normalize train.txt scaled.txt --method minmax"), page("structrank.md#features-of-a-query-on-one-scale")),
    topic("§5", "constrained stochastic gradients: a step that leaves the feasible set is made smaller", command("podium train train.txt --valid vali.txt --ranker structrank --epochs 2 --set starts=1 --set norm=10 --set step=shrink --out feasible.podium"), page("structrank.md")),
    topic("§5", "rate 0.5, × 1/√2 after each of 10 epochs; parameters start in [0, 1]", page("structrank.md"), checked_by("tests/unit/test_structrank.py::test_every_norm_sees_the_same_starts_and_the_best_is_kept")),
    topic("§5", "t chosen on validation, three starts, the best validation MAP kept", command("podium train train.txt --valid vali.txt --ranker structrank --epochs 2 --set starts=3 --set norm=5,20 --out starts.podium"), checked_by("tests/unit/test_structrank.py::test_every_norm_sees_the_same_starts_and_the_best_is_kept")),
    topic("§5", "the full network against independent preferences and the LETOR baselines: Figure 4", experiment("e-figure4"), page("structrank.md#on-ohsumed")),
    topic("§6.1", "RankNet is a network of independent preferences", checked_by("tests/unit/test_structrank_force.py::test_independent_preferences_are_ranknet")),
    topic("§6.1", "ListNet and ListMLE are products of multivariate sigmoids", checked_by("tests/unit/test_structrank_force.py::test_listmle_is_a_product_of_sigmoids_of_many_gaps"), checked_by("tests/unit/test_structrank_force.py::test_listmle_of_three_documents_is_a_network_of_their_preferences")),
    topic("§6.2", "connections to measures such as NDCG", command("podium laws structrank --metric ndcg --draws 5"), page("laws.md#which-laws-the-built-in-forces-obey")),
    topic("§6.2", "averages of randomly connected networks, fast to learn", command('podium train train.txt --force "structrank(random)" --epochs 2 --out random.podium'), checked_by("tests/unit/test_structrank_force.py::test_random_partners_equal_the_full_network_on_average")),
    topic("§6.2", "other estimators than Nadaraya–Watson, such as neural nets", command('podium train train.txt --force structrank --model "net(5)" --epochs 2 --out net.podium'), experiment("forces-by-classes")),
)  # fmt: skip
