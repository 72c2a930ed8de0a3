"""Other people's tokenizers: what a file is, and what is in it."""
