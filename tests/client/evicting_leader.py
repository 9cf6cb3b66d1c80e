"""A program that evicts (in a dry run) as fast as it can while it leads: KUBECONFIG NAMESPACE IDENTITY."""

from __future__ import annotations

import asyncio
import sys

from restow.client.connection import connect
from restow.client.errors import NotPermitted
from restow.client.eviction import evict
from restow.client.leader_election import Election, Leadership, LeaseLock, Timing, lead
from restow.client.objects import ObjectRef

TIMING = Timing(lease=4, renew=2.5, retry=0.5)


async def main(kubeconfig: str, namespace: str, identity: str) -> None:
    async with connect(kubeconfig, qps=50, burst=1) as api:

        async def work(leadership: Leadership) -> None:
            while True:
                await evict(api, ObjectRef(namespace, "none", "u"), permit=leadership.remaining, dry_run=True)

        election = Election(LeaseLock(api.without_limit(), namespace, "restow"), identity, TIMING)
        while True:
            try:
                await lead(election, work)
            except NotPermitted:
                continue


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
