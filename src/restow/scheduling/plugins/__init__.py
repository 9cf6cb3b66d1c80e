"""The scheduler's plugins, one file each: filter, score and what they keep between questions."""
