"""Errors and warnings that users may see. Each says what is wrong, where, and what to do."""

from __future__ import annotations


class VoltError(Exception):
    """Base of every error volt raises on purpose. The command line prints it and exits 2."""


class InputError(VoltError):
    """Text or a file that cannot be read as what it should be."""


class UnreadableError(InputError):
    """A file that the system can't read: an error also where one that makes no sense is only left
    out."""


class SettingsError(VoltError, ValueError):
    """An option that makes no sense, or that contradicts what an artifact was made with."""


class ArgumentTypeError(InputError, SettingsError, TypeError):
    """An argument that is not of the type that a function takes."""


class TransportError(VoltError):
    """A transport problem that has no solution, or whose solution was not reached."""


class VoltWarning(UserWarning):
    """Something the user should know; the work continues. The command line prints it as a note."""
