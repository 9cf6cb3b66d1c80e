"""Asynchronous access to a Kubernetes API server: configuration, lists and watches, evictions, leases, events.

``connection.connect`` gives an ``Api``; everything else is a function or an object that is handed one. Replies are
bytes that msgspec decodes into the structs of ``kube.objects``, so fields that nothing reads never become objects.
"""
