"""A window on the memory: local web pages and the small HTTP interface below them."""
