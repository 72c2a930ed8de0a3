"""Choice -> Tokenizer: the fourth arrow."""
