"""What a KubeDescheduler means: the policy and the objects that the operator creates for it."""
