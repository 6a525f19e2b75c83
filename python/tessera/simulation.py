"""A network of nodes in virtual time, as a Python iterator over what was measured."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tessera import _tessera
from tessera.own import lines_of

_CHECKPOINT_SECONDS = 60.0


class Simulation:
    """Everything `tessera sim` takes, from a script.

    file      an experiment's file, or None; keywords win over it
    learner   your own training: a TorchLearner, or any object like tessera.Learner; None takes `data`, `model` and
              `training` from the experiment
    out       the run's folder, as `tessera sim --out`: rows, checkpoints, summary; None keeps everything in memory
    existing  what to do if `out` holds a run: "refuse", "resume" or "overwrite". Resumed with more rounds or more time
              in `protocol`, a run becomes longer, to the bits of one that was as long from the beginning; with other
              GPUs, or another chunk or memory of them, in `device` it goes on there
    keep      whether to leave a checkpoint in `out` from which a run that came to its end can be made longer
    threads   of the CPU; 0 takes one per core
    progress  whether to show a bar: tqdm where it is installed, else nothing

    Further keywords are the lines of an experiment: nodes=16, seed=90, sharing="jwins", protocol="dpsgd:rounds=100",
    network="links:up=1MB/s", ... `tessera list` and docs/ know them all. A wrong one raises ValueError.
    `sharing` and `protocol` may also be classes of your own: see tessera.Sharing and tessera.Protocol.

    Iterating runs the simulation and yields a dict for every evaluation. An exception of the learner, or Ctrl-C,
    comes out of the loop; with `out` there is a checkpoint by then, and existing="resume" goes on from it to the same
    bits.
    """

    def __init__(self, file: str | os.PathLike[str] | None = None, *, learner: Any = None,
                 out: str | os.PathLike[str] | None = None, existing: str = "refuse", keep: bool = False,
                 threads: int = 0, progress: bool = False, **lines: Any) -> None:
        known = dict(_tessera.experiment_keys())
        for key in lines:
            if key not in known:
                raise ValueError(f"an experiment has no line '{key}'. Known: {', '.join(known)}.")
        if learner is not None:
            for key in ("data", "model", "training", "partition", "device"):
                if key in lines:
                    raise ValueError(f"learner and {key}={lines[key]!r}: a learner of your own brings its {key}")
            lines = {"model": "quadratic"} | lines  # A line that needs no data; the learner takes its place.
        keys = lines_of(lines)
        self._run = _tessera.Run(os.fspath(file) if file else "", keys, learner, threads)
        self._folder: _tessera.Folder | None = None  # Held while the run goes on, and no longer.
        self._existing, self._keep, self._kept = existing, keep, False
        self._former = ""  # The text of the run in the folder, where this one is longer or elsewhere on its device.
        if out:
            self._former = self._run.former_in(os.fspath(out)) if existing == "resume" else ""
            _tessera.check_folder(os.fspath(out), self._run.config, existing, self._former)
        self._learner = learner
        self._progress = progress
        self._state = "new"
        self.out = out
        self.rows: list[dict[str, Any]] = []

    @property
    def config(self) -> str:
        """The experiment with every default written out, as TOML."""
        return self._run.config

    @property
    def rounds_done(self) -> int:
        """Rounds that every node has completed."""
        return self._run.rounds_done

    @property
    def digest(self) -> int:
        """A number that two runs share if and only if their models are the same to the bit."""
        return self._run.digest

    @property
    def nodes(self) -> int:
        """How many there are."""
        return self._run.nodes

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self._state == "finished":
            return
        if self._state == "failed":
            raise RuntimeError("this run was stopped by an error: make a new one, with existing='resume' to go on")
        bar, saved_at = None, time.monotonic()
        try:
            self._begin()
            bar = self._bar()
            while self._state == "running":
                self._keep_the_last()
                with _interrupts_wait():
                    if not self._run.advance(stop_before_end=self._keep and not self._kept):
                        self._state = "finished"
                for row in self._take_rows():
                    if bar is not None:
                        bar.update(row["round"] - bar.n)
                    yield row
                if self._folder and not self._kept and time.monotonic() - saved_at > _CHECKPOINT_SECONDS:
                    self.checkpoint()
                    saved_at = time.monotonic()
            self._end()
        except (KeyboardInterrupt, GeneratorExit):
            self._checkpoint_on_the_way_out()
            raise
        except Exception:
            # The cohort may be half trained, so what was saved before is what a resumed run goes on from.
            self._state = "failed"
            raise
        finally:
            self._folder = None
            if bar is not None:
                bar.close()

    def run(self) -> dict[str, Any]:
        """To the end; returns the summary."""
        for _ in self:
            pass
        return self.summary()

    def checkpoint(self) -> None:
        """Saves the run into its folder now; between two rows there is one every minute."""
        if not self._folder:
            raise ValueError("only a run with out= that is under way can be saved")
        self._folder.write_checkpoint(self._run.rounds_done, self._run.save())

    def summary(self) -> dict[str, Any]:
        """What summary.json says: accuracy and loss of every node, bytes, time, digest; in `made` version and commit of
        the module, date and host."""
        return json.loads(self._run.summary)

    def model(self, node: int) -> Any:
        """A node's parameters: a state dict where the learner has such, else a float32 array."""
        return self._named(self._run.model(node))

    def merged_model(self) -> Any:
        """The mean of all nodes' models, in the same form."""
        total = self._run.model(0).astype("float64")
        for node in range(1, self.nodes):
            total += self._run.model(node)
        return self._named((total / self.nodes).astype("float32"))

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame; nested figures get names like accuracy.mean."""
        import pandas

        return pandas.json_normalize(self.rows)

    def report(self, path: str | os.PathLike[str] = "report.html", title: str = "") -> str | os.PathLike[str]:
        """One self-contained HTML page of this run, which must have a folder."""
        return report([self._saved_folder()], path, title)

    def compare(self, *others: Simulation | str | os.PathLike[str], format: str = "plain") -> str:
        """A table of this run and others (simulations, or folders), as text."""
        folders = [other._saved_folder() if isinstance(other, Simulation) else other for other in others]
        return compare([self._saved_folder(), *folders], format)

    def _begin(self):
        saved = None
        if self.out:
            self._folder = _tessera.Folder(os.fspath(self.out), self._run.config, self._existing, self._former)
            self._existing = "resume"
            saved = self._folder.read_checkpoint()
        if self._state == "running":  # A loop was left and is taken up again.
            return
        if saved is None:
            self._run.start()
        else:
            self._run.load(saved)
        if self._former:
            self._lengthen(saved is not None)
        self._state = "running"

    def _lengthen(self, loaded):
        """From here on the folder is of the run as it goes on, longer or elsewhere, whenever this process ends."""
        if loaded:
            self._run.lengthen(self._former)
            self.checkpoint()
        self._folder.write_config(self._run.config)
        self._former = ""

    def _keep_the_last(self):
        if self._keep and self._folder and not self._kept and self._run.about_to_end:
            self.checkpoint()
            self._kept = True

    def _take_rows(self):
        for line in self._run.take_rows():
            if self._folder:
                self._folder.append(line)
            self.rows.append(json.loads(line))
            yield self.rows[-1]

    def _end(self):
        if self._folder:
            self._folder.write_summary(self._run.summary)
            if not self._keep:
                self._folder.remove_checkpoints()

    def _checkpoint_on_the_way_out(self):
        if self._folder and self._state == "running" and not self._kept:
            self.checkpoint()

    def _bar(self):
        if not self._progress:
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        return tqdm(unit="round", desc=self._run.description)

    def _named(self, flat):
        name = getattr(self._learner, "state_dict", None)
        return name(flat) if name else flat

    def _saved_folder(self):
        if not self.out:
            raise ValueError("a run without out= has no folder to read from")
        return os.fspath(self.out)


@contextlib.contextmanager
def _interrupts_wait():
    """Ctrl-C in the middle of a training would leave models half trained, so it waits for its end; a second one does
    not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    before = signal.getsignal(signal.SIGINT)

    def note(number, frame):
        came.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def report(folders: Sequence[str | os.PathLike[str]], path: str | os.PathLike[str] = "report.html",
           title: str = "") -> str | os.PathLike[str]:
    """One self-contained HTML page of runs' folders, as `tessera report`. Returns its path."""
    page = _tessera.report_page([os.fspath(folder) for folder in folders], title)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
    return path


def compare(folders: Sequence[str | os.PathLike[str]], format: str = "plain") -> str:
    """Runs beside each other, as `tessera compare`: plain, markdown, csv or latex."""
    return _tessera.compare_runs([os.fspath(folder) for folder in folders], format)
