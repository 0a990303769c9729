package org.yarnspec.placement;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.api.records.ResourceTypeInfo;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/** The resource types beside memory and cores, as this JVM knows them: Hadoop keeps one list for each JVM. */
public final class ResourceTypes {
    private ResourceTypes() {}

    /**
     * Takes in the ResourceManager's types. Hadoop read those of its configuration, which a container or a gateway need
     * not have.
     */
    static void learn(List<ResourceTypeInfo> types) {
        if (types != null
                && types.stream()
                        .anyMatch(type -> !ResourceUtils.getResourceTypes().containsKey(type.getName()))) {
            ResourceUtils.reinitializeResources(types);
        }
    }

    /** Takes these names for types of the cluster: somebody else has checked them. */
    public static void trust(Collection<String> names) {
        List<ResourceTypeInfo> all = new ArrayList<>();
        for (ResourceInformation known : ResourceUtils.getResourceTypes().values()) {
            all.add(ResourceTypeInfo.newInstance(known.getName(), known.getUnits(), known.getResourceType()));
        }
        names.forEach(name -> all.add(ResourceTypeInfo.newInstance(name)));
        learn(all);
    }

    /** Why no container can have that much of these, or null. */
    static String reasonAgainst(Map<String, Long> amounts, Resource largest) {
        for (Map.Entry<String, Long> each : amounts.entrySet()) {
            String name = each.getKey();
            if (!ResourceUtils.getResourceTypes().containsKey(name)) {
                return "the cluster has no resource type " + name;
            }
            long most = largest == null ? Long.MAX_VALUE : most(largest, name);
            if (each.getValue() > most) {
                return each.getValue() + " of " + name + " is more than the largest container has, " + most;
            }
        }
        return null;
    }

    private static long most(Resource largest, String name) {
        for (ResourceInformation each : largest.getResources()) {
            if (each.getName().equals(name)) {
                return each.getValue();
            }
        }
        return Long.MAX_VALUE; // a limit that was told before the type was known
    }

    /** A size with these amounts of further types. */
    public static Resource with(Resource size, Map<String, Long> amounts) {
        Resource whole = Resource.newInstance(size.getMemorySize(), size.getVirtualCores());
        amounts.forEach(whole::setResourceValue);
        return whole;
    }
}
