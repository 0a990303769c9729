/**
 * Carries events, frames and feeds from the driver to the negotiator over loopback, and ends the driver when the negotiator is
 * gone.
 *
 * <p>This room does not know what the events and frames mean.
 */
package org.yarnspec.channel;
