"""A flow of CrewAI fails in its last step, and another process continues with its state.

python examples/python/frameworks/crewai_article.py                        # in its own folder
python examples/python/frameworks/crewai_article.py http://127.0.0.1:4747  # with a server
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")

from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import persist
from pydantic import BaseModel

import baton
from baton.crewai import BatonFlowPersistence


class Article(BaseModel):
    id: str = ""
    draft: str = ""
    published: bool = False


def article(b: baton.Baton, is_down: bool) -> Any:
    @persist(BatonFlowPersistence(b))
    class ArticleFlow(Flow[Article]):
        @start()
        def write(self) -> None:
            # A model would write here; what is written already is not paid for again.
            self.state.draft = self.state.draft or f"Leases end by themselves. ({b.agent})"

        @listen(write)
        def publish(self) -> None:
            if is_down:
                raise ConnectionError("the site is down")
            self.state.published = True

    return ArticleFlow()


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else None
    with (
        tempfile.TemporaryDirectory() as folder,
        baton.connect(url) if url else baton.open(folder) as b,
    ):
        flow = article(b.as_agent("ada"), is_down=True)
        try:
            flow.kickoff()
        except ConnectionError as error:
            print("failed:", error)

        # Another process needs only the id.
        again = article(b.as_agent("bob"), is_down=False)
        again.kickoff(inputs={"id": flow.state.id})
        print(again.state)
        assert again.state.draft == "Leases end by themselves. (ada)"
        assert again.state.published


if __name__ == "__main__":
    main()
