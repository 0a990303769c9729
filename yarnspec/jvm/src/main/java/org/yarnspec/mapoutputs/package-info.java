/**
 * Keeps track of map outputs whose executor or driver is gone: who has them, who may take them over, and which are lost.
 *
 * <p>This room speaks to the executors and to shuffle services. It must not know what a shuffle computes, nor the scheduler.
 */
package org.yarnspec.mapoutputs;
