"""What a KubeDescheduler means: the policy and the objects that an operator makes of it."""
