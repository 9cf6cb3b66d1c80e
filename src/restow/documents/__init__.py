"""YAML and JSON documents with positions: one reader, one strict decoder, one model of findings."""
