/** Starts the user's program in the driver's JVM, and keeps it on the application's own cluster. */
package org.yarnspec.driver;
