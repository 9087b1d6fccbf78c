"""LangGraph on Baton: a checkpointer and a store whose data is in a workspace.

    with baton.connect(agent="writer") as b:
        graph = builder.compile(checkpointer=BatonSaver(b), store=BatonStore(b))

Needs the extra `langgraph`.
"""

from ._saver import BatonSaver
from ._store import BatonStore

__all__ = ["BatonSaver", "BatonStore"]
