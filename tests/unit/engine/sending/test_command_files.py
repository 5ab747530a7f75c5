"""Commands on their way to tasks: small ones in the property, large ones in a file that a task reads by range."""

from __future__ import annotations

from pathlib import Path

import pytest

from braid.engine.commands import BufferedFrom, Command, IngestCommand, RankCommand, ReleaseCommand
from braid.engine.row_ids import RowIds
from braid.engine.sending import command_files
from braid.engine.sending.command_files import CommandSender, receive
from braid.errors import CorruptStateError
from braid.placement.admission import ALWAYS
from braid.plan.layout import Layout
from braid.state.files import LocalFiles
from braid.state.sweeping import step_of
from braid.testing import FailingFiles, InjectedCrash

SLOTS = 4
INGEST = IngestCommand(3, "0a1b2c3d", (None, 7), Layout(0, "partitioned", (8,), (1,)), (None, None), RowIds(0, 2))
RELEASE = ReleaseCommand(3, "0a1b2c3d", (BufferedFrom("f", ALWAYS),), 40, (10, 20, 30), tuple("abcdefghij"))
RANK = RankCommand(3, "0a1b2c3d", (), (), 0, 9)


def sender(path: Path) -> CommandSender:
    return CommandSender(LocalFiles(), str(path))


@pytest.mark.parametrize("inline", [0, 1 << 20], ids=["in a file", "in the property"])
@pytest.mark.parametrize("command", [INGEST, RELEASE, RANK], ids=lambda command: type(command).__name__)
def test_a_task_receives_the_command_of_its_slot(
    command: Command[object], inline: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_files, "INLINE_BYTES", inline)
    parts = command.divide(SLOTS)
    with sender(tmp_path).sent(command, SLOTS) as text:
        written = list((tmp_path / "commands").glob("*"))
        assert len(written) == (inline == 0)
        for slot in range(SLOTS):
            assert receive(type(command), text, slot, str(tmp_path)) == parts[slot if len(parts) > 1 else 0]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_property_of_a_large_command_does_not_grow_with_the_cluster(tmp_path: Path) -> None:
    lengths = []
    for slots in (64, 4096):
        files = tuple(f"0a1b2c3d-{n:012d}-s00001-{n * n * n}.block" for n in range(4 * slots))
        release = ReleaseCommand(3, "0a1b2c3d", (BufferedFrom("f", ALWAYS),), 40, tuple(range(slots - 1)), files)
        with sender(tmp_path).sent(release, slots) as text:
            lengths.append(len(text))
            assert receive(ReleaseCommand, text, slots - 1, str(tmp_path)).compacted == files[slots - 1 :: slots]
    assert max(lengths) < 100


def test_the_name_of_a_file_has_the_step_so_that_it_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_files, "INLINE_BYTES", 0)
    own = sender(tmp_path)
    with own.sent(INGEST, SLOTS), own.sent(INGEST, SLOTS):
        names = [path.name for path in (tmp_path / "commands").iterdir()]
        assert len(names) == 2
        assert {step_of(name) for name in names} == {INGEST.step}


def test_a_failed_job_leaves_no_file_and_a_dead_driver_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_files, "INLINE_BYTES", 0)
    with pytest.raises(ZeroDivisionError), sender(tmp_path).sent(INGEST, SLOTS):
        raise ZeroDivisionError
    assert list((tmp_path / "commands").iterdir()) == []
    dying = CommandSender(FailingFiles(LocalFiles(), 2), str(tmp_path))
    with pytest.raises(InjectedCrash), dying.sent(INGEST, SLOTS):
        pass
    assert len(list((tmp_path / "commands").iterdir())) == 1


@pytest.mark.parametrize("place", [0.05, 0.3, 0.95])
def test_a_damaged_command_is_refused(place: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_files, "INLINE_BYTES", 0)
    with sender(tmp_path).sent(RELEASE, SLOTS) as text:
        path = next((tmp_path / "commands").iterdir())
        content = bytearray(path.read_bytes())
        content[int(len(content) * place)] ^= 1
        path.chmod(0o644)
        path.write_bytes(content)
        with pytest.raises(CorruptStateError, match="command of the driver was damaged"):
            [receive(ReleaseCommand, text, slot, str(tmp_path)) for slot in range(SLOTS)]
