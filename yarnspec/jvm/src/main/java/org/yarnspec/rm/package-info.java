/**
 * Placement by yarnspec inside the JVMs that talk to the ResourceManager: Skein's application master and Skein's client.
 *
 * <p>{@code PlacementProxyProvider} is Hadoop's own extension point; everything else here is what it
 * does to the calls that pass through it.
 */
package org.yarnspec.rm;
