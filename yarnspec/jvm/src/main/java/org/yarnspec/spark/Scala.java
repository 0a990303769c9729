package org.yarnspec.spark;

import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.concurrent.Future;
import scala.concurrent.Future$;
import scala.jdk.javaapi.CollectionConverters;

/** The few Scala values that these classes hand to Spark. */
public final class Scala {
    private Scala() {}

    @SuppressWarnings("unchecked")
    public static <T> Seq<T> emptySeq() {
        return (Seq<T>) (Seq<?>) Nil$.MODULE$;
    }

    @SuppressWarnings("unchecked")
    public static <V> Map<Object, Object> mapOf(int key, V value) {
        return Scala.<Object, Object>emptyMap().updated(key, value);
    }

    public static <K, V> Map<K, V> copyOf(java.util.Map<K, V> map) {
        return Map.from(CollectionConverters.asScala(map));
    }

    @SuppressWarnings("unchecked")
    public static <K, V> Map<K, V> emptyMap() {
        return (Map<K, V>) (Map<?, ?>) Map$.MODULE$.empty();
    }

    public static Future<Object> done() {
        return Future$.MODULE$.successful((Object) Boolean.TRUE);
    }

    public static <T> T orNull(Option<T> option) {
        return option.isDefined() ? option.get() : null;
    }
}
