"""Everything that speaks to YARN, HDFS and Skein; the only place that imports skein and hdfs_native."""
