"""The pages that are rendered from declarations in the code: ``make docs`` writes them, a test compares them.

This room decides how a declaration reads on a page. It must hold no fact that a page tells, and nothing imports it.
"""
