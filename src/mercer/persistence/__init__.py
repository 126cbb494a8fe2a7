"""Fitted estimators in files, without pickle: to load an untrusted file does not run code."""

from mercer.persistence.errors import ModelFileError
from mercer.persistence.metadata import Description
from mercer.persistence.model_file import describe, load, save

__all__ = ["Description", "ModelFileError", "describe", "load", "save"]
