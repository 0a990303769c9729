"""The credential that an application's processes and its submitter know each other by: one for each application."""

from __future__ import annotations

import datetime

import skein
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

# The name that Skein's own clients expect of the other side.
_COMMON_NAME = "skein-internal"
_KEY_BITS = 2048
_VALID_FOR = datetime.timedelta(days=365)
# Skein's own credentials are valid from the second of their making: on a host whose clock is behind, the AM would not
# take one that was made for this very application.
_VALID_BEFORE = datetime.timedelta(days=1)


def new_credential() -> skein.Security:
    """A new key and its certificate, in memory only."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _COMMON_NAME)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID_BEFORE)
        .not_valid_after(now + _VALID_FOR)
        .sign(key, hashes.SHA256())
    )
    return skein.Security(
        cert_bytes=certificate.public_bytes(serialization.Encoding.PEM),
        key_bytes=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )
