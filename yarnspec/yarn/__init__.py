"""Everything that speaks to YARN, HDFS and Skein; the only place that imports skein and hdfs_native.

This room decides how they are asked, and which of their failures are worth another try. It must not know Spark, nor
what the answers lead to.
"""
