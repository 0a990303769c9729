"""The page of the running application: who serves it, and where YARN finds it.

This room decides when the process that draws runs. It must not know what is on the page.
"""
