package org.yarnspec.executor;

import java.io.Serializable;

/** All that a map output's files say of it by their names. The map's id is that of the task that wrote it. */
public record OutputName(int shuffle, long mapId) implements Serializable {
    String index() {
        return "shuffle_" + shuffle + "_" + mapId + "_0.index";
    }

    String data() {
        return "shuffle_" + shuffle + "_" + mapId + "_0.data";
    }
}
