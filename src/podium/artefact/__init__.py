"""Artefacts: one file a model, safetensors with a JSON header. Nothing is ever unpickled."""

from podium.artefact.file import FORMAT, Artefact, is_artefact, load_artefact, save_artefact

__all__ = ["FORMAT", "Artefact", "is_artefact", "load_artefact", "save_artefact"]
