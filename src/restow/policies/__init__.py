"""DeschedulerPolicy files: decode, default, validate, convert, lint."""
