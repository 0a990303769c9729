package org.yarnspec.fingerprint;

import org.apache.spark.HashPartitioner;
import org.apache.spark.PartitionIdPassthrough;
import org.apache.spark.Partitioner;
import org.apache.spark.RangePartitioner;
import org.apache.spark.api.python.PythonPartitioner;

/** How records are spread over reducers. */
public final class Partitioners {
    private Partitioners() {}

    public static void add(Values values, Partitioner partitioner) {
        Fingerprint into = values.into();
        into.add(partitioner.getClass().getName()).add(partitioner.numPartitions());
        if (partitioner instanceof PythonPartitioner
                || partitioner instanceof HashPartitioner
                || partitioner instanceof PartitionIdPassthrough // of a query, whose plan tells the rest
                || partitioner instanceof RangePartitioner<?, ?>) {
            // Python's function is an address here, and its code stands in the command of the RDD below. The bounds of
            // a
            // range are what the saved shuffle brings back.
            return;
        } else if (partitioner instanceof scala.Product product) {
            values.addProduct(product);
        } else {
            throw Unknown.kind("a partitioner", partitioner);
        }
    }
}
