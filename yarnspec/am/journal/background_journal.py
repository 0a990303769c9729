"""The journal of this epoch, as the shell and the driver use it: opened, written, closed, each off the decision path.

Three threads meet here. One opens the journal, which may take HDFS some seconds, and writes the saved outputs of
earlier epochs to a file for the next driver. The shell's thread tells what the core decided. The reader of the driver's
map outputs brings one after the other, and they go to the journal as they are. Answers to the driver wait in threads of
their own (``Replies``).
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

import msgspec
import structlog
import tenacity

from yarnspec.am.journal.replies import Answering, Replies
from yarnspec.am.journal.saved_shuffles import write_saved
from yarnspec.core.journal.carriedtexts import ProgramProgress, lost_of, progress_of, progress_record
from yarnspec.core.journal.journalrecords import (
    ApplicationRegistered,
    EpochBegan,
    JournalRecord,
    MapFinished,
    ShuffleDropped,
    ShuffleFacts,
    ShuffleNotReusable,
    ShuffleRegistered,
)
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.core.journal.overdue import waits_of
from yarnspec.core.lifecycle import refusals
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.carried import parts_of, record_of_part
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.core.recovery.savedwork import Taken, changed, moved_writes, saved_shuffles, saved_writes
from yarnspec.journal.errors import Fenced, JournalStopped
from yarnspec.journal.replay import Past
from yarnspec.journal.writer import Stopped

_log = structlog.get_logger()

_NO_STAGE = -1
_AGAIN_S = 2.0
_WORD_S = 5.0


class OpenJournal(Protocol):
    """A journal that takes records (``yarnspec/journal/writer.py``)."""

    def append(self, record: JournalRecord) -> int:
        """Record a detail soon; returns its sequence number, 0 when nothing is recorded any more."""

    def append_durable(self, record: JournalRecord) -> Future[int]:
        """Record a summary at once."""

    def stop(self, why: str) -> None:
        """Record nothing from now on."""

    def begin_close(self) -> None:
        """Take nothing more."""

    @property
    def fenced(self) -> bool:
        """Whether it stopped because a later epoch has begun."""

    @property
    def refused(self) -> int:
        """How many records do not count."""

    def close(self, deadline_s: float) -> bool:
        """Write what is left."""


Begin = Callable[[Callable[[Stopped], None], Callable[[int], None]], tuple[OpenJournal, Past]]
"""Opens the journal, given who is told when nothing can be written any more, and how far all is on disk."""


class BackgroundJournal:
    """The journal of one epoch.

    Args:
        began: this one's first record.
        begin: opens the journal; called in a thread of its own.
        look: raises Fenced when a later epoch has begun. Any thread may call it, also before the journal is open.
        leave_word: writes to disk, for later epochs, why the journal has nothing of this one.
        leave_refused: writes there how often this epoch was refused something, by kind.
        identify: says which program this is; raises when that cannot be told.
        saved_file: where what the next driver gets is written.
    """

    def __init__(
        self,
        began: EpochBegan,
        *,
        begin: Begin,
        look: Callable[[], None],
        leave_word: Callable[[str], None],
        leave_refused: Callable[[dict[str, int]], None],
        identify: Callable[[], ApplicationRegistered],
        saved_file: Path,
    ) -> None:
        self._began = began
        self._epoch = began.epoch
        self._begin = begin
        self._leave_word = leave_word
        self._leave_refused = leave_refused
        self._identify = identify
        self._saved_file = saved_file
        self._post: Callable[[Event], None] = lambda _: None
        self._journal: OpenJournal | None = None
        self._opened: OpenJournal | None = None
        self._program: ApplicationRegistered | None = None
        self._taken = Taken()
        self._lock = threading.Lock()  # of what is taken, and what of it is on its way to the disk
        self._on_their_way: deque[int] = deque()
        self._durable = 0
        self._last: Future[int] | None = None
        self._replies = Replies(look, leave_word, refused=self._refused)
        self._first_told = False
        self._unsaved = ""
        self._saved = False
        self._closing = threading.Event()
        self._telling = threading.Lock()  # who tells later of refusals tells more of them
        self._opener = threading.Thread(target=self._open, name="journal-open", daemon=True)

    def start(self, post: Callable[[Event], None]) -> None:
        """Open the journal, and tell the core when that is done; ``post`` hands it an event."""
        self._post = post
        self._replies.start(post)
        self._opener.start()

    @property
    def saved_file(self) -> Path | None:
        """The saved outputs of earlier epochs that the next driver gets, or None."""
        return self._saved_file if self._saved else None

    def connected(self, bridge: Answering) -> None:
        """The driver's bridge is there. From any thread."""
        self._replies.connected(bridge)

    def perform(self, command: Command) -> None:
        """Carry out a command that is ``IN_JOURNAL``. For the shell's thread."""
        if isinstance(command, rc.AnswerShuffle | rc.AnswerWrite):
            self._replies.put(command, self._last)
        elif isinstance(command, rc.OfferSaved):
            self._offer(command.shuffles)
        elif self._journal is not None:
            try:
                self._record(self._journal, command)
            except Exception as error:  # what rests on this record must not be found, or answered, without it
                _log.exception("a record could not be made")
                self._journal.stop(f"{type(command).__name__} cannot be recorded: {error}")
                self._last = Future()
                self._last.set_exception(JournalStopped(str(error)))

    def take(self, header: dict[str, Any], blob: bytes) -> None:
        """Record what the driver tells of map outputs. For the reader's thread."""
        journal = self._journal
        shuffle = header.get("shuffle")
        if journal is None or not isinstance(shuffle, int):
            return
        with self._lock:
            if not self._taken.recorded(shuffle):
                return
        match header.get("kind"):
            case "map_finished":
                finished = MapFinished(
                    shuffle=shuffle,
                    index=header["index"],
                    map_id=header["map_id"],
                    stage=header.get("stage", _NO_STAGE),
                    executor_id=header["executor_id"],
                    host=header["host"],
                    epoch=self._epoch,
                    size_bytes=header["bytes"],
                    blob=blob,
                )
                with self._lock:
                    runs_again = self._taken.runs_again(finished)
                    number = 0 if runs_again else journal.append(finished)
                    if number:
                        self._on_their_way.append(number)
                if runs_again:
                    why = "a map of it ran again, and another run may give something else"
                    self._post(rec.RecordingStopped(shuffle=shuffle, why=why))
                elif number and not self._first_told:
                    self._first_told = True
                    self._post(rec.MapOutputsRecorded())
            case "shuffle_facts":
                journal.append(ShuffleFacts(shuffle=shuffle, blob=blob))

    def missed(self, count: int) -> None:
        """Some messages of the driver were lost, and later ones may depend on them. For the same thread."""
        _log.warning("map outputs were lost on their way to the journal", count=count)
        if self._journal is not None:
            self._journal.stop(f"{count} of the driver's messages about map outputs were lost on their way")

    def wait_until_open(self, deadline_s: float) -> None:
        """Wait until the journal is open, or cannot be opened, or that does not come in time."""
        self._opener.join(deadline_s)

    def begin_close(self) -> None:
        """The epoch is over: nothing more is recorded."""
        self._closing.set()
        if self._opened is not None:
            self._opened.begin_close()

    def close(self, deadline_s: float) -> bool:
        """Write what is left; False when that did not end in time or failed."""
        journal = self._opened
        closed = journal is None or journal.close(deadline_s)
        self._tell_refused_soon().join(_WORD_S)
        return closed

    # opening

    def _open(self) -> None:
        try:
            journal, past = self._begin(self._stopped, self._written)
        except Fenced as error:
            self._stopped(Stopped(error.message, fenced=True))
            return
        except Exception as error:  # the job goes on without a journal, whatever the file system says
            _log.exception("the journal could not be opened")
            why = f"the journal could not be opened: {error}"
            self._replies.stopping(Stopped(why, fenced=False))
            threading.Thread(target=self._say_unrecorded, args=(why,), name="journal-word", daemon=True).start()
            self._post(rec.JournalReplayed(off=why))
            self._replies.stopped()
            return
        self._opened = journal
        try:
            program = self._identify()
        except Exception as error:  # whatever it is, what is recorded now can be recognized by nobody
            _log.exception("the program cannot be identified")
            self._give_up(journal, str(error))
            return
        try:
            replayed = self._read(program, past)
        except Exception as error:  # what was put aside on this host cannot be read: nothing of this epoch is recorded
            _log.exception("the journal could not be read")
            self._give_up(journal, f"what earlier epochs recorded could not be read: {error}")
            return
        self._program, self._journal = program, journal
        self._post(replayed)

    def _give_up(self, journal: OpenJournal, why: str) -> None:
        """The journal takes no records, but its directory shuts out earlier epochs and tells later ones why."""
        self._post(rec.JournalReplayed(off=why))
        journal.stop(why)

    def _say_unrecorded(self, why: str) -> None:
        retrying = tenacity.Retrying(
            wait=tenacity.wait_fixed(_AGAIN_S),
            stop=tenacity.stop_when_event_set(self._closing),
            sleep=tenacity.sleep_using_event(self._closing),
        )
        with contextlib.suppress(tenacity.RetryError):
            retrying(self._leave_word, why)

    def _read(self, program: ApplicationRegistered, past: Past) -> rec.JournalReplayed:
        """The journal's account of earlier epochs. The map outputs themselves are in the driver's file then."""
        recorded = past.recorded
        progress = progress_of(recorded)
        carried, carried_problem = parts_of(recorded)
        with self._lock:
            self._taken.past(recorded)
        shuffles = saved_shuffles(recorded)
        other = changed(recorded.application, program)
        usable = [] if other else [one.shuffle for one in shuffles if one.outputs and not one.not_reusable]
        if usable:
            self._save(recorded, usable)
        return rec.JournalReplayed(
            problem=past.problem,
            carried=carried,
            carried_problem=carried_problem,
            changed=other,
            shuffles=shuffles,
            epochs=tuple(sorted(epoch for epoch in recorded.epochs if epoch < self._epoch)),
            waits=waits_of([*recorded.epochs.values(), self._began]),
            progress=progress.epoch,
            jobs=progress.jobs,
            writes=saved_writes(recorded),
            moved_writes=moved_writes(recorded),
            reads=tuple(recorded.reads),
            writes_lost=lost_of(recorded),
        )

    def _save(self, recorded: Recorded, shuffles: list[int]) -> None:
        try:
            outputs = write_saved(self._saved_file, recorded, shuffles)
        except OSError as error:
            # The driver finds none of it and runs everything again.
            self._unsaved = f"{self._saved_file.name} cannot be written: {error.strerror}"
            with contextlib.suppress(OSError):
                self._saved_file.unlink()
            return
        _log.info("saved map outputs are in the driver's file", shuffles=len(shuffles), outputs=outputs)

    def _offer(self, shuffles: tuple[int, ...]) -> None:
        if not shuffles:
            self._save(Recorded(), [])
        if self._unsaved:
            self._post(rec.SavedUnreadable(why=self._unsaved))
        self._saved = not self._unsaved

    def _stopped(self, stopped: Stopped) -> None:
        self._replies.stopping(stopped)
        # Before any answer: what the driver goes on to write then is known to be unrecorded.
        self._post(rec.RecordingEnded(why=stopped.why, fenced=stopped.fenced))
        self._replies.stopped()
        if stopped.fenced:
            self._refused()

    def _refused(self) -> None:
        if not self._closing.is_set():  # else this driver has died, and the later epoch may be its own next driver
            self._tell_refused_soon()

    def _tell_refused_soon(self) -> threading.Thread:
        """Tell the later epoch in a thread, as HDFS may be slow, and early, as this process may be killed soon."""
        teller = threading.Thread(target=self._tell_refused, name="refused-word", daemon=True)
        teller.start()
        return teller

    def _tell_refused(self) -> None:
        """Tell the later epoch how much was refused because of it."""
        with self._telling:
            journal = self._opened
            records = journal.refused if journal is not None and journal.fenced else 0
            counts = {refusals.RECORDS: records, refusals.COMMITS: self._replies.refused_writes}
            refused = {kind: count for kind, count in counts.items() if count}
            if not refused:
                return
            _log.warning("refused, a later epoch has begun", epoch=self._epoch, **refused)
            try:
                self._leave_refused(refused)
            except Exception as error:  # nothing rests on it
                _log.warning("the later epoch does not hear of that", why=str(error))

    def _written(self, number: int) -> None:
        """All up to this record is on disk."""
        with self._lock:
            before = self._durable
            while self._on_their_way and self._on_their_way[0] <= number:
                self._on_their_way.popleft()
                self._durable += 1
        # A driver that has died tells nothing more.
        if self._durable > before and not self._closing.is_set():
            self._post(rec.OutputsDurable(outputs=self._durable))

    # writing

    def _record(self, journal: OpenJournal, command: Command) -> None:
        match command:
            case rc.RecordProgram() if self._program is not None:
                self._last = journal.append_durable(self._program)
            case rc.RecordState(parts=parts):
                for part in parts:
                    journal.append(record_of_part(part))
            case rc.RecordShuffle():
                registered = msgspec.convert(command, ShuffleRegistered, from_attributes=True)
                self._last = journal.append_durable(registered)
                with self._lock:
                    self._taken.begin(registered)
            case rc.RefuseShuffles(shuffles=shuffles, reason=why):
                self._end(*shuffles)
                for shuffle in shuffles:
                    self._last = journal.append_durable(ShuffleNotReusable(shuffle=shuffle, why=why))
            case rc.ForgetShuffle(shuffle=shuffle):
                self._end(shuffle)
                journal.append(ShuffleDropped(shuffle=shuffle))
            case rc.RecordProgress(epoch=epoch, jobs=jobs):
                journal.append(progress_record(ProgramProgress(epoch, jobs)))
            case _:
                for record in command.records():
                    self._last = journal.append_durable(record)

    def _end(self, *shuffles: int) -> None:
        with self._lock:
            for shuffle in shuffles:
                self._taken.end(shuffle)
