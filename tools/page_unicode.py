"""Write src/volt/report/unicode.txt: volt's own table of character classes, for the page.

    python tools/page_unicode.py > src/volt/report/unicode.txt

Run it when src/core/base/unicode_tables.inc has changed. The Unicode version, then where the class
changes, as differences, and to what (`volt.report.compact.packed`).
"""

from volt import _core
from volt.report.compact import packed


def main() -> None:
    numbers: list[int] = []
    before, start = -1, 0
    for code_point in range(0x110000):
        found = _core.unicode_class(code_point)
        if found != before:
            numbers += [code_point - start, found]
            before, start = found, code_point
    print(_core.unicode_version, packed(numbers))


if __name__ == "__main__":
    main()
