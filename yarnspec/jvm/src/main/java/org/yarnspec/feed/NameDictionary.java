package org.yarnspec.feed;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Hosts and executors as small numbers: a row keeps the number, the wire gets the bytes. */
final class NameDictionary {
    private final Map<String, Integer> codes = new HashMap<>();
    private final List<byte[]> texts = new ArrayList<>();

    /** The number of a name; -1 for null. */
    synchronized int code(String name) {
        if (name == null) {
            return -1;
        }
        Integer known = codes.get(name);
        if (known != null) {
            return known;
        }
        codes.put(name, texts.size());
        texts.add(name.getBytes(StandardCharsets.UTF_8));
        return texts.size() - 1;
    }

    synchronized byte[] text(int code) {
        return texts.get(code);
    }
}
