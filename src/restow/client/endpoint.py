"""Where the API server is and how to speak to it: what a configuration comes down to."""

from __future__ import annotations

from dataclasses import dataclass, field

from restow.client.credentials import Credentials


@dataclass(slots=True, frozen=True)
class Endpoint:
    """One API server and who we are to it."""

    #: URL without a password, and without a slash at its end.
    server: str
    credentials: Credentials
    #: The name that the server's certificate must have, where it is not the one in the URL.
    server_name: str | None = None
    #: URL of a proxy, maybe with a password; None for a direct connection.
    proxy: str | None = field(default=None, repr=False)
    #: File and context, or the service account: for errors.
    origin: str = ""
    #: Sentences to tell people before the first request.
    warnings: tuple[str, ...] = ()
