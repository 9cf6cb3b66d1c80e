"""The API server of a simulated cluster: its objects and their subscribers, admission, and the eviction API."""
