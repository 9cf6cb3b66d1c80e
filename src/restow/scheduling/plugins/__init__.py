"""The scheduler's plugins, one file each, and the terms and scores of the larger ones in files of their own beside them."""
