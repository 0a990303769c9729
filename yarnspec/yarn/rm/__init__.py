"""The ResourceManager and the NodeManagers over REST, and the cluster's ``yarn`` command.

This room reads reports into plain values. The room must not know Skein or HDFS's client.
"""
