"""The executors and their containers: how many are wanted, who is to blame for an end, where slots are free.

This room keeps the table and judges single ends. The room must not know the driver or the phase of the application.
"""
