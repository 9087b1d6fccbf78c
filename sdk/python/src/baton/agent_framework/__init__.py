"""Microsoft's Agent Framework on Baton: checkpoints of workflows, histories, sessions.

    async with baton.connect_async(agent="writer") as b:
        workflow = WorkflowBuilder(
            start_executor=start, checkpoint_storage=BatonCheckpointStorage(b)
        ).build()

Needs the extra `agent-framework`.
"""

from ._checkpoints import BatonCheckpointStorage
from ._sessions import BatonHistoryProvider, BatonSessionStore

__all__ = ["BatonCheckpointStorage", "BatonHistoryProvider", "BatonSessionStore"]
