"""Sites: where a stream arises, the hosts whose executors belong to it and the storage that only they read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from braid.errors import StrategyError


@dataclass(frozen=True, init=False)
class Site:
    """A named site. Without `hosts` its units are those of one process; without `storage`, the checkpoint's."""

    name: str
    hosts: tuple[str, ...]
    storage: str | None

    def __init__(self, name: str, hosts: Sequence[str] = (), storage: str | None = None) -> None:
        object.__setattr__(self, "name", _checked_name(name))
        object.__setattr__(self, "hosts", _checked_hosts(name, hosts))
        object.__setattr__(self, "storage", _checked_storage(name, storage))


def site_of(value: str | Site) -> Site:
    """A site as the user gives it: by name alone, or with hosts and storage."""
    return value if isinstance(value, Site) else Site(value)


def distinct_sites(sites: Iterable[Site]) -> tuple[Site, ...]:
    """The sites of a query by name, each once; refuses two descriptions of one site and a host of two sites."""
    by_name: dict[str, Site] = {}
    site_of_host: dict[str, str] = {}
    for site in sites:
        if by_name.setdefault(site.name, site) != site:
            raise StrategyError(
                f"The site {site.name} is described in two ways: {by_name[site.name]} and {site}.",
                hint="Create the Site once and pass it to every stream that arises there.",
            )
        for host in site.hosts:
            if site_of_host.setdefault(host, site.name) != site.name:
                raise StrategyError(
                    f"The host {host} belongs to two sites: {site_of_host[host]} and {site.name}.",
                    hint="A task runs at one site: list each host in one of them.",
                )
    return tuple(by_name[name] for name in sorted(by_name))


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise StrategyError(
            f"A site must have a name, but got {name!r}.", hint='Write site="eu" or Site("eu", hosts=["host1"]).'
        )
    return name


def _checked_hosts(name: str, hosts: object) -> tuple[str, ...]:
    listed = tuple(hosts) if isinstance(hosts, Sequence) and not isinstance(hosts, str) else None
    if listed is None or not all(isinstance(host, str) and host.strip() for host in listed):
        raise StrategyError(
            f"The hosts of the site {name} must be a list of host names, but are {hosts!r}.",
            hint=f'Write Site("{name}", hosts=["host1", "host2"]), with the names that Spark\'s executors have.',
        )
    if len(set(listed)) < len(listed):
        raise StrategyError(f"The hosts of the site {name} repeat: {', '.join(listed)}.", hint="List each host once.")
    return listed


def _checked_storage(name: str, storage: object) -> str | None:
    if storage is not None and (not isinstance(storage, str) or not storage.strip()):
        raise StrategyError(
            f"The storage of the site {name} must be a path, but is {storage!r}.",
            hint="Give a directory or URL that all hosts of the site reach, or leave it out.",
        )
    return storage
