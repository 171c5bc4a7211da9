"""Search for good settings: a thin layer over Optuna (extra `tune`), which is imported only when a search begins.

`ranges` turns ranges into Optuna's distributions, `study` chooses the sampler and the pruner and keeps the trials in one
`journal` file, `objective` trains and judges one trial, `workers` does that in other processes, and `search` ties them together.
"""
