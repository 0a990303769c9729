/**
 * Asks the negotiator before each step of a write, so that no output is written twice or mixed with other rows.
 *
 * <p>This room knows what a write is and which shuffles it reads. It must not know how shuffles are recorded or restored.
 */
package org.yarnspec.write;
