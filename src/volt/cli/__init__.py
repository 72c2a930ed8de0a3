"""The command line: one file a command; parse, call, print. Data on stdout, words on stderr."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run `volt`. Exit 0 done, 1 a negative answer, 2 bad usage or bad input."""
    from volt.cli.app import app
    from volt.errors import VoltError

    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(args=arguments, prog_name="volt")
    except VoltError as error:
        if debug:
            raise
        print(f"volt: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has gone; say nothing, and keep Python from saying it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        if debug:
            raise
        print("volt: interrupted", file=sys.stderr)
        sys.exit(130)
