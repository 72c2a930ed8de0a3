"""volt's tokenizers with the interfaces of other libraries."""
