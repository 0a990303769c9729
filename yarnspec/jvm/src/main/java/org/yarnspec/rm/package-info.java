/**
 * Takes part in the calls to the ResourceManager, inside Skein's application master and Skein's client.
 *
 * <p>{@code PlacementProxyProvider} is Hadoop's own extension point. This room intercepts the calls, corrects Skein, and says how
 * the application ended. It must not know Spark.
 */
package org.yarnspec.rm;
