/**
 * Lets a driver go on with the work of an earlier one: it tells the negotiator what each shuffle is, records its finished maps,
 * and begins a shuffle with map outputs that are there already.
 *
 * <p>The negotiator decides what is used again. This room must not know the scheduler that runs the tasks.
 */
package org.yarnspec.recovery;
