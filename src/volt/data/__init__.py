"""Corpora: a table of them, how to fetch them, how to clean parallel text."""

from volt.data.clean import CleanResult, clean_files
from volt.data.datasets import DATASETS, Dataset
from volt.data.prepare import GetResult, get

__all__ = ["DATASETS", "CleanResult", "Dataset", "GetResult", "clean_files", "get"]
