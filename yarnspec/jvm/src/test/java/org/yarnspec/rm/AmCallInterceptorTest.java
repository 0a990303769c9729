package org.yarnspec.rm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.ResourceTypeInfo;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AmCallInterceptorTest {
    private static final String HOSTS =
            "\"all_hosts\":[{\"host\":\"a\",\"rack\":\"/r1\"},{\"host\":\"b\",\"rack\":\"/r1\"},{\"host\":\"c\",\"rack\":\"/r2\"}]";

    @TempDir
    Path directory;

    private final FakeResourceManager rm = new FakeResourceManager();
    private final Map<Integer, Integer> profiles = new TreeMap<>();
    private final Skein skein = new Skein();
    private final SkeinHeartbeats heartbeats = new SkeinHeartbeats(() -> skein.nowMs);
    private AmCallInterceptor master;
    private int moved;

    @BeforeEach
    void register() throws Exception {
        master = new AmCallInterceptor(directory, () -> {}, priority -> profiles.getOrDefault(priority, 0), heartbeats);
        registerAgain();
    }

    private void registerAgain() throws Exception {
        master.register(RegisterApplicationMasterRequest.newInstance("a", 1, "http://skein"), rm);
    }

    /** Writes the file; where the fields do not say what is wanted, several containers of the size of the asks are. */
    private void place(int version, String fields) {
        StringBuilder all = new StringBuilder("{\"version\":" + version);
        if (!fields.isEmpty()) {
            all.append(",").append(fields);
        }
        if (!fields.contains("\"wanted\"")) {
            String each = "{\"id\":\"%d\",\"memory_mb\":512,\"vcores\":1}";
            String several = IntStream.range(0, 4).mapToObj(each::formatted).collect(Collectors.joining(","));
            all.append(",\"wanted\":[").append(several).append("]");
        }
        write(all.append("}").toString());
    }

    private void write(String content) {
        try {
            Path next = Files.writeString(directory.resolve("next"), content);
            Files.move(next, directory.resolve("yarnspec-placement.json"), StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
    }

    private AllocateResponse allocate(AllocateRequest request) throws Exception {
        return master.allocate(request, rm);
    }

    private List<JsonNode> events(String type) throws Exception {
        List<JsonNode> events = new ArrayList<>();
        long n = 1;
        for (String line : Files.readAllLines(directory.resolve("yarnspec-rm-events.jsonl"))) {
            JsonNode event = new ObjectMapper().readTree(line);
            assertEquals(n++, event.get("n").asLong(), "events are numbered from 1 without a gap");
            if (event.get("type").asText().equals(type)) {
                events.add(event);
            }
        }
        return events;
    }

    private static Map<String, ResourceRequest> byName(AllocateRequest request) {
        Map<String, ResourceRequest> byName = new TreeMap<>();
        request.getAskList().forEach(line -> byName.put(line.getResourceName(), line));
        return byName;
    }

    private List<String> additions() {
        return rm.last().getResourceBlacklistRequest().getBlacklistAdditions();
    }

    private List<String> removals() {
        return rm.last().getResourceBlacklistRequest().getBlacklistRemovals();
    }

    @Test
    void onlyWhatIsWantedIsAskedFor() throws Exception {
        allocate(FakeResourceManager.asks(1, 2, 1));
        assertTrue(rm.last().getAskList().isEmpty(), "there is no file yet");
        assertTrue(events("acknowledged").isEmpty());
        place(1, "");
        allocate(FakeResourceManager.asks(1));
        assertEquals(2, rm.last().getAskList().size());
        assertEquals(1, rm.last().getAskList().get(0).getPriority().getPriority(), "the oldest ask comes first");
        assertTrue(additions().isEmpty());
        assertTrue(events("error").isEmpty());
    }

    @Test
    void theBlacklistIsSentAsADifferenceAndWholeAfterARegistration() throws Exception {
        place(1, "\"blocked_hosts\":[\"b\"]," + HOSTS);
        allocate(FakeResourceManager.asks(1));
        assertEquals(List.of("b"), additions());
        assertEquals(List.of("a", "c"), removals().stream().sorted().toList());
        allocate(FakeResourceManager.asks(1));
        assertEquals(List.of(), additions());
        assertEquals(List.of(), removals());

        place(2, "\"blocked_hosts\":[\"c\"]," + HOSTS);
        allocate(FakeResourceManager.asks(1));
        assertEquals(List.of("c"), additions());
        assertEquals(List.of("b"), removals());

        rm.counted.add(SchedulerResourceTypes.CPU);
        registerAgain();
        allocate(FakeResourceManager.asks(1));
        assertEquals(List.of("c"), additions());
        assertEquals(List.of("a", "b"), removals().stream().sorted().toList());
        assertEquals(2, events("acknowledged").size());
        assertTrue(events("registered").get(1).get("reregistration").asBoolean());
        assertEquals(4096, events("registered").get(0).get("max_memory_mb").asInt());
        assertFalse(events("registered").get(0).get("counts_cores").asBoolean());
        assertTrue(events("registered").get(1).get("counts_cores").asBoolean());
    }

    @Test
    void resourceTypesAreAskedForByNameAndUnknownOnesAreNot() throws Exception {
        String wanted = "\"wanted\":[{\"id\":\"1\",\"memory_mb\":512,\"vcores\":1,\"resources\":{\"%s\":2}}]";
        place(1, wanted.formatted("acme.io/gun"));
        allocate(FakeResourceManager.asks(1, 1));
        assertEquals(
                "the cluster has no resource type acme.io/gun",
                events("rejected").get(0).get("why").asText());

        rm.types = List.of(
                ResourceTypeInfo.newInstance("memory-mb", "Mi"),
                ResourceTypeInfo.newInstance("vcores"),
                ResourceTypeInfo.newInstance("acme.io/nib"));
        registerAgain();
        place(2, wanted.formatted("acme.io/nib"));
        allocate(FakeResourceManager.asks(1, 1));
        assertEquals(2, rm.last().getAskList().get(0).getCapability().getResourceValue("acme.io/nib"));
        place(3, wanted.formatted("acme.io/nib") + ",\"mode\":\"constraints\"");
        allocate(FakeResourceManager.asks(1));
        assertEquals(
                2,
                rm.last()
                        .getSchedulingRequests()
                        .get(0)
                        .getResourceSizing()
                        .getResources()
                        .getResourceValue("acme.io/nib"));
    }

    @Test
    void aRequestForAnExecutorOfAProfileIsForAContainerOfItsSizeOnly() throws Exception {
        profiles.put(2, 7);
        String usual = "{\"id\":\"1\",\"memory_mb\":600,\"vcores\":1}";
        String large = "{\"id\":\"2\",\"memory_mb\":2048,\"vcores\":3,\"profile\":7}";
        place(1, "\"wanted\":[" + large + "]");
        allocate(FakeResourceManager.asks(1, 1));
        assertEquals(List.of(), rm.last().getAskList(), "nothing says how large this one is");
        assertEquals(List.of(), events("rejected"), "its request may come any moment");
        place(2, "\"wanted\":[" + usual + "," + large + "]");
        allocate(FakeResourceManager.asks(1, 2));
        assertEquals(Map.of(1, 600L, 2, 2048L), sizes());

        rm.answers.add(rm.container("a", 2, 0, 600));
        assertTrue(
                allocate(FakeResourceManager.asks(1)).getAllocatedContainers().isEmpty());
        Container good = rm.container("a", 2, 0, 2048);
        rm.answers.add(good);
        assertEquals(List.of(good), allocate(FakeResourceManager.asks(1)).getAllocatedContainers());
        assertEquals("2", events("allocated").get(0).get("wanted_id").asText());

        place(3, "\"wanted\":[]");
        allocate(FakeResourceManager.asks(1));
        assertEquals(0, rm.last().getAskList().get(0).getNumContainers(), "taken back, as nobody wants it any more");
    }

    @Test
    void aPriorityThatSkeinUsesAgainWithinOneCallIsForTheExecutorOfTheNewRequest() throws Exception {
        profiles.put(2, 7);
        String usual = "{\"id\":\"1\",\"memory_mb\":600,\"vcores\":1}";
        String large = "{\"id\":\"2\",\"memory_mb\":2048,\"vcores\":3,\"profile\":7}";
        place(1, "\"wanted\":[" + large + "]");
        allocate(FakeResourceManager.asks(1, 2));
        profiles.remove(2);
        place(2, "\"wanted\":[" + usual + "]");
        AllocateRequest both = FakeResourceManager.asks(1, 2);
        both.getAskList().addAll(FakeResourceManager.asks(0, 2).getAskList());
        allocate(both);
        assertEquals(
                List.of("2", "1"),
                events("bound").stream()
                        .map(event -> event.get("wanted_id").asText())
                        .toList());
        assertEquals(600L, sizes().get(2));
    }

    private Map<Integer, Long> sizes() {
        Map<Integer, Long> sizes = new TreeMap<>();
        rm.last()
                .getAskList()
                .forEach(line -> sizes.put(
                        line.getPriority().getPriority(), line.getCapability().getMemorySize()));
        return sizes;
    }

    @Test
    void aFailedCallIsRepeatedWordForWordAndOnlyThenAcknowledged() throws Exception {
        place(1, "\"blocked_hosts\":[\"b\"]");
        AllocateRequest request = FakeResourceManager.asks(1, 1);
        rm.answers.add(new ConnectException("no"));
        assertThrows(ConnectException.class, () -> allocate(request));
        assertTrue(events("acknowledged").isEmpty());
        place(2, "\"blocked_hosts\":[\"b\",\"c\"]");
        allocate(request);
        assertSame(rm.calls.get(0), rm.calls.get(1));
        assertEquals(1, events("acknowledged").get(0).get("version").asInt());
        allocate(FakeResourceManager.asks(1));
        assertEquals(List.of("c"), additions());
        assertEquals(2, events("acknowledged").get(1).get("version").asInt());
    }

    @Test
    void aContainerOnAHostThatGetsBlockedDuringTheCallIsDroppedReleasedAndAskedForAgain() throws Exception {
        place(1, "");
        Container late = rm.container("b", 1, 0, 512);
        rm.answers.add(late);
        rm.whileAnswering = () -> place(2, "\"blocked_hosts\":[\"b\"]");
        AllocateResponse response = allocate(FakeResourceManager.asks(1, 1));
        assertTrue(response.getAllocatedContainers().isEmpty());
        assertEquals("b", events("dropped").get(0).get("host").asText());
        rm.whileAnswering = () -> {};

        Container good = rm.container("a", 1, 0, 512);
        rm.answers.add(good);
        response = allocate(FakeResourceManager.asks(1));
        assertEquals(List.of(late.getId()), rm.last().getReleaseList());
        assertEquals(1, rm.last().getAskList().get(0).getNumContainers());
        assertEquals(List.of("b"), additions());
        assertEquals(List.of(good), response.getAllocatedContainers());

        allocate(FakeResourceManager.asks(0, 1));
        assertEquals(List.of(), rm.last().getReleaseList(), "released once");
        assertEquals(0, rm.last().getAskList().get(0).getNumContainers());
        assertEquals(
                good.getId().toString(),
                events("allocated").get(0).get("container_id").asText());
    }

    @Test
    void strictHostsAreThreeRequestsAndAreAllWithdrawn() throws Exception {
        place(
                1,
                HOSTS
                        + ",\"wanted\":[{\"id\":\"w\",\"memory_mb\":1024,\"vcores\":2,\"hosts\":[\"c\"],\"strict\":true}]");
        allocate(FakeResourceManager.asks(1, 1));
        Map<String, ResourceRequest> lines = byName(rm.last());
        assertEquals(List.of("*", "/r2", "c"), List.copyOf(lines.keySet()));
        assertTrue(lines.get("c").getRelaxLocality());
        assertFalse(lines.get("/r2").getRelaxLocality());
        assertFalse(lines.get("*").getRelaxLocality());
        assertEquals(1024, lines.get("c").getCapability().getMemorySize());
        assertEquals("w", events("bound").get(0).get("wanted_id").asText());

        place(
                2,
                HOSTS
                        + ",\"wanted\":[{\"id\":\"w\",\"memory_mb\":1024,\"vcores\":2,\"hosts\":[\"c\"],\"strict\":false}]");
        allocate(FakeResourceManager.asks(1));
        assertTrue(byName(rm.last()).get("*").getRelaxLocality());
        assertEquals(1, events("bound").size());

        allocate(FakeResourceManager.asks(0, 1));
        assertEquals(List.of("*", "/r2", "c"), List.copyOf(byName(rm.last()).keySet()));
        byName(rm.last()).values().forEach(line -> assertEquals(0, line.getNumContainers()));
        assertEquals("w", events("unbound").get(0).get("wanted_id").asText());
        allocate(FakeResourceManager.asks(1, 1));
        assertEquals(2, events("bound").size(), "a priority that is used again starts afresh");
    }

    @Test
    void aWantedContainerThatCameIsNotBoundAgain() throws Exception {
        place(1, "\"wanted\":[{\"id\":\"w\",\"memory_mb\":512,\"vcores\":1}]");
        rm.answers.add(rm.container("a", 1, 0, 512));
        allocate(FakeResourceManager.asks(1, 1));
        assertEquals("w", events("allocated").get(0).get("wanted_id").asText());
        allocate(FakeResourceManager.asks(1, 1));
        allocate(FakeResourceManager.asks(1, 2));
        assertEquals(1, events("bound").size());
        assertTrue(events("unbound").isEmpty());
    }

    @Test
    void aWantedContainerThatNoHostCanHoldIsRejectedOnce() throws Exception {
        place(1, "\"wanted\":[{\"id\":\"w\",\"memory_mb\":8192,\"vcores\":1}]");
        allocate(FakeResourceManager.asks(1, 1));
        allocate(FakeResourceManager.asks(1, 2));
        assertEquals(1, events("rejected").size());
        assertTrue(rm.last().getAskList().isEmpty());
    }

    @Test
    void aWishThatTheResourceManagerRefusesIsGivenUpAndNotTheApplication() throws Exception {
        place(
                1,
                "\"wanted\":[{\"id\":\"w\",\"memory_mb\":512,\"vcores\":1,\"label\":\"gpu\"},"
                        + "{\"id\":\"x\",\"memory_mb\":512,\"vcores\":1}]");
        rm.answers.add(new InvalidResourceRequestException("no such label"));
        AllocateRequest request = FakeResourceManager.asks(1, 1, 2);
        allocate(request);
        assertEquals("gpu", rm.calls.get(0).getAskList().get(0).getNodeLabelExpression());
        assertNull(rm.calls.get(1).getAskList().get(0).getNodeLabelExpression());
        assertEquals("no such label", events("rejected").get(0).get("why").asText());
        allocate(FakeResourceManager.asks(1));
        assertEquals(1, events("rejected").size());
        assertEquals(
                List.of("w", "x"),
                events("bound").stream().map(e -> e.get("wanted_id").asText()).toList());

        rm.answers.add(new InvalidResourceRequestException("Skein's own fault"));
        assertThrows(InvalidResourceRequestException.class, () -> allocate(FakeResourceManager.asks(1, 3)));
    }

    @Test
    void notHostsInBlacklistModeNameAllOthers() throws Exception {
        place(1, HOSTS + ",\"wanted\":[{\"id\":\"w\",\"memory_mb\":512,\"vcores\":1,\"not_hosts\":[\"a\"]}]");
        allocate(FakeResourceManager.asks(1, 1));
        assertEquals(
                List.of("*", "/r1", "/r2", "b", "c"),
                List.copyOf(byName(rm.last()).keySet()));
    }

    @Test
    void constraintsGetAFreshIdForEveryChangeAndNoBlacklist() throws Exception {
        place(1, "\"mode\":\"constraints\",\"blocked_hosts\":[\"a\",\"b\"]");
        allocate(FakeResourceManager.asks(1, 1));
        assertTrue(rm.last().getAskList().isEmpty());
        assertTrue(additions().isEmpty());
        SchedulingRequest first = rm.last().getSchedulingRequests().get(0);
        assertNotNull(first.getPlacementConstraint());
        assertEquals(1, first.getResourceSizing().getNumAllocations());

        allocate(FakeResourceManager.asks(1, 1));
        assertTrue(rm.last().getSchedulingRequests().isEmpty(), "what stands is not said twice");

        place(2, "\"mode\":\"constraints\",\"blocked_hosts\":[\"b\"]");
        allocate(FakeResourceManager.asks(1));
        List<SchedulingRequest> change = rm.last().getSchedulingRequests();
        assertEquals(0, change.get(0).getResourceSizing().getNumAllocations());
        assertEquals(first.getAllocationRequestId(), change.get(0).getAllocationRequestId());
        assertEquals(first.getPlacementConstraint(), change.get(0).getPlacementConstraint());
        assertNotEquals(first.getAllocationRequestId(), change.get(1).getAllocationRequestId());

        rm.answers.add(rm.container("a", 1, change.get(1).getAllocationRequestId(), 512));
        assertEquals(
                1,
                allocate(FakeResourceManager.asks(1)).getAllocatedContainers().size());
        allocate(FakeResourceManager.asks(0, 1));
        assertTrue(rm.last().getSchedulingRequests().isEmpty(), "what was served needs no withdrawal");
    }

    @Test
    void aContainerTooManyIsSkeinsToGiveBackAndOneTooSmallIsAskedForAgain() throws Exception {
        place(1, "");
        rm.answers.add(rm.container("a", 1, 0, 512));
        allocate(FakeResourceManager.asks(1, 1));
        rm.answers.add(rm.container("a", 1, 0, 512));
        assertEquals(
                1,
                allocate(FakeResourceManager.asks(0, 1))
                        .getAllocatedContainers()
                        .size());
        assertEquals(1, events("allocated").size());

        rm.answers.add(rm.container("a", 1, 0, 256));
        assertEquals(
                0,
                allocate(FakeResourceManager.asks(1, 1))
                        .getAllocatedContainers()
                        .size());
        allocate(FakeResourceManager.asks(1));
        assertEquals(1, rm.last().getAskList().size());
        assertEquals(1, rm.last().getReleaseList().size());
    }

    @Test
    void anAskWithNothingToAvoidStillHasAConstraint() throws Exception {
        place(1, "\"mode\":\"constraints\"");
        allocate(FakeResourceManager.asks(1, 1));
        assertNotNull(rm.last().getSchedulingRequests().get(0).getPlacementConstraint());
    }

    @Test
    void aNamedHostLeavesBlockedOnesOutSoThatTheirChangeChangesNothing() throws Exception {
        String wanted = "\"wanted\":[{\"id\":\"w\",\"memory_mb\":512,\"vcores\":1,\"hosts\":[\"c\"],\"strict\":true}]";
        place(1, "\"mode\":\"constraints\",\"blocked_hosts\":[\"a\"]," + wanted);
        allocate(FakeResourceManager.asks(1, 1));
        assertEquals("node,EQ,nm.yarn.io/host=[c]", constraint());
        place(2, "\"mode\":\"constraints\",\"blocked_hosts\":[\"a\",\"b\"]," + wanted);
        allocate(FakeResourceManager.asks(1));
        assertTrue(rm.last().getSchedulingRequests().isEmpty());
    }

    @Test
    void aUsersConstraintStandsBesideOurs() throws Exception {
        String users = "\"mode\":\"constraints\",\"constraint\":\"and(notin,node,etl:python=3)\",\"tags\":[\"etl\"]";
        place(1, users);
        allocate(FakeResourceManager.asks(1, 1));
        assertTrue(constraint().contains("etl") && constraint().contains("python"), constraint());
        assertFalse(constraint().contains("no-host.invalid"), constraint());
        assertEquals(Set.of("etl"), rm.last().getSchedulingRequests().get(0).getAllocationTags());
        place(2, users + ",\"blocked_hosts\":[\"a\"]");
        allocate(FakeResourceManager.asks(1));
        SchedulingRequest now = rm.last().getSchedulingRequests().get(1);
        String both = now.getPlacementConstraint().getConstraintExpr().toString();
        assertTrue(both.startsWith("and(") && both.contains("python") && both.contains("nm.yarn.io/host"), both);
    }

    private String constraint() {
        return rm.last()
                .getSchedulingRequests()
                .get(0)
                .getPlacementConstraint()
                .getConstraintExpr()
                .toString();
    }

    @Test
    void anAnswerToAWithdrawnConstraintIsTakenAndTheNewOneWithdrawn() throws Exception {
        place(1, "\"mode\":\"constraints\",\"blocked_hosts\":[\"a\"]");
        allocate(FakeResourceManager.asks(1, 1));
        long old = rm.last().getSchedulingRequests().get(0).getAllocationRequestId();
        place(2, "\"mode\":\"constraints\",\"blocked_hosts\":[\"b\"]");
        rm.answers.add(rm.container("c", 1, old, 512));
        assertEquals(
                1,
                allocate(FakeResourceManager.asks(1)).getAllocatedContainers().size());
        long fresh = rm.last().getSchedulingRequests().get(1).getAllocationRequestId();
        allocate(FakeResourceManager.asks(0, 1));
        assertEquals(fresh, rm.last().getSchedulingRequests().get(0).getAllocationRequestId());
        assertEquals(
                0, rm.last().getSchedulingRequests().get(0).getResourceSizing().getNumAllocations());
    }

    @Test
    void aContainerThatComesLateFromAHostThatWasGivenUpIsTakenWhereOnlySoftRulesMovedOn() throws Exception {
        String late = "\"takes_late\":true";
        for (String mode : List.of("blacklist", "constraints")) {
            long allocated = allocatedHosts().size();
            assertEquals(1, moves(mode, late, "").getAllocatedContainers().size());
            assertEquals("a", allocatedHosts().get(allocatedHosts().size() - 1));
            allocate(FakeResourceManager.asks(1));
            int asked = rm.last().getAskList().stream()
                            .mapToInt(ResourceRequest::getNumContainers)
                            .sum()
                    + rm.last().getSchedulingRequests().stream()
                            .mapToInt(line -> line.getResourceSizing().getNumAllocations())
                            .sum();
            assertEquals(0, asked);
            assertEquals(
                    mode.equals("blacklist") ? 3 : 1,
                    rm.last().getAskList().size()
                            + rm.last().getSchedulingRequests().size(),
                    "the other host is not asked any more");
            rm.answers.add(rm.container("c", 1, 0, 512));
            allocate(FakeResourceManager.asks(1));
            assertEquals(
                    allocated + 1,
                    allocatedHosts().size(),
                    "one that comes there all the same is Skein's to give back");

            assertTrue(moves(mode, "\"takes_late\":false", "")
                    .getAllocatedContainers()
                    .isEmpty());
            assertTrue(moves(mode, late + ",\"not_hosts\":[\"a\"]", "")
                    .getAllocatedContainers()
                    .isEmpty());
            assertTrue(moves(mode, late, ",\"blocked_hosts\":[\"a\"]")
                    .getAllocatedContainers()
                    .isEmpty());
            assertEquals(allocated + 1, allocatedHosts().size());
        }
    }

    /** A container is asked for on a; then on c, while a gives it. */
    private AllocateResponse moves(String mode, String fields, String placement) throws Exception {
        registerAgain();
        moved += 2;
        String on = HOSTS + ",\"mode\":\"%s\",\"wanted\":[{\"id\":\"%d\",\"memory_mb\":512,\"vcores\":1,"
                + "\"strict\":true,\"hosts\":[\"%s\"]%s}]%s";
        place(moved, on.formatted(mode, moved, "a", "", ""));
        allocate(FakeResourceManager.asks(1, 1));
        long id = rm.last().getSchedulingRequests().isEmpty()
                ? 0
                : rm.last().getSchedulingRequests().get(0).getAllocationRequestId();
        place(moved + 1, on.formatted(mode, moved, "c", "," + fields, placement));
        rm.answers.add(rm.container("a", 1, id, 512));
        return allocate(FakeResourceManager.asks(1));
    }

    private List<String> allocatedHosts() throws Exception {
        return events("allocated").stream()
                .map(event -> event.get("host").asText())
                .toList();
    }

    @Test
    void anUnreadableFileKeepsTheLastGoodStateAndIsReportedOnce() throws Exception {
        place(3, "\"blocked_hosts\":[\"b\"]");
        allocate(FakeResourceManager.asks(1));
        for (String broken : List.of(
                "", "{\"version\":\"x\"}", "{\"version\":4,\"mode\":\"no\"}", "{\"version\":4,\"wanted\":[{}]}")) {
            int before = events("error").size();
            write(broken);
            rm.answers.add(rm.container("b", 9, 0, 512));
            assertTrue(allocate(FakeResourceManager.asks(1))
                    .getAllocatedContainers()
                    .isEmpty());
            allocate(FakeResourceManager.asks(1));
            assertEquals(before + 1, events("error").size(), broken);
        }
        Files.delete(directory.resolve("yarnspec-placement.json"));
        allocate(FakeResourceManager.asks(1));
        registerAgain();
        allocate(FakeResourceManager.asks(1));
        assertEquals(List.of("b"), additions());
    }

    @Test
    void theTrackingUrlIsSentWhenItChanges() throws Exception {
        place(1, "\"tracking_url\":\"http://spark\"");
        allocate(FakeResourceManager.asks(1));
        assertEquals("http://spark", rm.last().getTrackingUrl());
        allocate(FakeResourceManager.asks(1));
        assertTrue(
                rm.last().getTrackingUrl() == null || rm.last().getTrackingUrl().isEmpty());
        place(2, "\"tracking_url\":null");
        allocate(FakeResourceManager.asks(1));
        assertEquals("http://skein", rm.last().getTrackingUrl());
        place(3, "\"tracking_url\":\"/pages/\"");
        allocate(FakeResourceManager.asks(1));
        assertEquals("http://skein/pages/", rm.last().getTrackingUrl());
    }

    @Test
    void theEndIsSaidOnceAndSkeinsOwnIsSwallowed() throws Exception {
        rm.notYet = 2;
        place(1, "\"finish\":{\"status\":\"FAILED\",\"diagnostics\":\"boom\"}");
        AllocateRequest request = FakeResourceManager.asks(1);
        request.setResponseId(7);
        AllocateResponse response = allocate(request);
        assertEquals(7, response.getResponseId());
        assertTrue(rm.calls.isEmpty());
        assertEquals(3, rm.ends.size());
        assertEquals(FinalApplicationStatus.FAILED, rm.ends.get(2).getFinalApplicationStatus());
        assertEquals("boom", rm.ends.get(2).getDiagnostics());
        assertEquals("FAILED", events("finished").get(0).get("status").asText());
        allocate(request);
        assertTrue(
                master.finish(FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, "", ""), rm)
                        .getIsUnregistered());
        assertEquals(3, rm.ends.size());
    }

    @Test
    void skeinsOwnEndPassesWhenNothingElseIsWanted() throws Exception {
        master.finish(FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, "ok", ""), rm);
        assertEquals("ok", rm.ends.get(0).getDiagnostics());
        assertEquals("SUCCEEDED", events("finished").get(0).get("status").asText());
    }

    /** Shaped like Skein's application master where its heartbeats matter. */
    static final class Skein {
        private final long idleHeartbeat;
        private final long pendingHeartbeat;
        private long nowMs = -50_000;

        Skein() {
            idleHeartbeat = 1_000;
            pendingHeartbeat = 900;
        }

        List<Long> intervals() throws Exception {
            return List.of(
                    SkeinMaster.field(Skein.class, "idleHeartbeat").getLong(this),
                    SkeinMaster.field(Skein.class, "pendingHeartbeat").getLong(this));
        }
    }

    @Test
    void callsFollowSoonerForAWhileAfterARequestOrAContainer() throws Exception {
        List<Long> usual = List.of(1_000L, 900L);
        List<Long> quick = List.of(SkeinHeartbeats.QUICK_MS, SkeinHeartbeats.QUICK_MS);
        heartbeats.find(skein);
        place(1, "");
        allocate(FakeResourceManager.asks(1));
        assertEquals(usual, skein.intervals());
        allocate(FakeResourceManager.asks(1, 1));
        assertEquals(quick, skein.intervals());
        skein.nowMs += SkeinHeartbeats.QUICK_FOR_MS - 1;
        allocate(FakeResourceManager.asks(1));
        assertEquals(quick, skein.intervals());
        skein.nowMs += 1;
        place(2, HOSTS + ",\"wanted\":[{\"id\":\"0\",\"memory_mb\":512,\"vcores\":1,\"not_hosts\":[\"a\"]}]");
        allocate(FakeResourceManager.asks(1));
        assertFalse(rm.last().getAskList().isEmpty(), "other hosts for the request that waits");
        assertEquals(usual, skein.intervals());
        Container came = rm.container("b", 1, 0, 512);
        for (Object news : List.of(came, FakeResourceManager.ended(came))) {
            skein.nowMs += SkeinHeartbeats.QUICK_FOR_MS;
            allocate(FakeResourceManager.asks(1));
            assertEquals(usual, skein.intervals());
            rm.answers.add(news);
            allocate(FakeResourceManager.asks(1));
            assertEquals(quick, skein.intervals());
        }
        skein.nowMs += SkeinHeartbeats.QUICK_FOR_MS;
        allocate(FakeResourceManager.gives(came));
        assertEquals(quick, skein.intervals());
    }

    @Test
    void aSkeinWithOtherHeartbeatsIsAnError() {
        assertThrows(NoSuchFieldException.class, () -> heartbeats.find(new Object()));
    }

    @Test
    void aSkeinThatCannotBeCuredEndsTheApplication() throws Exception {
        master = new AmCallInterceptor(
                directory,
                () -> {
                    throw new NoSuchFieldException("this$0");
                },
                priority -> 0,
                heartbeats);
        allocate(FakeResourceManager.asks(1, 1));
        assertTrue(rm.calls.isEmpty());
        assertEquals(FinalApplicationStatus.FAILED, rm.ends.get(0).getFinalApplicationStatus());
        assertTrue(rm.ends.get(0).getDiagnostics().contains("this$0"));
    }

    @Test
    void anAnswerThatCannotBeReadIsHandedOn() throws Exception {
        place(1, "\"blocked_hosts\":[\"b\"]");
        Container nowhere = rm.container("b", 1, 0, 512);
        nowhere.setNodeId(null);
        rm.answers.add(nowhere);
        assertEquals(
                1,
                allocate(FakeResourceManager.asks(1, 1))
                        .getAllocatedContainers()
                        .size());
        assertFalse(events("error").isEmpty());
    }
}
