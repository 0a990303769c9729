package org.apache.spark.scheduler.cluster.yarnspec;

import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.TaskResourceProfile;
import org.apache.spark.scheduler.TaskDescription;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.WorkerOffer;
import org.apache.spark.util.Utils$;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * Spark's task scheduler, which starts no task on a blocked host. Tasks that run there already go on.
 *
 * <p>Spark's own exclusion of hosts and executors after failures works underneath, unchanged.
 */
final class HostBlockingScheduler extends TaskSchedulerImpl {
    private Set<String> blockedHosts = Set.of();

    HostBlockingScheduler(SparkContext context) {
        super(context);
    }

    /** Replaces the blocked hosts; true when one of them came back and may get tasks again. */
    synchronized boolean block(Set<String> hosts) {
        boolean unblocked = !hosts.containsAll(blockedHosts);
        blockedHosts = Set.copyOf(hosts);
        return unblocked;
    }

    @Override
    @SuppressWarnings("unchecked") // Scala's filterNot loses its collection's type on the way to Java
    public synchronized Seq<Seq<TaskDescription>> resourceOffers(
            IndexedSeq<WorkerOffer> offers, boolean isAllFreeResources) {
        if (blockedHosts.isEmpty()) {
            return super.resourceOffers(offers, isAllFreeResources);
        }
        IndexedSeq<WorkerOffer> allowed =
                (IndexedSeq<WorkerOffer>) offers.filterNot(offer -> blockedHosts.contains(offer.host()));
        // An empty round must not reach Spark: it would count as "everything was offered and nothing was rejected"
        // and restart the timers of locality scheduling.
        if (allowed.isEmpty()) {
            return Scala.emptySeq();
        }
        return super.resourceOffers(allowed, isAllFreeResources);
    }

    /** Fails the job of a stage that wants executors of another kind: all containers have one size. */
    @Override
    public void submitTasks(TaskSet tasks) {
        if (needsOtherExecutors(tasks.resourceProfileId())) {
            dagScheduler().taskSetFailed(
                    tasks,
                    "yarnspec runs all executors of an application with the default resource profile, but stage "
                            + tasks.stageId() + " asks for resource profile " + tasks.resourceProfileId()
                            + ". Remove withResources() and size the executors with spark.executor.* instead.",
                    Option.empty());
            return;
        }
        super.submitTasks(tasks);
    }

    private boolean needsOtherExecutors(int profileId) {
        if (profileId == ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID()) {
            return false;
        }
        ResourceProfile profile = sc().resourceProfileManager().resourceProfileFromId(profileId);
        // Without dynamic allocation a profile that only says what a task needs runs on the default executors.
        return !(profile instanceof TaskResourceProfile) || Utils$.MODULE$.isDynamicAllocationEnabled(sc().conf());
    }
}
