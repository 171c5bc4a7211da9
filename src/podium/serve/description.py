"""The description of the interface for OpenAPI, and of the models for clients."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.data.feature_names import feature_name
from podium.serve.answers import (
    ARROW,
    JSON,
    RAW,
    RankAnswer,
    RankQueriesAnswer,
    ScoreAnswer,
    ScoreQueriesAnswer,
)
from podium.serve.problems import ProblemAnswer
from podium.serve.registry import Registry, ServedModel

NAMES = "#/components/schemas/{name}"
ARROW_FILE = "application/vnd.apache.arrow.file"


class VersionInfo(msgspec.Struct):
    """A version of a model: its name, role and share of the requests, the beginning of its file's checksum, and its features.

    Categories are listed in the order of their codes, for each categorical feature; null if only codes are known.
    """

    version: str
    role: str
    share: float
    fingerprint: str
    features: int
    feature_names: list[str] | None
    categories: dict[str, list[str] | None] | None


class ModelInfo(msgspec.Struct):
    """A model and its versions, the one that answers first."""

    name: str
    versions: list[VersionInfo]


class ModelsAnswer(msgspec.Struct):
    """All models of a service."""

    models: list[ModelInfo]


def models_answer(registry: Registry) -> bytes:
    """Return the models as JSON."""
    models = []
    for name, deployment in registry.deployments.items():
        versions = []
        for model in deployment.versions:
            role, share = "default", 1 - deployment.canary_share
            if model is not deployment.default:
                role, share = "other", 0.0
            if model is deployment.canary:
                role, share = "canary", deployment.canary_share
            elif model is deployment.shadow:
                role = "shadow"
            names = model.scorer.feature_names
            versions.append(
                VersionInfo(
                    model.version,
                    role,
                    share,
                    model.fingerprint,
                    model.n_features,
                    None if names is None else list(names),
                    _categories(model),
                )
            )
        models.append(ModelInfo(name, versions))
    return msgspec.json.encode(ModelsAnswer(models))


def _categories(model: ServedModel) -> dict[str, list[str] | None] | None:
    found = model.scorer.categories
    if found is None:
        return None
    names = model.scorer.feature_names
    return {feature_name(column, names): None if each is None else list(each) for column, each in found.items()}


def describe_scoring(schema: dict[str, Any], *, secured: bool) -> dict[str, Any]:
    """Add the addresses of scoring to a description by FastAPI, and the answers to requests that are refused."""
    answers = (ScoreAnswer, RankAnswer, ScoreQueriesAnswer, RankQueriesAnswer, ProblemAnswer, ModelsAnswer)
    references, components = msgspec.json.schema_components(answers, ref_template=NAMES)
    score, rank, scores, ranks, problem, models = references
    schema.setdefault("components", {}).setdefault("schemas", {}).update({**components, "Documents": _request_schema()})
    paths = schema["paths"]
    paths["/v1/models/{name}/score"] = {
        "post": _operation("score", "One score per document, in the order of the request.", [score, scores], problem)
    }
    paths["/v1/models/{name}/rank"] = {
        "post": _operation("rank", "The best documents of each query, the best first.", [rank, ranks], problem)
    }
    paths["/v1/models"]["get"]["responses"]["200"]["content"] = {JSON: {"schema": models}}
    paths["/metrics"]["get"]["responses"]["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    if secured:
        schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, methods in paths.items():
            if path not in ("/healthz", "/readyz"):
                for operation in methods.values():
                    operation["security"] = [{"key": []}]
                    operation["responses"].setdefault("401", _problem("The API key is missing or wrong.", problem))
    return schema


def _request_schema() -> dict[str, Any]:
    number = {"type": ["number", "string", "null"]}
    query = {
        "features": {
            "type": "array",
            "description": "One array per document, with every feature in the model's order; null is a missing value.",
            "items": {"type": "array", "items": number},
        },
        "documents": {
            "type": "array",
            "description": "One object per document, with features by name; a feature that is left out is missing.",
            "items": {"type": "object", "additionalProperties": number},
        },
        "ids": {
            "type": ["array", "null"],
            "description": "One id per document.",
            "items": {"type": ["string", "integer"]},
        },
    }
    k = {"type": ["integer", "null"], "minimum": 0, "description": "How many documents of each query to rank."}
    several = {
        "type": "array",
        "items": {"type": "object", "properties": query, "additionalProperties": False},
    }
    return {
        "oneOf": [
            {
                "type": "object",
                "required": [kind],
                "additionalProperties": False,
                "properties": {kind: query[kind], "ids": query["ids"], "k": k},
            }
            for kind in ("features", "documents")
        ]
        + [
            {
                "type": "object",
                "required": ["queries"],
                "additionalProperties": False,
                "properties": {"queries": several, "k": k},
            }
        ]
    }


def _operation(name: str, summary: str, answers: list[dict[str, Any]], problem: dict[str, Any]) -> dict[str, Any]:
    binary = {"schema": {"type": "string", "format": "binary"}}
    parameters = [
        {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}, "description": "The model."},
        _parameter("version", {"type": "string"}, "The version that answers, instead of the one the service chooses."),
        _parameter("k", {"type": "integer", "minimum": 0}, "How many documents of each query to rank."),
        _parameter(
            "sizes",
            {"type": "string", "pattern": "^[0-9]+(,[0-9]+)*$"},
            "How many documents each query of a binary body has, as in 3,5.",
        ),
        _parameter(
            "features",
            {"type": "integer", "minimum": 0},
            "How many features a document has; the request is refused if the model was trained on another number.",
        ),
    ]
    refused = {
        "400": "The body cannot be read.",
        "401": "The API key is missing or wrong.",
        "404": "There is no such model or version.",
        "408": "The request did not arrive in time.",
        "413": "The request is beyond a limit.",
        "415": "The format of the body is not known.",
        "422": "The body or a parameter makes no sense.",
        "503": "The service is busy.",
    }
    return {
        "tags": ["models"],
        "summary": summary,
        "operationId": name,
        "parameters": parameters,
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": {"$ref": NAMES.format(name="Documents")}},
                RAW: {"schema": {"type": "string", "format": "binary", "description": "float32, row after row."}},
                ARROW: binary,
                ARROW_FILE: binary,
            },
        },
        "responses": {
            "200": {
                "description": summary,
                "headers": {"x-model-version": {"schema": {"type": "string"}}},
                "content": {JSON: {"schema": {"anyOf": answers}}, RAW: binary, ARROW: binary},
            },
            **{status: _problem(text, problem) for status, text in refused.items()},
        },
    }


def _parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _problem(text: str, problem: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {JSON: {"schema": problem}}}
