"""Files in the storage of a site that are no longer needed: only tasks of the site can remove them."""

from __future__ import annotations

from braid.engine.commands import SiteCommand
from braid.placement.sites import site_of, units_of_site
from braid.state.files import Files
from braid.state.object_stores.many_files import delete_all
from braid.state.sweeping import step_of


def remove_unneeded(command: SiteCommand, unit: int, files: Files, directory: str) -> None:
    """Delete what no kept record names, in the storage of a unit's site; its first unit does that for all.

    With `named` files, everything else up to the step before this is what an earlier run has left.
    """
    if unit != units_of_site(command.layout, site_of(command.layout, unit)).start or not command.removes:
        return
    unneeded = list(command.unneeded)
    if command.named:
        known = {*command.named, *command.unneeded}
        found = ((name, step_of(name)) for name in files.list(directory.rstrip("/")))
        unneeded += [name for name, step in found if name not in known and step is not None and step < command.step]
    delete_all(files, [f"{directory.rstrip('/')}/{name}" for name in unneeded])
