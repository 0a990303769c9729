"""A submission: checks before it, the files that are shipped, the request to YARN.

This room decides whether a submit can work. It must not know how a running application is followed.
"""
