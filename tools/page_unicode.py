"""Write src/volt/report/unicode.txt: volt's own table of character classes, for the page.

    python tools/page_unicode.py > src/volt/report/unicode.txt

Run it when src/core/base/unicode_tables.inc has changed. The Unicode version, then where the class
changes, as differences, and to what (`volt.report.compact.packed`). The classes are those of
src/volt/report/words.js.
"""

from volt import _core
from volt.report.compact import packed_whole

LETTER, UPPER, SIGN = 1, 5, 7


def class_of(code_point: int) -> int:
    """The class of the core, where letters also have a case and signs a class of their own."""
    found = _core.unicode_class(code_point)
    if found == LETTER and (case := _core.letter_case(code_point)):
        return UPPER + case - 1
    return SIGN if found == 0 and _core.is_sign(code_point) else found


def main() -> None:
    numbers: list[int] = []
    before, start = -1, 0
    for code_point in range(0x110000):
        found = class_of(code_point)
        if found != before:
            numbers += [code_point - start, found]
            before, start = found, code_point
    print(_core.unicode_version, packed_whole(numbers))


if __name__ == "__main__":
    main()
