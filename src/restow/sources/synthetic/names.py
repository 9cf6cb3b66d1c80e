"""Names as a cluster would have them: namespaces, applications, template hashes, pod suffixes, uids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

#: An API object as plain data, ready for encoding.
Object = dict[str, Any]

NAMESPACES = (
    "accounts", "adverts", "analytics", "auth", "batch", "billing", "cart", "catalog", "checkout", "crm",
    "delivery", "experiments", "fraud", "gateway", "images", "inventory", "ledger", "loyalty", "mail", "media",
    "orders", "payments", "pricing", "profiles", "reports", "returns", "reviews", "search", "shop", "support",
)  # fmt: skip

APPLICATIONS = ("api", "cache", "consumer", "events", "frontend", "indexer", "proxy", "sync", "web", "worker")

#: The characters of generated names. Source: apimachinery, util/rand.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
SUFFIXES = len(ALPHABET) ** SUFFIX_LENGTH
#: Coprime to SUFFIXES, so that consecutive replicas get unlike suffixes and never the same.
STRIDE = 5_179_697


def template_hash(rng: Random) -> str:
    """Draw a pod template hash: ten characters."""
    return "".join(rng.choices(ALPHABET, k=10))


def suffix(offset: int, replica: int) -> str:
    """Return the five characters that end a pod's name: distinct for every replica of one offset."""
    number = (offset + replica * STRIDE) % SUFFIXES
    characters = []
    for _ in range(SUFFIX_LENGTH):
        number, position = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[position])
    return "".join(characters)


def uid(rng: Random) -> str:
    """Draw a uid in the form of a version 4 UUID."""
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
