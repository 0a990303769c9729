/**
 * Turns the negotiator's {@code placement.json} into the allocate calls that the ResourceManager gets.
 *
 * <p>This room keeps books of what the ResourceManager was told. It must not know Skein's internals or Hadoop's proxies.
 */
package org.yarnspec.placement;
