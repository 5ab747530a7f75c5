"""The start of a join between sites on Spark: whether its sites have hosts, and that these have executors."""

from __future__ import annotations

from pyspark.sql import SparkSession

from braid.errors import StrategyError
from braid.optimizer.strategies import Semijoin, Strategy
from braid.optimizer.strategies.semijoin import sites_of
from braid.plan.join import JoinPlan
from braid.spark.session import is_one_host
from braid.spark.sites.hosts import SiteHosts, wait_for_hosts

WAIT = "spark.braid.siteWaitSeconds"
"""How long a start waits until every site has an executor."""
WAIT_SECONDS = 60.0


def site_hosts(spark: SparkSession, strategy: Strategy, plan: JoinPlan) -> SiteHosts | None:
    """The hosts of a strategy's sites, once all have executors; None if it has no sites, or all in one process."""
    if not isinstance(strategy, Semijoin):
        return None
    sites = sites_of(plan)
    without = [site.name for site in sites if not site.hosts]
    if is_one_host(spark):
        return None
    if without:
        raise StrategyError(
            f"The site {', '.join(without)} has no hosts, but the session runs on {spark.sparkContext.master}.",
            hint="Say which hosts belong to it: braid.Site(name, hosts=[…]), as site=... of its streams.",
        )
    wait_for_hosts(spark, sites, float(spark.conf.get(WAIT, None) or WAIT_SECONDS))
    return SiteHosts(sites, str(spark.sparkContext.getConf().get("spark.driver.host")))
