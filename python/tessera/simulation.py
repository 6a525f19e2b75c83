"""A network of nodes in virtual time, as a Python iterator over what was measured."""

import contextlib
import json
import os
import signal
import threading
import time

from tessera import _tessera
from tessera.own import lines_of

_CHECKPOINT_SECONDS = 60.0


class Simulation:
    """Everything `tessera sim` takes, from a script.

    file      an experiment's file, or None; keywords win over it
    learner   your own training: a TorchLearner, or any object like tessera.Learner; None takes `data`, `model` and
              `training` from the experiment
    out       the run's folder, as `tessera sim --out`: rows, checkpoints, summary; None keeps everything in memory
    existing  what to do if `out` holds a run: "refuse", "resume" or "overwrite"
    threads   of the CPU; 0 takes one per core
    progress  whether to show a bar: tqdm where it is installed, else nothing

    Further keywords are the lines of an experiment: nodes=16, seed=90, sharing="jwins", protocol="dpsgd:rounds=100",
    network="links:up=1MB/s", ... `tessera list` and docs/ know them all. A wrong one raises ValueError.
    `sharing` and `protocol` may also be classes of your own: see tessera.Sharing and tessera.Protocol.

    Iterating runs the simulation and yields a dict for every evaluation. An exception of the learner, or Ctrl-C,
    comes out of the loop; with `out` there is a checkpoint by then, and existing="resume" goes on from it to the same
    bits.
    """

    def __init__(self, file=None, *, learner=None, out=None, existing="refuse", threads=0, progress=False, **lines):
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
        self._folder, self._existing = None, existing  # The folder is held while the run goes on, and no longer.
        if out:
            _tessera.check_folder(os.fspath(out), self._run.config, existing)
        self._learner = learner
        self._progress = progress
        self._state = "new"
        self.out = out
        self.rows = []

    @property
    def config(self):
        """The experiment with every default written out, as TOML."""
        return self._run.config

    @property
    def rounds_done(self):
        """Rounds that every node has completed."""
        return self._run.rounds_done

    @property
    def digest(self):
        """A number that two runs share if and only if their models are the same to the bit."""
        return self._run.digest

    @property
    def nodes(self):
        return self._run.nodes

    def __iter__(self):
        if self._state == "finished":
            return
        if self._state == "failed":
            raise RuntimeError("this run was stopped by an error: make a new one, with existing='resume' to go on")
        bar, saved_at = None, time.monotonic()
        try:
            self._begin()
            bar = self._bar()
            while self._state == "running":
                with _interrupts_wait():
                    if not self._run.advance():
                        self._state = "finished"
                for row in self._take_rows():
                    if bar is not None:
                        bar.update(row["round"] - bar.n)
                    yield row
                if self._folder and time.monotonic() - saved_at > _CHECKPOINT_SECONDS:
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

    def run(self):
        """To the end; returns the summary."""
        for _ in self:
            pass
        return self.summary()

    def checkpoint(self):
        """Saves the run into its folder now; between two rows there is one every minute."""
        if not self._folder:
            raise ValueError("only a run with out= that is under way can be saved")
        self._folder.write_checkpoint(self._run.rounds_done, self._run.save())

    def summary(self):
        """What summary.json says: accuracy and loss of every node, bytes, time, digest."""
        return json.loads(self._run.summary)

    def model(self, node):
        """A node's parameters: a state dict where the learner has such, else a float32 array."""
        return self._named(self._run.model(node))

    def merged_model(self):
        """The mean of all nodes' models, in the same form."""
        total = self._run.model(0).astype("float64")
        for node in range(1, self.nodes):
            total += self._run.model(node)
        return self._named((total / self.nodes).astype("float32"))

    def to_pandas(self):
        """The rows as a pandas.DataFrame; nested figures get names like accuracy.mean."""
        import pandas

        return pandas.json_normalize(self.rows)

    def report(self, path="report.html", title=""):
        """One self-contained HTML page of this run, which must have a folder."""
        return report([self._saved_folder()], path, title)

    def compare(self, *others, format="plain"):
        """A table of this run and others (simulations, or folders), as text."""
        folders = [other._saved_folder() if isinstance(other, Simulation) else other for other in others]
        return compare([self._saved_folder(), *folders], format)

    def _begin(self):
        saved = None
        if self.out:
            self._folder = _tessera.Folder(os.fspath(self.out), self._run.config, self._existing)
            self._existing = "resume"
            saved = self._folder.read_checkpoint()
        if self._state == "running":  # A loop was left and is taken up again.
            return
        if saved is None:
            self._run.start()
        else:
            self._run.load(saved)
        self._state = "running"

    def _take_rows(self):
        for line in self._run.take_rows():
            if self._folder:
                self._folder.append(line)
            self.rows.append(json.loads(line))
            yield self.rows[-1]

    def _end(self):
        if self._folder:
            self._folder.write_summary(self._run.summary)
            self._folder.remove_checkpoints()

    def _checkpoint_on_the_way_out(self):
        if self._folder and self._state == "running":
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


def report(folders, path="report.html", title=""):
    """One self-contained HTML page of runs' folders, as `tessera report`. Returns its path."""
    page = _tessera.report_page([os.fspath(folder) for folder in folders], title)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
    return path


def compare(folders, format="plain"):
    """Runs beside each other, as `tessera compare`: plain, markdown, csv or latex."""
    return _tessera.compare_runs([os.fspath(folder) for folder in folders], format)
