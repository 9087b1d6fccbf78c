"""The OpenAI Agents SDK on Baton: conversations, interrupted runs, hand-offs.

    async with baton.connect_async(agent="support") as b:
        session = BatonSession("conversation-7", b)
        await Runner.run(agent, "Hello", session=session, hooks=HandoffRecorder(b))

Needs the extra `openai-agents`.
"""

from ._hooks import HandoffRecorder
from ._runs import ResumedRun, RunStates
from ._session import BatonSession

__all__ = ["BatonSession", "HandoffRecorder", "ResumedRun", "RunStates"]
