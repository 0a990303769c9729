"""The client of Skein: an application's description, its submission, containers on demand, its staging directory.

This room must not know what runs in the containers.
"""
