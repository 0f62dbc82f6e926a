"""Logs larger than a machine: workers of Ray hold the rows, the optimiser stays with the caller, and the bits are those of one machine.

A worker is an actor that owns a piece of the log. Its constructor is the loader, so a worker that dies is started again by Ray, reads its
piece again and answers the same. Questions and answers are a few kilobytes; rows do not travel (but for the thin sample that maps
and models are learned from).

Pack the log first (`counterpoint pack`): of a store a worker maps its own blocks only. Of other files every worker reads all and keeps its
piece. Paths must mean the same files on every machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _counterpoint, judge, target
from .errors import Error
from .learn import Learner, Selector
from .log import Columns, Log
from .policy import Policy
from .results import Certificate, Estimates

if TYPE_CHECKING:
    from typing_extensions import Unpack

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise Error("Ray is not installed", remedy='pip install "counterpoint[ray]"') from None
    return ray


class _Worker:
    """A piece of a log; what an actor of Ray is made of."""

    def __init__(self, paths: list[str], columns: dict[str, Any], piece: tuple[int, int], threads: int) -> None:
        log = Log(paths, **columns)
        self._shard = _counterpoint.Shard(log._native, *piece, threads)

    def answer(self, question: bytes) -> bytes:
        """Answers a question of the driver."""
        return self._shard.answer(question)

    def facts(self) -> dict[str, Any]:
        """What the driver wants to know at first."""
        shard = self._shard
        return {"rows": shard.rows, "name": shard.name, "by_column": shard.by_column, "notes": shard.notes, "pid": os.getpid()}


class Cluster:
    """A log whose rows are held by workers of Ray; made once, asked many times, closed at the end (it is a context manager).

    `paths` are files, patterns or directories, columns those of `Log` (by name; a `log.toml` beside the files may name them). `workers`
    is their number (one for each CPU of the cluster where it is not said), `cpus` what each of them reserves and uses, `memory` the
    bytes it reserves. `init` are the options of `ray.init`, where Ray does not run yet in this process: `{"address": "auto"}` and so on.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        workers: int | None = None,
        cpus: int = 1,
        memory: int | None = None,
        init: dict[str, Any] | None = None,
        **columns: Unpack[Columns],
    ) -> None:
        ray = _ray()
        if columns.get("propensity") == "fit":
            raise Error(
                "workers cannot estimate propensities yet",
                remedy="estimate them on one machine (propensity='fit'), and write them into a column of the log",
            )
        if not ray.is_initialized():
            ray.init(**{"log_to_driver": False, **(init or {})})
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        names = [os.fspath(p) for p in given]
        files = [p if "://" in p else os.path.abspath(p) for p in names]  # a bucket has one name everywhere
        count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)) // cpus)
        options: dict[str, Any] = {"num_cpus": cpus, "max_restarts": -1, "max_task_retries": -1}
        if memory is not None:
            options["memory"] = memory
        actor = ray.remote(**options)(_Worker)
        self._ray = ray
        self._actors = [actor.remote(files, dict(columns), (k, count), cpus) for k in range(count)]
        try:
            facts = self._get([a.facts.remote() for a in self._actors])
        except BaseException:
            self.close()
            raise
        self.rows: int = sum(f["rows"] for f in facts)
        self.notes: list[str] = facts[0]["notes"]
        self.pids: list[int] = [f["pid"] for f in facts]
        carriers = [lambda question, a=a: self._get(a.answer.remote(question)) for a in self._actors]
        # certificates name the log as the caller did, or as the store knows it
        known = facts[0]["name"]
        name = ", ".join(os.fspath(p) for p in given) if known == ", ".join(files) else known
        self._native = _counterpoint.Cluster(carriers, name, facts[0]["by_column"])

    def _get(self, futures: Any) -> Any:
        ray = self._ray
        try:
            return ray.get(futures)
        except ray.exceptions.RayTaskError as e:
            raise e.cause if isinstance(e.cause, Error) else Error(f"a worker failed: {e}") from None
        except ray.exceptions.OutOfMemoryError as e:
            words = "use more workers on more machines, or pack the log, so that workers map their blocks"
            raise Error(f"a worker ran out of memory: {e}", remedy=words) from None
        except ray.exceptions.RayActorError as e:
            raise e.cause if isinstance(getattr(e, "cause", None), Error) else Error(f"a worker was lost: {e}") from None

    def close(self) -> None:
        """Ends the workers; Ray itself goes on."""
        for a in self._actors:
            self._ray.kill(a)
        self._actors = []

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Cluster({self.rows} rows, {len(self._actors)} workers)"


