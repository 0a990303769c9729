"""A submission: checks before it, the files that are shipped, the request to YARN.

This room decides whether a submit can work. The room must not know how a running application is followed.
"""
