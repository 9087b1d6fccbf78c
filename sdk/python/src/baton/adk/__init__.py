"""Google's Agent Development Kit on Baton: sessions, artifacts, transfers.

    async with baton.connect_async(agent="support") as b:
        runner = Runner(
            app_name="support",
            agent=root_agent,
            session_service=BatonSessionService(b),
            artifact_service=BatonArtifactService(b),
        )

Needs the extra `adk`.
"""

from ._artifacts import BatonArtifactService
from ._sessions import BatonSessionService

__all__ = ["BatonArtifactService", "BatonSessionService"]
