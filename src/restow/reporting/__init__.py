"""A plan for people: terminal tables, JSON, YAML, HTML."""
