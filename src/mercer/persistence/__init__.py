"""Fitted estimators in files, without pickle: to load a file from a stranger does not run code."""

from mercer.persistence.errors import ModelFileError
from mercer.persistence.model_file import describe, load, save
from mercer.persistence.notes import Description

__all__ = ["Description", "ModelFileError", "describe", "load", "save"]
