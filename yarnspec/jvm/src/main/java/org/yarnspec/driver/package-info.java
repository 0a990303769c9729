/**
 * Starts everything that yarnspec adds to the driver: Spark asks the cluster manager, and the negotiator calls the bridge.
 *
 * <p>It also starts the user's program in this JVM, and keeps the program on the application's own cluster. This room puts
 * the others together. No other room knows it.
 */
package org.yarnspec.driver;
