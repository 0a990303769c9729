package org.yarnspec.stage;

/** A commit protocol of ours: it shows nothing of an attempt before the driver has let it commit. */
public interface CoordinatedCommit {}
