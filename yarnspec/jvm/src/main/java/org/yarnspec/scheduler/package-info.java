/**
 * Decides where Spark's tasks may start: it leaves out blocked hosts, starts the copies that the negotiator asks for, and tells
 * Spark why an executor ended.
 *
 * <p>The negotiator says what to block and copy; this room only obeys. It knows neither the bridge nor py4j.
 */
package org.yarnspec.scheduler;
