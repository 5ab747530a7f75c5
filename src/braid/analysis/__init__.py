"""Analysis by Spark's analyzer: texts become conjuncts and outputs, and every mistake is raised."""

from braid.analysis.aggregates import Grouping, analyze_grouping, require_plain
from braid.analysis.analyzer import Analyzer, require_few
from braid.analysis.references import AnalyzedStream, quote

__all__ = ["AnalyzedStream", "Analyzer", "Grouping", "analyze_grouping", "quote", "require_few", "require_plain"]
