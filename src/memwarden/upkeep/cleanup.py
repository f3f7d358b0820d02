"""The job ``clean``: applies the fixes that an audit proposes, each as a change that can be undone."""

from __future__ import annotations

from typing import Any, cast

from memwarden.errors import Conflict, Denied, InvalidInput, NotFound
from memwarden.records import UNDOES, AuditFinding, Event, Scope
from memwarden.remember.resolve.audit import audit_namespace
from memwarden.upkeep.records import UPKEEP, JobChange, JobContext, JobReport

# Maximum memories that an audit looks at in a run, those written last, and fixes that a run applies.
MAX_LOOKED_AT = 10_000
MAX_FIXES = 200


async def clean(context: JobContext) -> JobReport:
    """Apply the fixes of an audit of a user's memory, as far as nobody pinned or undid what they change."""
    if not context.namespace.path.startswith("user/"):
        return JobReport()
    store, services = context.runtime.store, context.runtime.services
    audit = await audit_namespace(
        store, services.indexes, services.larges, context.namespace, None, limit=MAX_LOOKED_AT, progress=None
    )
    changes = []
    for finding in audit.findings[:MAX_FIXES]:
        if await _is_wanted(context, finding) and (context.dry_run or await _apply(context, finding)):
            changes.append(JobChange(finding.fix.verb, finding.fix.memory_id, finding.why))
    return JobReport(tuple(changes), "fixes_of_a_run" if len(audit.findings) > MAX_FIXES else "")


async def _is_wanted(context: JobContext, finding: AuditFinding) -> bool:
    """Whether a fix may be applied: what is pinned stays, and what somebody took back is not done again."""
    memory_id = finding.fix.memory_id
    found = await context.runtime.store.get(context.namespace, [memory_id], removed=True)
    if not found or found[0].pinned:
        return False
    entries = await context.runtime.store.journal(context.namespace, memory_id=memory_id, descending=True, limit=50)
    return not any(UNDOES in (entry.meta or {}) or entry.event == Event.RESTORE for entry in entries)


async def _apply(context: JobContext, finding: AuditFinding) -> bool:
    """Apply a fix by the verb that a person would use; return whether it was applied."""
    who = Scope(context.namespace.tenant, context.namespace.path.partition("/")[2], actor=UPKEEP)
    verbs = cast(Any, context.runtime.verbs(who))
    fix = finding.fix
    try:
        if fix.verb == "undo":
            await verbs.journal.undo(fix.arguments["change"])
        else:
            await getattr(verbs, fix.verb)(fix.memory_id, **fix.arguments)
    except (Conflict, Denied, InvalidInput, NotFound):  # somebody changed it since the audit
        return False
    return True
