"""What tests and the benchmark are made of: servers, clients of every kind, and what they see and hear."""

from pathlib import Path

# Programs of this package are run here, as `python -m support.NAME`.
CLIENTS = Path(__file__).resolve().parent.parent
