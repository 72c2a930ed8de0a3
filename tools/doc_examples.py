"""Run the examples of the documentation and write what they print: make docs-examples.

A page's examples run in order, in one empty folder:

    ```console      commands after `$ `, each followed by its output. A line `...` stands for any
    $ volt ...      lines, and `...` inside a line for anything. What differs is written again.
    ```
    ```python       run; with `>>> ` it is a doctest and its output is compared

`<!-- first: COMMAND -->` is run and not shown. `<!-- not run: REASON -->` stands before a block
that can't be run here, `<!-- needs: NAME -->` before one that reads the corpus NAME of VOLT_DATA.

`volt` runs in this process, which saves half a second per command; all else is given to a shell.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md"]
PAGES += [one for one in sorted((ROOT / "docs").glob("*.md")) if one.name != "api.md"]
"""api.md is made from docstrings, whose examples have a test of their own."""

PART = re.compile(
    r"^<!-- first: (?P<first>.*?) -->\n"
    r"|^(?:<!-- not run: (?P<why>.+?) -->\n)?(?:<!-- needs: (?P<data>.+?) -->\n)?"
    r"```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```\n",
    re.M | re.S,
)
EXAMPLE = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.M)
SHELL = re.compile(r"[|<>&;*~`$]")
"""What only a shell understands."""


# ----------------------------------------------------------------------------------------- running


@contextmanager
def chdir(path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


class Folder:
    """Where the examples of a page run, and what they have defined."""

    def __init__(self, path: Path):
        self.path = path
        self.status = 0
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, command: str) -> str:
        """What a command prints, stdout and stderr together, as on a terminal."""
        command = command.replace("$?", str(self.status))
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        if words[0] == "volt" and not SHELL.search(re.sub(r"'[^']*'", "", command)):
            with self.captured() as output:
                self.status = run_volt(words[1:])
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            done = subprocess.run(
                command, shell=True, cwd=self.path, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, check=False, timeout=600,
                env={**os.environ, "PATH": path},
            )  # fmt: skip
            output, self.status = io.BytesIO(done.stdout), done.returncode
        return output.getvalue().decode()

    def link(self, corpus: str) -> bool:
        """Make a corpus of VOLT_DATA visible; is it there?"""
        source = Path(os.environ.get("VOLT_DATA", ""), corpus).resolve()
        here = self.path / corpus
        if "VOLT_DATA" not in os.environ or not source.is_dir():
            return False
        here.mkdir(exist_ok=True)
        for file in source.iterdir():
            link = here / file.name.removesuffix(".xz")
            if not link.exists():
                link.symlink_to(file)
        return True

    def execute(self, code: str, place: str) -> None:
        """Run Python; its output is not shown, so it is not looked at."""
        with self.captured():
            exec(compile(code, place, "exec"), self.names)

    def doctest(self, code: str, place: str) -> str:
        """What is wrong with a doctest; nothing if it is right."""
        test = doctest.DocTestParser().get_doctest(code, self.names, place, place, 0)
        self.names, said = test.globs, io.StringIO()
        with chdir(self.path):
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
                test, out=said.write, clear_globs=False
            )
        return said.getvalue()

    @contextmanager
    def captured(self) -> Iterator[io.BytesIO]:
        """stdout and stderr in one file, which has a number as native code needs."""
        output = io.BytesIO()
        with tempfile.TemporaryFile(buffering=0) as file, chdir(self.path):
            stream = io.TextIOWrapper(file, encoding="utf-8", write_through=True)  # type: ignore[type-var]
            with redirect_stdout(stream), redirect_stderr(stream), warnings.catch_warnings():
                yield output
            stream.flush()
            file.seek(0)
            output.write(file.read())
            stream.detach()


def run_volt(arguments: list[str]) -> int:
    """What `volt.cli.main` does, but for signals and the settings of a whole process."""
    from volt.base.errors import VoltError
    from volt.cli import _explained, _show_warnings
    from volt.cli.app import app

    warnings.resetwarnings()
    _show_warnings(quiet=bool({"-q", "--quiet"} & {*arguments}))
    try:
        app(args=arguments, prog_name="volt")
    except SystemExit as end:
        return int(end.code or 0)
    except (VoltError, OSError) as error:
        print(f"volt: {_explained(error)}", file=sys.stderr)
        return 2
    return 0


# --------------------------------------------------------------------------------------- comparing


VERSION = re.compile(r"\b(tokenizers|sentencepiece|tiktoken) \d[\w.]*\w")


def agrees(expected: str, output: str) -> bool:
    """Whichever version of a library is installed."""
    same = [VERSION.sub(r"\1 X", text) for text in (expected, output)]
    return doctest.OutputChecker().check_output(*same, doctest.ELLIPSIS)


def renewed(expected: str, output: str) -> str:
    """The output, with what was left out before left out again: from the line that begins as the
    last one before it, else from the same number of lines on."""
    head, *tail = re.split(r"^\.\.\.\n", expected, flags=re.M)
    lines = output.splitlines(keepends=True)
    if len(tail) != 1:
        return output
    first, last = head.count("\n"), tail[0].count("\n")
    start = re.match(r" *\S+(?= )", head.splitlines()[-1] if head else "")
    found = [i for i, line in enumerate(lines) if start and line.startswith(start[0])]
    if found:
        first = found[0] + 1
        while first < len(lines) and lines[first].startswith(" " * 12):  # folded
            first += 1
    if len(lines) <= first + last:
        return output
    return "".join([*lines[:first], "...\n", *lines[len(lines) - last :]])


def written(page: str, name: str) -> str:
    """The page with the output of all its examples. An error in Python is raised."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Folder(Path(temporary).resolve())

        def example(match: re.Match[str]) -> str:
            output = folder.run(match["command"])
            if agrees(match["output"], output):
                return match[0]
            return f"$ {match['command']}\n{renewed(match['output'], output)}"

        def part(match: re.Match[str]) -> str:
            body, place = match["body"], f"{name}:{page.count(chr(10), 0, match.start()) + 1}"
            if match["first"]:
                folder.run(match["first"])
            elif match["why"] or (match["data"] and not folder.link(match["data"])):
                return match[0]
            elif match["language"] == "console":
                return match[0].replace(body, EXAMPLE.sub(example, body))
            elif match["language"] == "python" and ">>> " in body:
                if wrong := folder.doctest(body, place):
                    raise AssertionError(wrong)
            elif match["language"] == "python":
                folder.execute(body, place)
            return match[0]

        return PART.sub(part, page)


def has_examples(page: str) -> bool:
    return bool(re.search(r"^```(console|python)\n", page, re.M))


if __name__ == "__main__":
    os.environ |= {"NO_COLOR": "1", "COLUMNS": "80"}
    for path in [Path(one).resolve() for one in sys.argv[1:]] or PAGES:
        text = path.read_text(encoding="utf-8")
        if has_examples(text) and (new := written(text, path.name)) != text:
            path.write_text(new, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: written again")
