"""The negotiator's REST: the forms of its requests and answers, and the server.

This room decides who may ask. The room must not know how a decision is made: a question goes to the loop.
"""
