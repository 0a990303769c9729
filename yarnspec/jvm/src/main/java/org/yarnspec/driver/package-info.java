/**
 * Starts everything that yarnspec adds to the driver: Spark asks the cluster manager, and the negotiator calls the bridge.
 *
 * <p>This room puts the others together. No other room knows it.
 */
package org.yarnspec.driver;
