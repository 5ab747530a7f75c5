"""Spark's analyzer at work for Braid: texts in, conjuncts and outputs out, every mistake raised on the way."""

from braid.runtime.analysis.analyzer import Analyzer
from braid.runtime.analysis.references import AnalyzedStream

__all__ = ["AnalyzedStream", "Analyzer"]
