"""Measurements with real clients: `./scripts/bench --network`."""
