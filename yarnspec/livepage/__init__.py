"""The process in the AM container that draws the running application's page and serves it to Skein's web server.

It follows the records: those of earlier attempts out of the history, those of this one out of the copy that the
negotiator leaves beside it. It asks the negotiator's REST for what no record tells.

This room decides what the page shows now, and to whom the page is served. It takes types of the core, but must not
decide with them. Nothing waits for this process.
"""
