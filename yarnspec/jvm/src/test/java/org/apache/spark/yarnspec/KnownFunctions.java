package org.apache.spark.yarnspec;

import java.util.List;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import scala.Tuple2;

/**
 * Functions for tests that count as Spark's own. Only functions in a package of Spark's are known to a signature, as programs
 * are Python; all others make a shuffle that is never used again.
 */
public final class KnownFunctions {
    private KnownFunctions() {}

    public static JavaPairRDD<Integer, Integer> paired(JavaRDD<Integer> numbers) {
        return numbers.mapToPair(each -> new Tuple2<>(each, each));
    }

    public static JavaPairRDD<Integer, Integer> swapped(JavaPairRDD<Integer, Integer> pairs) {
        return pairs.mapToPair(pair -> pair.swap());
    }

    public static JavaRDD<String> firsts(JavaRDD<List<String>> lists) {
        return lists.map(each -> each.get(0));
    }
}
