"""What the core is told of the plan and its options."""

from __future__ import annotations

import msgspec

from yarnspec.am.attempt.earlier import Earlier
from yarnspec.am.attempt.epoch_numbers import restarts_left, restarts_of, why_off
from yarnspec.core.messages.settings import RecoverySettings, Settings
from yarnspec.plan import Plan
from yarnspec.yarn.rm.constraint import in_effect


def settings_of(plan: Plan, earlier: Earlier, epoch: int = 1, *, spared: tuple[int, ...] = ()) -> Settings:
    """The core's settings for the attempt whose first epoch this is; ``spared``: of attempts ended from outside."""
    options = plan.options
    recovery_off = why_off(epoch) if options.recovery.enabled else ""
    settings = Settings(
        initial_executors=plan.initial_executors,
        executor_memory_mb=plan.executors.container_memory_mb,
        executor_heap_mb=plan.executors.heap_mb,
        executor_vcores=plan.executors.cores,
        executor_label=plan.executors.label,
        queue_label=plan.queue_label,
        executor_resources=plan.executors.resources,
        executor_tasks_max=plan.executors.tasks_max,
        executor_told=earlier.executor,
        earlier_rescales=earlier.rescales,
        task_cpus=plan.executors.task_cpus,
        registered_ratio=plan.registered_ratio,
        registered_wait_ms=plan.registered_wait_ms,
        dynamic_bounds=plan.dynamic_bounds,
        largest_container=plan.largest_container,
        memory_step_mb=plan.memory_step_mb,
        decommissions=plan.decommissions,
        excluded_hosts=tuple(host for host in plan.excluded_hosts if host not in earlier.lifted),
        force_excluded=plan.force_excluded,
        max_executor_failures=plan.max_executor_failures,
        placement=options.placement,
        resources=options.resources,
        executor=options.executor,
        speculation=options.speculation,
        detector=options.detector,
        blocks=options.blocklist,
        recovery=msgspec.structs.replace(
            msgspec.convert(options.recovery, RecoverySettings, from_attributes=True),
            enabled=options.recovery.enabled and not recovery_off,
            off=plan.recovery_off or recovery_off,
            refused=recovery_off,
            taken_away=spared,
            epochs_per_attempt=restarts_of(plan) + 1,
            driver_restarts=restarts_left(plan, epoch),
        ),
    )
    return in_effect(settings)
