"""The tokens that a portal gives its guests: JSON Web Tokens without a library (RFC 7519), and the two secrets of a server in mode `token`."""

import base64
import hashlib
import hmac
import json

SECRET = "a secret that only the portal knows"
ADMIN = "let the administrator in"


def token(claims, secret=SECRET, algorithm="HS256"):
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")
    signed = part(json.dumps({"alg": algorithm, "typ": "JWT"}, separators=(",", ":")).encode()) + b"." + part(json.dumps(claims).encode())
    return (signed + b"." + part(hmac.new(secret.encode(), signed, hashlib.sha256).digest())).decode()
