"""The page of an application as one file: of one of yarnspec's, running or ended, or of any Spark event log.

This room brings the records and the page together. It must not know how a page is drawn.
"""
