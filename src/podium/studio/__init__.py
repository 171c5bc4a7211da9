"""The studio: a page on this machine that shows queries, forces and training. It needs the extra `serve`."""
