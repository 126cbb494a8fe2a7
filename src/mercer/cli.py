"""The command ``mercer``. Each of its commands lives in the room whose work it does; here they only meet."""

import sys
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer

NEEDED = ("typer", "rich")  # of the extra `app`; `import mercer` needs neither
EXAMPLES = """For example:

\b
  mercer papers                                                what there is
  mercer papers ll05-table1 --data twonorm,wdbc --repeats 5    a table, offline, in a minute
"""


def main() -> None:
    """Run the command line; without the extra `app`, say in a sentence how to get it."""
    if not all(map(find_spec, NEEDED)):
        sys.exit("The command `mercer` needs a few more packages: pip install 'mercer[app]'")
    make_app()()


def make_app() -> "typer.Typer":
    """Return the application with all its commands."""
    import typer

    from mercer.papers import command as papers

    app = typer.Typer(
        name="mercer",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # examples keep their lines
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"mercer {version('mercer')}")
            raise typer.Exit

    @app.callback(epilog=EXAMPLES)
    def mercer(
        show_version: Annotated[
            bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
        ] = False,
    ) -> None:
        """Learn the kernel that your data needs."""

    app.command(epilog=papers.EXAMPLES)(papers.papers)
    return app


if __name__ == "__main__":
    main()
