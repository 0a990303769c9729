/** What runs in the daemons of a mini cluster. */
package org.yarnspec.minicluster;
