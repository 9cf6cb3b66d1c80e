"""The cluster of an API server: read once (``reading``), or kept up to date by watches (``cluster``)."""
