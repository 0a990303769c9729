"""The page of an application: what it did and what was decided, as one HTML document.

This room decides what is worth drawing, and draws it. It must not know where the records come from, nor who serves the
page: it has no file, thread or socket, and the same records give the same page.
"""
