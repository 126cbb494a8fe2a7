"""``python -m reproduction``: published tables and figures, reproduced and set beside the originals."""

from typing import TYPE_CHECKING

from mercer.cli import run_app

if TYPE_CHECKING:
    import typer


def load_app() -> "typer.Typer":
    """Import the command, and return it; Ctrl-C meanwhile ends it without a traceback."""
    from reproduction.command import app

    return app


if __name__ == "__main__":
    run_app("python -m reproduction", load_app)
