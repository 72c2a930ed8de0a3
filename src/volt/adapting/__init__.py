"""Change tokenizers that exist: refit, extend, join, and the checkpoints that use them."""
