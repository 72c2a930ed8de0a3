"""Slow, plain twins of the native code. Read these first; the tests check that both agree.

They follow the text on its way to a vocabulary and back:

1. `words`      a line of text is cut into words, and the words are counted
2. `merges`     byte-pair encoding and WordPiece: the words' characters are merged into tokens
3. `pieces`     candidates that are not merged from others, and how words are cut with them
4. `curve`      how often each token occurs, entropy, and the criteria that compare sizes
5. `splits`     how many occurrences of each word are held out
6. `quality`    how well tokens predict the held-out words
7. `transport`  the sums of one iteration of the optimal transport solver
8. `profiles`   two other readings of the paper's transport
9. `selection`  sets of tokens that cut words into as few as possible, and the bound for all sets
10. `encode`    text becomes tokens by merging; `look_up` finds tokens in a word instead
11. `volt_json` the tokens as they are written to a file
12. `token_files`  ids as training programs read them, with an eos after each document
13. `character_map`  what SentencePiece does to text first
14. `token_texts`  what is found out about all tokens of a file at once
15. `tokenizer_json`  the vocabulary and the merges of a tokenizer.json

Only tests import this package.

>>> counts = words.count_words(["low low lower"], "whitespace")
>>> counts
{'low': 2, 'lower': 1}
>>> merges.bpe(counts, "whitespace", merges=2).merges
[('l', 'o'), ('lo', 'w</w>')]
"""

from importlib import import_module
from pkgutil import iter_modules

__all__ = [module.name for module in iter_modules(__path__)]
for _name in __all__:
    import_module(f"{__name__}.{_name}")
