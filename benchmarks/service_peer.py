"""The service that an engineer writes in ten minutes: FastAPI validates the JSON, LightGBM scores it."""

from __future__ import annotations

import os

import lightgbm
import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
booster = lightgbm.Booster(model_file=os.environ["PEER_MODEL"])
options = {"num_threads": int(os.environ["PEER_THREADS"])} if "PEER_THREADS" in os.environ else {}


class Documents(BaseModel):
    features: list[list[float]]


class Scores(BaseModel):
    scores: list[float]


@app.post("/score")
def score(documents: Documents) -> Scores:
    return Scores(scores=booster.predict(np.array(documents.features), **options).tolist())
