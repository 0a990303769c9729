package org.yarnspec.scheduler;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

class BlocksTest {
    private static Blocks blocks(String json) throws Exception {
        return Blocks.of(new ObjectMapper().readTree(json.replace('\'', '"')));
    }

    @Test
    void eachLevelReachesAsFarAsItSays() throws Exception {
        Blocks blocks = blocks("{'hosts':['a'],'executors':['7'],'stages':["
                + "{'stage':1,'index':null,'hosts':['b'],'executors':[]},"
                + "{'stage':2,'index':5,'hosts':[],'executors':['9']}]}");
        assertTrue(blocks.all().hold("a", "1"));
        assertTrue(blocks.all().hold("z", "7"));
        assertFalse(blocks.all().hold("b", "1"));
        assertTrue(blocks.keepOut(1, "b", "1"));
        assertFalse(blocks.keepOut(2, "b", "1"));
        assertTrue(blocks.keepOut(2, 5, "z", "9"));
        assertFalse(blocks.keepOut(2, 4, "z", "9"));
    }

    @Test
    void somethingIsFreedWhenAnEntryIsMissingFromTheNewList() throws Exception {
        Blocks before = blocks("{'hosts':['a','b'],'stages':[{'stage':1,'index':3,'hosts':['c']}]}");
        assertTrue(before.cover(before));
        assertTrue(before.cover(Blocks.NONE));
        assertFalse(Blocks.NONE.cover(before));
        assertFalse(blocks("{'hosts':['a'],'stages':[{'stage':1,'index':3,'hosts':['c']}]}")
                .cover(before));
        assertFalse(blocks("{'hosts':['a','b'],'stages':[{'stage':1,'index':4,'hosts':['c']}]}")
                .cover(before));
    }

    @Test
    void stagesAreForgottenWithTheirContext() throws Exception {
        Blocks later =
                blocks("{'hosts':['a'],'stages':[{'stage':1,'hosts':['b']}]}").withoutStages();
        assertTrue(later.all().hold("a", "1"));
        assertFalse(later.keepOut(1, "b", "1"));
    }
}
