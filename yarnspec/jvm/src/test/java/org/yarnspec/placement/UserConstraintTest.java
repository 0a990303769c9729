package org.yarnspec.placement;

import static org.apache.hadoop.yarn.api.records.NodeAttributeOpCode.EQ;
import static org.apache.hadoop.yarn.api.records.NodeAttributeOpCode.NE;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.NODE;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.PlacementTargets.allocationTagWithNamespace;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.PlacementTargets.nodeAttribute;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.RACK;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.and;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.or;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.targetCardinality;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.targetIn;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.targetNodeAttribute;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.targetNotIn;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.NodeAttributeOpCode;
import org.apache.hadoop.yarn.api.resource.PlacementConstraint.AbstractConstraint;
import org.junit.jupiter.api.Test;

/** YARN reads the negotiator's texts as they are meant. The same texts stand in {@code tests/yarn/rm/test_constraint.py}. */
class UserConstraintTest {
    private static AbstractConstraint read(String text) throws IOException {
        String file = "{\"version\": 1, \"constraint\": \"" + text + "\"}";
        return DesiredPlacement.parse(file.getBytes(StandardCharsets.UTF_8))
                .rules()
                .constraint();
    }

    private static AbstractConstraint attribute(String key, NodeAttributeOpCode sign, String value) {
        return targetNodeAttribute(NODE, sign, nodeAttribute(key, value));
    }

    @Test
    void eachTextMeansTheSameToYarn() throws IOException {
        Map<String, AbstractConstraint> meant = Map.of(
                "notin,node,all/hbase",
                targetNotIn(NODE, allocationTagWithNamespace("all", "hbase")),
                "notin,rack,a,not-self/b",
                targetNotIn(RACK, allocationTagWithNamespace("self", "a"), allocationTagWithNamespace("not-self", "b")),
                "in,node,all/hbase",
                targetIn(NODE, allocationTagWithNamespace("all", "hbase")),
                "cardinality,node,spark,0,2147483647",
                targetCardinality(NODE, 0, Integer.MAX_VALUE, allocationTagWithNamespace("self", "spark")),
                "rm.yarn.io/python=3.11",
                attribute("rm.yarn.io/python", EQ, "3.11"),
                "nm.yarn.io/disk!=ssd",
                attribute("nm.yarn.io/disk", NE, "ssd"),
                "or(rm.yarn.io/a=1:and(rm.yarn.io/b=2:in,rack,self/y,z))",
                or(
                        attribute("rm.yarn.io/a", EQ, "1"),
                        and(
                                attribute("rm.yarn.io/b", EQ, "2"),
                                targetIn(
                                        RACK,
                                        allocationTagWithNamespace("self", "y"),
                                        allocationTagWithNamespace("self", "z")))),
                "and(rm.yarn.io/python=3:notin,node,x)",
                and(
                        attribute("rm.yarn.io/python", EQ, "3"),
                        targetNotIn(NODE, allocationTagWithNamespace("self", "x"))));
        for (Map.Entry<String, AbstractConstraint> each : meant.entrySet()) {
            assertEquals(each.getValue(), read(each.getKey()), each.getKey());
        }
    }

    @Test
    void aTextThatYarnDoesNotReadIsAnError() {
        assertThrows(IOException.class, () -> read("cardinality,node,x,0,2147483648"));
    }
}
