"""Keys and signatures against RFC 6979, A.2.5."""

from __future__ import annotations

from restow.serving.p256 import ORDER, public_key, signature_of

PRIVATE = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721
NONCE = 0xA6E3C57DD01ABE90086538398355DD4C3B17AA873382B0F24D6129493D8AAD60


def test_the_public_key():
    assert public_key(PRIVATE) == (
        0x60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6,
        0x7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299,
    )


def test_a_signature():
    assert signature_of(b"sample", PRIVATE, lambda _: NONCE - 1) == (
        0xEFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716,
        0xF7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8,
    )


def test_a_key_and_its_negative_share_a_column():
    one, other = public_key(5), public_key(ORDER - 5)
    assert one.x == other.x
    assert one.y != other.y
