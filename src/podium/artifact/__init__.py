"""Artifacts: one file per model, safetensors with a JSON header. Nothing is ever unpickled."""

from podium.artifact.file import FORMAT, Artifact, is_artifact, load_artifact, save_artifact

__all__ = ["FORMAT", "Artifact", "is_artifact", "load_artifact", "save_artifact"]
