"""Volt tokenizers behind the interfaces of other libraries."""
