package org.yarnspec.placement;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.ExecutionTypeRequest;
import org.apache.hadoop.yarn.api.records.NodeAttributeOpCode;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.ResourceSizing;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.api.resource.PlacementConstraint;
import org.apache.hadoop.yarn.api.resource.PlacementConstraint.AbstractConstraint;
import org.apache.hadoop.yarn.api.resource.PlacementConstraint.TargetExpression;
import org.apache.hadoop.yarn.api.resource.PlacementConstraints;
import org.apache.hadoop.yarn.api.resource.PlacementConstraints.PlacementTargets;

/** One ask in the form in which the ResourceManager gets it. */
sealed interface RmAsk {

    /** The lines of an allocate call; one of the lists is empty. */
    record Lines(List<ResourceRequest> requests, List<SchedulingRequest> constrained) {
        Lines() {
            this(new ArrayList<>(), new ArrayList<>());
        }
    }

    /** Adds the lines that ask for it. */
    void ask(Lines lines);

    /** Adds the lines that take it back. */
    void withdraw(Lines lines);

    /** Adds the lines that put this in the place of {@code before}. */
    void replace(RmAsk before, Lines lines);

    /** Whether the ResourceManager, which holds {@code this}, need not be told {@code wish}. */
    boolean says(RmAsk wish);

    /**
     * Requests by name of host, rack and {@code *}, all under one priority.
     *
     * @param spent a container was given for it, so that the ResourceManager counts one less than these lines say
     */
    record ByName(List<ResourceRequest> parts, boolean spent) implements RmAsk {

        @Override
        public void ask(Lines lines) {
            lines.requests().addAll(parts);
        }

        @Override
        public void withdraw(Lines lines) {
            withdrawExcept(Set.of(), lines);
        }

        private void withdrawExcept(Set<String> names, Lines lines) {
            for (ResourceRequest part : parts) {
                if (!names.contains(part.getResourceName())) {
                    ResourceRequest none = ResourceRequest.clone(part);
                    none.setNumContainers(0);
                    lines.requests().add(none);
                }
            }
        }

        @Override
        public void replace(RmAsk before, Lines lines) {
            if (before instanceof ByName names) {
                // The same name is simply overwritten; a line with 0 beside the new one would be a race between the
                // two.
                Set<String> kept = new LinkedHashSet<>();
                parts.forEach(part -> kept.add(part.getResourceName()));
                names.withdrawExcept(kept, lines);
            } else {
                before.withdraw(lines);
            }
            ask(lines);
        }

        @Override
        public boolean says(RmAsk wish) {
            // Hadoop's equality of requests leaves out whether locality may be relaxed.
            return !spent
                    && wish instanceof ByName other
                    && parts.equals(other.parts)
                    && relaxed().equals(other.relaxed());
        }

        private List<Boolean> relaxed() {
            return parts.stream().map(ResourceRequest::getRelaxLocality).toList();
        }
    }

    /**
     * A request with a placement constraint.
     *
     * <p>The ResourceManager lets a request under the same priority and id change nothing but its size, and raises an
     * exception otherwise: each one has an id of its own, and is taken back exactly as it was, with size 0.
     */
    record Constrained(
            long id, int priority, Resource capability, int count, Set<String> tags, PlacementConstraint constraint)
            implements RmAsk {

        @Override
        public void ask(Lines lines) {
            lines.constrained().add(line(count));
        }

        @Override
        public void withdraw(Lines lines) {
            lines.constrained().add(line(0));
        }

        private SchedulingRequest line(int containers) {
            return SchedulingRequest.newBuilder()
                    .allocationRequestId(id)
                    .priority(Priority.newInstance(priority))
                    .executionType(ExecutionTypeRequest.newInstance(ExecutionType.GUARANTEED))
                    .allocationTags(tags)
                    .resourceSizing(ResourceSizing.newInstance(containers, capability))
                    .placementConstraintExpression(constraint)
                    .build();
        }

        @Override
        public void replace(RmAsk before, Lines lines) {
            before.withdraw(lines);
            ask(lines);
        }

        @Override
        public boolean says(RmAsk wish) {
            return wish instanceof Constrained other
                    && count == other.count
                    && capability.equals(other.capability)
                    && tags.equals(other.tags)
                    && constraint.equals(other.constraint);
        }
    }

    /**
     * The constraint "on one of these hosts, none of those, in this node partition", and the user's own beside it.
     *
     * <p>Never null, although nothing may be left to constrain: the ResourceManager (3.5.0) fails on a request without a
     * constraint when its size changes. Every host is different from a name that no host can have (RFC 6761).
     *
     * <p>The scheduler reads the node partition only from a constraint that is not composed, and takes all the targets of
     * one such constraint together: so hosts to avoid and the partition make one constraint with many targets. A single
     * host to seek can stand beside the partition, too; of several the first is taken then.
     */
    static PlacementConstraint constraint(
            String attribute, List<String> hosts, Set<String> notHosts, String label, AbstractConstraint users) {
        if (users != null && hosts.isEmpty() && notHosts.isEmpty()) {
            return PlacementConstraints.build(users);
        }
        AbstractConstraint ours = constraint(attribute, hosts, notHosts, label);
        return PlacementConstraints.build(users == null ? ours : PlacementConstraints.and(users, ours));
    }

    private static AbstractConstraint constraint(
            String attribute, List<String> hosts, Set<String> notHosts, String label) {
        List<TargetExpression> targets = new ArrayList<>();
        if (!label.isEmpty()) {
            targets.add(PlacementTargets.nodePartition(label));
        }
        notHosts.stream().sorted().forEach(host -> targets.add(PlacementTargets.nodeAttribute(attribute, host)));
        if (targets.isEmpty() && hosts.isEmpty()) {
            targets.add(PlacementTargets.nodeAttribute(attribute, "no-host.invalid"));
        }
        AbstractConstraint avoid = targets.isEmpty()
                ? null
                : PlacementConstraints.targetNodeAttribute(
                        PlacementConstraints.NODE, NodeAttributeOpCode.NE, targets.toArray(TargetExpression[]::new));
        if (hosts.isEmpty()) {
            return avoid;
        }
        if (!label.isEmpty() && notHosts.isEmpty()) {
            return PlacementConstraints.targetNodeAttribute(
                    PlacementConstraints.NODE,
                    NodeAttributeOpCode.EQ,
                    PlacementTargets.nodePartition(label),
                    PlacementTargets.nodeAttribute(attribute, hosts.get(0)));
        }
        AbstractConstraint[] each = hosts.stream()
                .map(host -> PlacementConstraints.targetNodeAttribute(
                        PlacementConstraints.NODE,
                        NodeAttributeOpCode.EQ,
                        PlacementTargets.nodeAttribute(attribute, host)))
                .toArray(AbstractConstraint[]::new);
        AbstractConstraint seek = each.length == 1 ? each[0] : PlacementConstraints.or(each);
        return avoid == null ? seek : PlacementConstraints.and(seek, avoid);
    }
}
