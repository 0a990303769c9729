package org.yarnspec.scheduler;

import java.io.Serializable;
import java.util.List;
import org.yarnspec.testing.FakeCluster;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** A job whose tasks run together or not at all. */
final class BarrierJob {
    private BarrierJob() {}

    static Thread start(FakeCluster cluster, int tasks) {
        var records = cluster.context.parallelize(List.of(1, 2), tasks).rdd().barrier();
        Thread job = new Thread(
                () -> records.mapPartitions(new Same(), false, ClassTag$.MODULE$.apply(Integer.class))
                        .count(),
                "barrier-job");
        job.setDaemon(true);
        job.start();
        return job;
    }

    private static final class Same extends AbstractFunction1<Iterator<Integer>, Iterator<Integer>>
            implements Serializable {
        private static final long serialVersionUID = 1;

        @Override
        public Iterator<Integer> apply(Iterator<Integer> records) {
            return records;
        }
    }
}