def _cluster(paths: Any, options: dict[str, Any]) -> tuple[Cluster, bool]:
    """The cluster, and whether it must be closed afterwards."""
    if isinstance(paths, Cluster):
        if options:
            raise Error(f"{next(iter(options))} was said when the cluster was made", remedy="leave it out")
        return paths, False
    return Cluster(paths, **options), True


def _certificate(native: _counterpoint.RemoteCertificate | None) -> Certificate | None:
    return None if native is None else Certificate(None, native.json, native.words)


def learn(paths: Paths | Cluster, learner: Learner | None = None, **options: Any) -> Learner:
    """Learns and certifies as `Learner.fit` does; `learner` holds the recipe, `options` are those of `Cluster`.

    Returns the learner, fitted: the policy and the certificate are those of one machine, byte for byte.
    """
    learner = Learner() if learner is None else learner
    if learner.guardrails:  # type: ignore[attr-defined]
        raise Error("guardrails are read again with another outcome, in one process", remedy="learn on one machine with guardrails")
    cluster, own = _cluster(paths, options)
    try:
        logging = target.policy_of(learner.logging_policy)  # type: ignore[attr-defined]
        native = None if logging is None else logging._native
        wish = learner._wish()
        try:
            learned, certificate = cluster._native.learn(learner._recipe(), learner._file(), native, wish)
        finally:
            wish.close()
        learner._keep(learned, certificate=_certificate(certificate))
    finally:
        if own:
            cluster.close()
    return learner


def select(paths: Paths | Cluster, selector: Selector | None = None, **options: Any) -> Selector:
    """Selects and certifies as `Selector.fit` does.

    The journal is kept by the caller: after a driver was killed the same call with `resume=True` goes on, on other workers.
    """
    selector = Selector() if selector is None else selector
    if selector.guardrails or selector.budget is not None:  # type: ignore[attr-defined]
        raise Error("guardrails and a budget are for one machine", remedy="select on one machine with them")
    cluster, own = _cluster(paths, options)
    try:
        wish = selector._wish()
        try:
            learned, certificate = cluster._native.select(*selector._asked(), wish, selector._journal())
        finally:
            wish.close()
        selector._keep(learned, certificate=_certificate(certificate))
        selector.leaderboard_ = selector.facts_["leaderboard"]
    finally:
        if own:
            cluster.close()
    return selector


def _saved(policy: Any) -> Policy:
    found = target.policy_of(policy)
    if found is None:
        raise Error(
            "workers take policies that have a file",
            remedy="for a policy of your own, write its densities into a column of the log (target_density=...) and certify on one machine",
        )
    return found


def certify(policy: Any, paths: Paths | Cluster, *, seed: int = 0, terms: dict[str, Any] | None = None, **options: Any) -> Certificate:
    """Certifies a policy that was learned here; `terms` are those of `counterpoint.certify`."""
    saved, wanted = _saved(policy), judge.terms(terms or {})
    cluster, own = _cluster(paths, options)
    try:
        made = cluster._native.certify(saved._native, wanted, seed, 0)
    finally:
        if own:
            cluster.close()
    return Certificate(None, made.json, made.words)


def evaluate(
    policy: Any,
    paths: Paths | Cluster,
    *,
    rows: str = "valid",
    seed: int = 0,
    cap: float = 15.0,
    model_ridge: float = 1e-3,
    tail: float = 0.1,
    logging_policy: Any = None,
    **options: Any,
) -> Estimates:
    """What a policy would have earned or cost, by every estimator."""
    saved, logging = _saved(policy), target.policy_of(logging_policy)
    cluster, own = _cluster(paths, options)
    try:
        question = judge._Question(rows, seed, cap, model_ridge, tail, False, 0)
        return Estimates(cluster._native.evaluate(saved._native, question, None if logging is None else logging._native))
    finally:
        if own:
            cluster.close()


def describe(paths: Paths | Cluster, **options: Any) -> dict[str, Any]:
    """What a log holds, as `counterpoint describe --json` says it."""
    cluster, own = _cluster(paths, options)
    try:
        facts: dict[str, Any] = json.loads(cluster._native.describe()[0])
    finally:
        if own:
            cluster.close()
    return facts
