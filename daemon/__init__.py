"""Keeps the cache in step with the storage: reconcile, merge, apply, expiry, service life."""
