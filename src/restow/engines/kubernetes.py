"""Pieces of work as the indexes of a Job in a Kubernetes cluster; its pods bring their results in their status.

A Job makes what is missing, and another one follows where pods were deleted before their results were read. A
command that resumes a run finds its Jobs by their label. Reads are repeated as everywhere (``client.transport``); the API
server may be gone for some minutes.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct, structs

from restow.client import objects
from restow.client.connection import connect
from restow.client.errors import Forbidden, NotFound, ServerTrouble, TooManyRequests, Unreachable, missing_right
from restow.client.listing import Selection, all_objects
from restow.client.resources import CONFIG_MAPS, RESOURCES, ApiResource
from restow.client.transport import Api
from restow.engines.job_objects import OF_JOB, RUN, JobShape, KubernetesArgs, Object, config_maps_of, job_of
from restow.engines.parcel import Parcel, UnreadableResultError, packed, results_in
from restow.engines.work import EngineTask, ResultListener
from restow.errors import ClientError, InputError
from restow.in_thread import in_own_loop

#: Pods at a time, unless ``--workers`` says how many.
_WORKERS: Final = 10
#: Indexes for each pod at a time, so that a slow pod does not keep the others waiting.
_SHARE: Final = 4
#: Pieces of an index at most: what it has made is made again where its pod is lost, and results have to fit.
_LONGEST: Final = 16
#: Files of a parcel at most, of 900 KiB each.
_FILES: Final = 24
#: Seconds from one look at the pods to the next, and pods that make it a second longer.
_PAUSE: Final = 1.0
_PODS: Final = 100
#: Seconds without an answer after which a run is given up.
_PATIENCE: Final = 600.0
#: Reasons of a container that waits for what never comes by itself.
_HOPELESS: Final = frozenset(
    {"ErrImageNeverPull", "InvalidImageName", "ImagePullBackOff", "CreateContainerConfigError"}
)


class _Condition(Struct, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _Meta(Struct, frozen=True):
    name: str
    uid: str
    labels: dict[str, str] = {}


class _JobSpec(Struct, frozen=True):
    suspend: bool = False


class _JobStatus(Struct, frozen=True):
    conditions: tuple[_Condition, ...] = ()


class _Job(Struct, frozen=True):
    metadata: _Meta
    spec: _JobSpec = _JobSpec()
    status: _JobStatus = _JobStatus()

    def condition(self, type: str) -> _Condition | None:
        """Return a condition of the Job that holds."""
        return next((each for each in self.status.conditions if (each.type, each.status) == (type, "True")), None)


class _Stopped(Struct, frozen=True, rename="camel"):
    exit_code: int = 0
    reason: str = ""
    message: str = ""


class _State(Struct, frozen=True):
    waiting: _Stopped | None = None
    running: dict[str, Any] | None = None
    terminated: _Stopped | None = None


class _Container(Struct, frozen=True):
    state: _State = _State()


class _PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[_Condition, ...] = ()
    container_statuses: tuple[_Container, ...] = ()


class _Pod(Struct, frozen=True):
    metadata: _Meta
    status: _PodStatus = _PodStatus()

    @property
    def state(self) -> _State:
        """The state of its container."""
        found = self.status.container_statuses
        return found[0].state if found else _State()


_JOBS: Final = structs.replace(RESOURCES["Job"], type=_Job)
_PODS_OF_JOBS: Final = structs.replace(RESOURCES["Pod"], type=_Pod)


def make_on_kubernetes(args: KubernetesArgs, task: EngineTask, listener: ResultListener) -> None:
    """Make pieces in the pods of a Job; InputError and ClientError with what is wrong with it.

    Where this process is stopped, the Job is deleted, unless the run can be resumed.
    """
    if not args.image:
        raise InputError(
            "--engine kubernetes runs restow's image in a cluster: write image: <its name> into --engine-config"
        )
    in_own_loop(_make(args, task, listener))


class _FailedJobError(ClientError):
    """Pods of a Job have ended by themselves too often."""


async def _make(args: KubernetesArgs, task: EngineTask, listener: ResultListener) -> None:
    async with connect(args.kubeconfig, args.context) as api:
        run = _Run(api, args, task, listener)
        try:
            await run.make()
        except _FailedJobError:
            # Its pods have logs.
            raise
        except InputError:
            await run.delete()
            raise
        except BaseException:
            if not task.is_kept:
                with suppress(ClientError):
                    await run.delete()
            raise
        await run.delete()


@contextmanager
def _permitted(resource: ApiResource, verb: str) -> Iterator[None]:
    """Name the right that is missing where the API server refuses a request."""
    try:
        yield
    except Forbidden as error:
        raise ClientError(missing_right(error, resource, [verb])) from error


@dataclass(slots=True)
class _Run:
    """The Jobs of one run."""

    api: Api
    args: KubernetesArgs
    task: EngineTask
    listener: ResultListener
    #: The numbers of pieces whose results are there.
    found: set[int] = field(default_factory=set)
    #: The names of the Jobs that are followed.
    jobs: list[str] = field(default_factory=list)
    #: Whether they are of an earlier command: what has failed then is made again.
    is_earlier: bool = False
    #: The uids of pods whose message was read.
    read: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)

    async def make(self) -> None:
        """Follow the Jobs that are there, and begin others until nothing is missing."""
        if self.task.resumes:
            await self._take_up()
        while missing := [each for each in self.task.numbers if each not in self.found]:
            before, self.is_earlier = len(self.found), bool(self.jobs)
            if not self.is_earlier:
                await self._begin(tuple(missing))
            await self._follow()
            if not self.is_earlier and len(self.found) == before:
                raise ClientError(
                    f"Job {', '.join(self.jobs)} has ended, and no pod of it has results; its pods may have been deleted"
                )
            await self.delete()

    async def delete(self) -> None:
        """Delete the Jobs, and so their pods and pieces."""
        for name in self.jobs:
            with suppress(NotFound):
                await objects.delete(self.api, _JOBS, self.args.namespace, name)
        self.jobs = []

    async def _take_up(self) -> None:
        """Find the Jobs of an earlier command; one that it could not begin is deleted."""
        chosen = Selection(self.args.namespace, labels=f"{RUN}={self.task.name}")
        with _permitted(_JOBS, "list"):
            for job in await all_objects(self.api, _JOBS, chosen):
                if job.spec.suspend:
                    await objects.delete(self.api, _JOBS, self.args.namespace, job.metadata.name)
                else:
                    self.jobs.append(job.metadata.name)

    async def _begin(self, missing: tuple[int, ...]) -> None:
        workers = self.task.workers or _WORKERS
        indexes = min(len(missing), max(workers * _SHARE, -(-len(missing) // _LONGEST)))
        files, digest = packed(Parcel(self.task.work, missing, indexes))
        if len(files) > _FILES:
            raise InputError(
                f"the cluster of this scenario takes {len(files)} ConfigMaps, and a Job can have {_FILES}; use --engine local or dask"
            )
        name = f"{self.task.name}-{secrets.token_hex(2)}"
        shape = JobShape(name, self.task.name, indexes, min(workers, indexes), len(files), digest)
        job = await self._create(_JOBS, job_of(shape, self.args))
        self.jobs.append(name)
        for each in config_maps_of(job, files):
            await self._create(CONFIG_MAPS, each)
        start = {"spec": {"suspend": False}}
        with _permitted(_JOBS, "patch"):
            await objects.patch(self.api, _JOBS, self.args.namespace, name, start, kind=objects.PatchKind.MERGE)

    async def _create(self, resource: ApiResource, body: Object) -> Object:
        """The object as the API server has it."""
        with _permitted(resource, "create"):
            return await objects.create(self.api, resource, self.args.namespace, body)

    async def _follow(self) -> None:
        """Take results as they come, until each Job is over."""
        silent_since: float | None = None
        while True:
            try:
                over = await self._look()
            except (Unreachable, ServerTrouble, TooManyRequests) as error:
                now = asyncio.get_running_loop().time()
                silent_since = silent_since or now
                if now - silent_since > _PATIENCE:
                    raise
                self._say(f"the cluster does not answer, and is asked again: {error}")
                await asyncio.sleep(_PAUSE)
                continue
            silent_since = None
            if over:
                return
            await asyncio.sleep(_PAUSE + len(self.read) / _PODS)

    async def _look(self) -> bool:
        """Look at Jobs and pods once; returns whether all Jobs are over."""
        # Jobs before pods: what a Job that is complete has counted is in the pods by then.
        with _permitted(_JOBS, "get"):
            jobs = [await objects.get(self.api, _JOBS, self.args.namespace, name, _Job) for name in self.jobs]
        pods: list[_Pod] = []
        with _permitted(_PODS_OF_JOBS, "list"):
            for name in self.jobs:
                pods += await all_objects(self.api, _PODS_OF_JOBS, Selection(self.args.namespace, f"{OF_JOB}={name}"))
        for pod in pods:
            self._take(pod)
        self._check(pods)
        failed = [each for each in jobs if each.condition("Failed")]
        if failed and not self.is_earlier:
            raise _FailedJobError(self._why(failed[0], pods))
        return all(each in failed or each.condition("Complete") for each in jobs)

    def _take(self, pod: _Pod) -> None:
        """Take the results of a pod that has succeeded, once."""
        if pod.status.phase != "Succeeded" or pod.metadata.uid in self.read or pod.state.terminated is None:
            return
        self.read.add(pod.metadata.uid)
        wanted = set(self.task.numbers)
        try:
            results = results_in(pod.state.terminated.message, self.task.result)
        except UnreadableResultError as error:
            self._say(f"pod {pod.metadata.name} has left no results: {error}")
            return
        for number, result in results:
            if number in wanted and number not in self.found:
                self.found.add(number)
                self.listener.finished(number, result)

    def _check(self, pods: Sequence[_Pod]) -> None:
        """Say why pods do not start; InputError where none of them ever will."""
        if any(pod.state.running or pod.state.terminated for pod in pods):
            return
        for pod in pods:
            waiting = pod.state.waiting
            if waiting is not None and waiting.reason in _HOPELESS:
                raise InputError(
                    f"pod {self.args.namespace}/{pod.metadata.name} cannot start: {waiting.reason}: {waiting.message}"
                )
        for sentence in _unscheduled(pods):
            self._say(f"no pod runs yet: {sentence}")

    def _why(self, job: _Job, pods: Sequence[_Pod]) -> str:
        """Why a Job has failed; it stays for a day, with its logs."""
        failed = job.condition("Failed")
        assert failed is not None
        ended = [pod for pod in pods if pod.status.phase == "Failed" and pod.state.terminated is not None]
        last = ""
        if ended:
            stopped = ended[-1].state.terminated
            assert stopped is not None
            last = f"; the container of {ended[-1].metadata.name} ended with {stopped.reason or 'Error'} (exit code {stopped.exit_code})"
        name = job.metadata.name
        return f"Job {self.args.namespace}/{name} failed: {failed.message}{last}; see kubectl -n {self.args.namespace} logs job/{name}"

    def _say(self, sentence: str) -> None:
        """Pass on a sentence, once."""
        if sentence not in self.said:
            self.said.add(sentence)
            self.listener.said(sentence)


def _unscheduled(pods: Sequence[_Pod]) -> Iterator[str]:
    """The scheduler's reasons why pods have no node, each once."""
    conditions = (each for pod in pods for each in pod.status.conditions)
    yield from dict.fromkeys(
        each.message for each in conditions if (each.type, each.status) == ("PodScheduled", "False") and each.message
    )
