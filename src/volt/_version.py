"""The version of volt, written into every artifact."""

__version__ = "0.1.0"
