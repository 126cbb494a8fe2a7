"""Pictures of what was learned. They need matplotlib: ``pip install 'mercer[app]'``."""

from .shapes import plot_shapes

__all__ = ["plot_shapes"]
