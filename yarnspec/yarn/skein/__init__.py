"""The client of Skein: an application's description, its submission, containers on demand, its staging directory.

This room decides how an application is described to Skein, and which staging directories may be deleted. The room must
not know what runs in the containers.
"""
